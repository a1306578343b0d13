from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, DistributedSampler

from winnow.artefacts import Subset
from winnow.artefacts.sampler import WeightedSampler, epoch_order
from winnow.core.errors import WinnowError

WEIGHTS = np.array([0.3, 1.0, 1.0, 2.0, 2.5, 0.1, 4.0, 1.6, 1e-9, 3.5])  # 16 in all
EXPECTED = WEIGHTS * (WEIGHTS.size / WEIGHTS.sum())


def counts(order: Any, size: int = 10) -> NDArray[np.int64]:
    return np.bincount(np.asarray(list(order)), minlength=size)


@pytest.mark.parametrize("draw", ["systematic", "independent"])
def test_examples_are_drawn_as_often_as_their_weight_says(draw: str) -> None:
    sampler = WeightedSampler(WEIGHTS, 3, draw=draw)
    epochs = 4000
    found = np.stack([counts(sampler) for _ in range(epochs)])
    part = EXPECTED % 1
    share = EXPECTED / 10
    variance = part * (1 - part) if draw == "systematic" else 10 * share * (1 - share)
    assert (np.abs(found.mean(0) - EXPECTED) < 4 * np.sqrt(variance / epochs) + 1e-6).all()
    assert found.var(0) == pytest.approx(variance, abs=0.1 * variance.max())


def test_systematic_draws_are_the_expectation_rounded_down_or_up() -> None:
    sampler = WeightedSampler(WEIGHTS, 0)
    for _ in range(300):
        found = counts(sampler)
        assert ((found == np.floor(EXPECTED)) | (found == np.ceil(EXPECTED))).all()
    whole = np.array([3.0, 1.0, 2.0, 2.0])  # of mean 2: repeats on average half of what they say
    assert {tuple(counts(WeightedSampler(whole, s), 4)[2:]) for s in range(20)} == {(1, 1)}


def test_no_pair_of_neighbours_shares_its_luck_in_every_epoch() -> None:
    """On a fixed line two examples of half a draw each would always be drawn in turn, one epoch or the other."""
    weights = np.array([0.5, 0.5, 1.5, 1.5])
    found = np.stack([counts(epoch_order(weights, np.random.default_rng(s)), 4) for s in range(600)])
    both = (found[:, 0] == found[:, 1]).mean()
    assert 0.1 < both < 0.9
    np.testing.assert_allclose(found.mean(0), weights, atol=4 * 0.5 / np.sqrt(600))


def test_repeats_of_an_example_are_spread_over_the_epoch() -> None:
    weights = np.where(np.arange(100) == 0, 100.0, 1.0)  # half of all draws
    order = epoch_order(weights, np.random.default_rng(0))
    heavy = (order == 0).reshape(4, 25).sum(1)
    assert heavy.sum() in (50, 51)
    assert (np.abs(heavy - 12.5) < 4 * 2.5).all()  # four standard deviations of a fair split
    assert heavy.max() < 25


def test_weights_over_twelve_decades_are_drawn() -> None:
    weights = np.logspace(-6, 6, 200)
    order = epoch_order(weights, np.random.default_rng(0))
    expected = 200 * weights / weights.sum()
    found = counts(order, 200)
    assert found.sum() == 200
    assert (np.abs(found - expected) < 1).all()


def test_an_epoch_is_a_function_of_seed_and_epoch_alone() -> None:
    first, second = WeightedSampler(WEIGHTS, 5), WeightedSampler(WEIGHTS, 5)
    epochs = [list(first) for _ in range(3)]
    assert [list(second) for _ in range(3)] == epochs
    assert epochs[0] != epochs[1]
    jump = WeightedSampler(WEIGHTS, 5)
    jump.set_epoch(2)
    assert list(jump) == epochs[2]
    jump.set_epoch(2)
    assert jump.state_dict()["drawn"] == 0
    assert list(jump) == epochs[2]


@pytest.mark.parametrize("weights", [np.ones(10), WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 16])
def test_processes_together_visit_what_one_would(weights: NDArray[np.float64], replicas: int) -> None:
    alone = WeightedSampler(weights, 7)
    ranks = [WeightedSampler(weights, 7, num_replicas=replicas, rank=r) for r in range(replicas)]
    for _ in range(2):
        whole = list(alone)
        parts = [list(rank) for rank in ranks]
        assert Counter(p for part in parts for p in part) == Counter(whole)
        assert [len(part) for part in parts] == [len(rank) for rank in ranks]
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        assert [part[0] for part in parts if part] == whole[: min(replicas, 10)]  # the k-th batch is the k-th batch


@pytest.mark.parametrize("replicas", [3, 4, 16])
def test_even_shares_repeat_or_drop_as_the_sampler_of_torch_does(replicas: int) -> None:
    for uneven in ("repeat", "drop"):
        ranks = [WeightedSampler(np.ones(10), 0, num_replicas=replicas, rank=r, uneven=uneven) for r in range(replicas)]
        theirs = DistributedSampler(range(10), replicas, 0, drop_last=uneven == "drop")
        parts = [list(rank) for rank in ranks]
        wanted = 10 // replicas if uneven == "drop" else -(-10 // replicas)
        assert {len(part) for part in parts} == {wanted} == {len(rank) for rank in ranks}
        assert (uneven == "drop" and replicas > 10) or wanted == len(theirs)
        seen = Counter(p for part in parts for p in part)
        assert (max(seen.values(), default=1) == 1) if uneven == "drop" else (set(seen) == set(range(10)))


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 2), (2, 3), (4, 1), (1, 4)])
def test_a_state_is_resumed_under_any_number_of_processes(before: int, after: int) -> None:
    first = [WeightedSampler(WEIGHTS, 2, num_replicas=before, rank=r) for r in range(before)]
    for rank in first:
        list(rank)
    second_epoch = list(_at_epoch(WeightedSampler(WEIGHTS, 2), 1))
    seen = []
    for rank in first:
        walk = iter(rank)
        seen += [next(walk) for _ in range(2)]
    resumed = [WeightedSampler(WEIGHTS, 0, num_replicas=after, rank=r) for r in range(after)]
    for rank in resumed:
        rank.load_state_dict(first[0].state_dict())
    seen += [p for rank in resumed for p in rank]
    assert Counter(seen) == Counter(second_epoch)
    third = [p for rank in resumed for p in rank]
    assert Counter(third) == Counter(_at_epoch(WeightedSampler(WEIGHTS, 2), 2))


def _at_epoch(sampler: WeightedSampler, epoch: int) -> WeightedSampler:
    sampler.set_epoch(epoch)
    return sampler


def loader(subset: Subset, sampler: WeightedSampler, workers: int) -> DataLoader[Any]:
    return DataLoader(subset.to_torch(list(range(100, 140))), batch_size=4, sampler=sampler, num_workers=workers)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("done", [0, 2, 8, 10])
def test_what_a_loader_fetched_ahead_is_not_lost(workers: int, done: int) -> None:
    subset = Subset(np.arange(40), np.linspace(1, 5, 40))
    whole = [batch.tolist() for batch in loader(subset, subset.sampler(1), 0)]
    sampler = subset.sampler(1)
    walk = iter(loader(subset, sampler, workers))
    head = [next(walk).tolist() for _ in range(done)]
    state = sampler.state_dict(consumed=4 * done)
    assert state["drawn"] == 4 * done
    if workers and done == 2:
        assert sampler.state_dict()["drawn"] > 8
    resumed = subset.sampler(0)
    resumed.load_state_dict(state)
    again = loader(subset, resumed, workers)
    tail = [batch.tolist() for batch in again]
    assert head + tail == whole
    if done == 2:  # resumed once more: what was used is counted from where the iteration began
        assert [b.tolist() for b in again] == [b.tolist() for b in loader(subset, _at_epoch(subset.sampler(1), 1), 0)]


def test_what_was_used_is_counted_from_where_a_resumed_iteration_began() -> None:
    sampler = WeightedSampler(WEIGHTS, 4)
    whole = list(WeightedSampler(WEIGHTS, 4))
    for start in (0, 3, 6):
        walk = iter(sampler)
        assert [next(walk) for _ in range(4)] == whole[start : start + 4]
        state = sampler.state_dict(consumed=3)
        assert state["drawn"] == start + 3
        sampler = WeightedSampler(WEIGHTS, 0)
        sampler.load_state_dict(state)
        assert sampler.state_dict() == state == sampler.state_dict(consumed=0)
        sampler.set_epoch(0)  # as a trainer says at the top of the loop
    assert list(sampler) == whole[9:]
    assert sampler.state_dict()["epoch"] == 1
    assert sampler.state_dict(consumed=100)["drawn"] == 10


@pytest.mark.parametrize("uneven", ["keep", "repeat", "drop"])
def test_the_length_is_that_of_what_comes(uneven: str) -> None:
    first = WeightedSampler(np.ones(13), 1)
    walk = iter(first)
    for _ in range(5):
        next(walk)
    ranks = [WeightedSampler(np.ones(13), num_replicas=3, rank=rank, uneven=uneven) for rank in range(3)]
    for sampler in (WeightedSampler(np.ones(13)), *ranks):
        sampler.load_state_dict(first.state_dict())
        announced = len(sampler)
        during = [len(sampler) for _ in sampler]
        assert during == [announced] * announced
        assert len(sampler) == len(list(sampler)) > announced
    assert announced == {"keep": 2, "repeat": 3, "drop": 2}[uneven]


def test_a_process_group_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    group = torch.distributed
    for name, value in {"is_initialized": True, "get_world_size": 2, "get_rank": 1}.items():
        monkeypatch.setattr(group, name, lambda value=value: value)
    subset = Subset(np.arange(9), np.arange(1.0, 10))
    whole = list(subset.sampler(3, num_replicas=1, rank=0))
    assert list(subset.sampler(3)) == whole[1::2]


REFUSED = [
    ("an unknown draw", lambda: WeightedSampler(WEIGHTS, draw="systemic"), "nearest: 'systematic'"),
    ("an unknown rule", lambda: WeightedSampler(WEIGHTS, uneven="pad"), "unknown uneven of sampler 'pad'"),
    ("a rank alone", lambda: WeightedSampler(WEIGHTS, rank=1), "num_replicas and rank together or neither"),
    ("a rank too high", lambda: WeightedSampler(WEIGHTS, num_replicas=2, rank=2), "rank of sampler must be a whole"),
    ("no processes", lambda: WeightedSampler(WEIGHTS, num_replicas=0, rank=0), "num_replicas of sampler"),
    ("a negative epoch", lambda: WeightedSampler(WEIGHTS).set_epoch(-1), "epoch of sampler"),
    ("a negative count", lambda: WeightedSampler(WEIGHTS).state_dict(consumed=-1), "consumed of state_dict"),
    ("no state", lambda: WeightedSampler(WEIGHTS).load_state_dict(None), "state_dict of a sampler; got NoneType"),
    ("a foreign state", lambda: WeightedSampler(WEIGHTS).load_state_dict({"epoch": 1}), "it lacks seed"),
    (
        "the state of another subset",
        lambda: WeightedSampler(WEIGHTS).load_state_dict(WeightedSampler(WEIGHTS[:5]).state_dict()),
        "come from a sampler with the same weights and draws",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "fragment"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refusals(call: Any, fragment: str) -> None:
    with pytest.raises(WinnowError) as caught:
        call()
    assert fragment in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_state_survives_a_checkpoint(tmp_path: Path) -> None:
    sampler = WeightedSampler(WEIGHTS, 1)
    next(iter(sampler))
    torch.save(sampler.state_dict(), tmp_path / "state.pt")
    assert torch.load(tmp_path / "state.pt", weights_only=True) == sampler.state_dict()
