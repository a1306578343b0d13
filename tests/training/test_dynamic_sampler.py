from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.oracles import dynamic_sampler as oracle
from torch.utils.data import DataLoader, TensorDataset

import winnow as wn
from winnow.core.errors import DivergedError, InputError, WinnowError
from winnow.training.epoch_plan import batch_bounds, hit, visit
from winnow.training.keep_rules import LEAST, by_loss, by_mean

LOSSES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.4, 2.0, 2.5])  # of mean .91: six below it


def sampler(n: int, **how: Any) -> wn.DynamicSampler:
    return wn.DynamicSampler(n, **{"rule": "mean", **how})


def passed(smp: wn.DynamicSampler, losses: NDArray[np.float64] = LOSSES) -> list[list[int]]:
    """One epoch in which each example has the same loss as ever."""
    found = []
    for positions in smp:
        found.append(positions.tolist())
        smp.weigh(torch.from_numpy(losses[positions]))
    return found


def flat(batches: list[list[int]]) -> list[int]:
    return [position for batch in batches for position in batch]


def test_the_first_epoch_and_the_last_ones_use_everything_and_the_rest_skip() -> None:
    smp = sampler(10, prune=0.5, epochs=16, batch=4)
    sizes = [len(flat(passed(smp))) for _ in range(16)]
    assert sizes == [10] + [7] * 13 + [10, 10]
    assert smp.finished
    late = sampler(10, epochs=4, anneal=0.0, batch=4)
    assert [len(flat(passed(late))) for _ in range(4)] == [10, 7, 7, 7]


def test_annealing_weighs_everything_equally() -> None:
    smp = sampler(10, epochs=2, anneal=0.5, batch=10)
    passed(smp)
    (positions,) = iter(smp)
    assert sorted(positions) == list(range(10))
    assert smp.weigh(torch.from_numpy(LOSSES[positions])).item() == pytest.approx(LOSSES.mean())


@pytest.mark.parametrize("prune", [0.0, 0.3, 0.5, 0.9])
def test_epochs_are_those_of_the_slow_twin(prune: float) -> None:
    smp = sampler(10, prune=prune, epochs=8, batch=3, seed=5)
    rng = np.random.default_rng(0)
    last: list[float | None] = [None] * 10
    for epoch in range(8):
        losses = rng.random(10)
        wanted = oracle.epoch(5, epoch, last, prune, everything=epoch == 7)
        parts = oracle.batches(list(wanted), 3)
        for part, positions in zip(parts, smp, strict=True):
            assert positions.tolist() == part
            loss = smp.weigh(torch.from_numpy(losses[positions]))
            assert loss.item() == pytest.approx(sum(wanted[i] * losses[i] for i in part) / 3, rel=1e-6)
        for i in wanted:
            last[i] = float(np.float32(losses[i]))


def test_each_example_is_visited_with_exactly_its_probability() -> None:
    """For every order of the line, the measure of the u that hit an example is its length: by enumeration."""
    lengths = [Fraction(1, 2), Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), Fraction(1, 8)]
    for line in permutations(range(5)):
        ends = [sum(lengths[i] for i in line[: k + 1]) % 1 for k in range(5)]
        cuts = sorted({Fraction(0), Fraction(1), *ends})
        chance = np.zeros(5)
        for low, high in pairwise(cuts):
            found = hit(np.array([float(lengths[i]) for i in line]), float((low + high) / 2))
            chance[np.array(line)[found]] += float(high - low)
        assert chance.tolist() == [float(x) for x in lengths]
        gradients = np.array([3.0, -1.0, 4.0, 0.5, -7.0])
        expected = (chance * gradients / np.array([float(x) for x in lengths])).sum()  # a visited one weighs 1 / p
        assert expected == gradients.sum()


@pytest.mark.parametrize("rule", ["mean", "loss"])
def test_the_expected_gradient_is_that_of_everything(rule: str) -> None:
    """One weight theta with losses theta c_i: on average, the gradients of an epoch sum to those of everything."""
    slopes = torch.arange(1.0, 11.0, dtype=torch.float64)
    found = []
    for seed in range(300):
        smp = sampler(10, prune=0.6, epochs=9, batch=4, rule=rule, seed=seed)
        passed(smp)
        theta = torch.ones((), dtype=torch.float64, requires_grad=True)
        for positions in smp:
            smp.weigh(theta * slopes[torch.from_numpy(positions)]).backward()
        assert theta.grad is not None
        found.append(theta.grad.item())
    error = np.std(found) / np.sqrt(len(found))
    assert error > 0
    assert abs(np.mean(found) - slopes.sum().item() / 4) < 4 * error


def test_draws_in_a_real_stream_have_the_probabilities_too() -> None:
    keep = np.array([0.5, 0.5, 0.25, 1.0, 0.75, 0.125])
    found = np.zeros(6)
    for seed in range(4000):
        visited = visit(keep, np.random.default_rng(seed))
        assert visited.size in (3, 4)  # the sum of the probabilities is 3.125
        found[visited] += 1
    assert np.abs(found / 4000 - keep).max() < 4 * 0.5 / np.sqrt(4000)


def test_rules() -> None:
    assert by_mean(LOSSES, 0.5, 0.0).tolist() == [0.5] * 6 + [1.0] * 4
    keep = by_loss(LOSSES, 0.6, 0.0)
    assert keep.mean() == pytest.approx(0.4)
    inner = (keep > LEAST) & (keep < 1)
    assert inner.sum() >= 3
    assert np.ptp(keep[inner] / LOSSES[inner]) < 1e-9
    assert (np.diff(keep) >= 0).all()
    assert keep.min() == LEAST
    few = np.array([0.0] * 9 + [1.0])
    assert by_loss(few, 0.25, 0.0).tolist() == [0.75] * 9 + [1.0]
    assert by_loss(np.zeros(4), 0.25, 0.0).tolist() == [0.75] * 4
    assert by_loss(np.ones(4), 0.25, 0.0) == pytest.approx([0.75] * 4)
    assert by_loss(np.ones(4), 0.99, 0.0) == pytest.approx([LEAST] * 4)


@pytest.mark.parametrize("prune", [0.1, 0.5, 0.85])
def test_running_sums_find_the_factor_that_passes_over_all_losses_find(prune: float) -> None:
    losses = np.random.default_rng(0).gamma(0.3, size=500)
    losses[:40], losses[40] = 0.0, 1e-30
    low, high = 0.0, 1 / losses[losses > 0].min()
    for _ in range(200):
        middle = (low + high) / 2
        enough = np.clip(middle * losses, LEAST, 1).mean() >= 1 - prune
        low, high = (low, middle) if enough else (middle, high)
    np.testing.assert_allclose(by_loss(losses, prune, 0.0), np.clip(high * losses, LEAST, 1), rtol=1e-9)


def test_the_default_skips_half_of_the_examples_in_each_epoch() -> None:
    smp = wn.DynamicSampler(10, epochs=16, batch=4)
    assert [len(flat(passed(smp))) for _ in range(16)] == [10] + [5] * 13 + [10, 10]


def test_a_rule_of_ones_own_and_what_it_may_not_return() -> None:
    seen: list[float] = []

    def rule(losses: NDArray[np.float64], prune: float, progress: float) -> NDArray[np.float64]:
        seen.append(progress)
        return np.full(losses.size, 1 - prune)

    smp = sampler(10, prune=0.5, epochs=4, anneal=0.0, rule=rule, batch=5)
    assert [len(flat(passed(smp))) for _ in range(4)] == [10, 5, 5, 5]
    assert seen == [0.25, 0.5, 0.75]
    for wrong in (0.0, 1.5, np.nan):
        smp = sampler(10, epochs=4, rule=lambda losses, *_, wrong=wrong: np.full(losses.size, wrong))
        passed(smp)
        with pytest.raises(InputError, match="must return a probability"):
            passed(smp)


def test_an_unseen_example_is_always_visited() -> None:
    smp = sampler(10, prune=0.9, epochs=9, batch=5, anneal=0.0)
    first = next(iter(smp))
    smp.weigh(torch.from_numpy(LOSSES[first]))
    rest = set(range(10)) - set(first.tolist())
    assert rest <= set(flat(passed(smp)))


def test_what_is_left_out_is_never_visited() -> None:
    smp = sampler(10, epochs=4, batch=4, leave_out=[9, 3])
    mask = np.isin(np.arange(10), [3, 9])
    same = sampler(10, epochs=4, batch=4, leave_out=mask)
    for _ in range(4):
        found = passed(smp)
        assert not {3, 9} & set(flat(found))
        assert found == passed(same)
    for wrong in ([10], [-1], [0.5], list(range(10)), [[1]]):
        with pytest.raises(InputError, match="leave_out"):
            sampler(10, leave_out=wrong)


def test_steps_end_the_training_and_anneal_it() -> None:
    smp = sampler(10, steps=23, batch=2, anneal=0.25)
    lengths = []
    while not smp.finished:
        lengths.append((len(smp), len(passed(smp))))
    assert [a for a, _ in lengths] == [b for _, b in lengths] == [5, 4, 4, 4, 5, 1]  # 7 examples in 4 batches of 2
    assert sum(b for _, b in lengths) == 23
    assert passed(smp) == []


def test_batches_are_even_and_empty_in_no_process() -> None:
    for size in range(1, 60):
        for share, processes in ((4, 1), (4, 2), (3, 3), (8, 2), (2, 2)):
            sizes = np.diff(batch_bounds(0, size, share, processes))
            assert sizes.sum() == size
            assert np.ptp(sizes) <= 1
            if size >= processes:
                assert sizes.min() >= processes
            if share >= 2 * processes:
                assert sizes.max() <= share


def gradient(smp: wn.DynamicSampler, batches: list[Any], parts: int = 1) -> torch.Tensor:
    """The gradient of a linear model over some batches, each weighed in parts."""
    theta = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    x = torch.arange(30.0, dtype=torch.float64).reshape(10, 3).sin()
    for positions in batches:
        for part in np.array_split(positions, parts):
            losses = (x[torch.from_numpy(part)] @ theta - 1).square()
            smp.weigh(losses, part).backward()
    assert theta.grad is not None
    return theta.grad


def test_a_batch_in_parts_and_batches_accumulated_give_the_same_gradient() -> None:
    whole = sampler(10, epochs=9, batch=8, seed=2)
    small = sampler(10, epochs=9, batch=4, seed=2)
    for smp in (whole, small):
        passed(smp)
    one = list(whole)
    assert sorted(map(len, one)) == [7]
    two = list(small)
    assert sorted(map(len, two)) == [3, 4]
    wanted = gradient(whole, one)
    torch.testing.assert_close(gradient(whole, one, parts=3), wanted)
    torch.testing.assert_close(gradient(small, two) / 2, wanted)  # divided by the number of accumulated batches


class Together:
    """Sums arrays over threads that stand for processes."""

    def __init__(self, count: int) -> None:
        self.values: list[Any] = [None] * count
        self.barrier = threading.Barrier(count, timeout=60)

    def reduce(self, rank: int) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
        def summed(values: NDArray[np.float32]) -> NDArray[np.float32]:
            self.values[rank] = values
            self.barrier.wait()
            total = np.sum(self.values, axis=0)
            self.barrier.wait()
            return np.asarray(total)

        return summed


def in_processes(count: int, work: Callable[[wn.DynamicSampler], Any], **how: Any) -> list[Any]:
    together, results = Together(count), [None] * count

    def run(rank: int) -> None:
        smp = sampler(10, num_replicas=count, rank=rank, reduce=together.reduce(rank), **how)
        results[rank] = work(smp)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    return results


def test_two_processes_make_the_epochs_of_one() -> None:
    def work(smp: wn.DynamicSampler) -> list[list[list[int]]]:
        return [passed(smp) for _ in range(6)]

    (alone,) = in_processes(1, work, batch=4, epochs=6)
    pair = in_processes(2, work, batch=2, epochs=6)
    for epoch, wanted in enumerate(alone):
        assert len(pair[0][epoch]) == len(pair[1][epoch]) == len(wanted)
        for batch, first, second in zip(wanted, pair[0][epoch], pair[1][epoch], strict=True):
            assert (first, second) == (batch[::2], batch[1::2])


def test_the_mean_gradient_of_two_processes_is_that_of_one() -> None:
    def work(smp: wn.DynamicSampler) -> torch.Tensor:
        passed(smp)
        return gradient(smp, list(smp))

    (alone,) = in_processes(1, work, batch=4, epochs=9)
    first, second = in_processes(2, work, batch=2, epochs=9)
    torch.testing.assert_close((first + second) / 2, alone)


def test_a_synced_state_of_one_process_holds_all_losses() -> None:
    def work(smp: wn.DynamicSampler) -> dict[str, Any]:
        positions = next(iter(smp))
        smp.weigh(torch.from_numpy(LOSSES[positions]))
        smp.sync()
        return smp.state_dict()

    first, second = in_processes(2, work, batch=5)
    assert np.isfinite(first["fresh"]).all()
    np.testing.assert_array_equal(first["fresh"], second["fresh"])
    np.testing.assert_array_equal(first["fresh"], LOSSES.astype(np.float32))


@pytest.mark.parametrize("done", [0, 1, 2, 3])
@pytest.mark.parametrize("how", [{}, {"steps": 25}, {"rule": "loss"}])
def test_a_resumed_sampler_gives_the_same_batches(done: int, how: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"prune": 0.5, "epochs": 9, "batch": 2, "seed": 1, **how}
    rng = np.random.default_rng(0)
    table = rng.random((12, 10))
    straight = sampler(10, **settings)
    for epoch in range(2):
        passed(straight, table[epoch])
    running = iter(straight)
    for _ in range(done):
        straight.weigh(torch.from_numpy(table[2][next(running)]))
    state = straight.state_dict()
    resumed = sampler(10, **{**settings, "seed": 77})
    resumed.load_state_dict(state)
    wanted = []
    for positions in running:
        wanted.append(positions.tolist())
        straight.weigh(torch.from_numpy(table[2][positions]))
    assert len(resumed) == len(wanted)
    assert passed(resumed, table[2]) == wanted
    for epoch in range(3, 6):
        assert passed(resumed, table[epoch]) == passed(straight, table[epoch])
    assert resumed.finished == straight.finished


def test_a_state_counts_what_was_consumed_and_resumes_in_other_batches() -> None:
    smp = sampler(10, epochs=5, batch=2)
    order = flat(passed(sampler(10, epochs=5, batch=2)))
    assert len(list(smp)) == 5  # a loader that asked for all of them ahead
    smp = sampler(10, epochs=5, batch=2)
    running = iter(smp)
    for _ in range(4):
        next(running)
    other = sampler(10, epochs=5, batch=3)
    other.load_state_dict(smp.state_dict(consumed=2))
    assert flat(passed(other)) == order[4:]
    with pytest.raises(InputError, match="must hold 10 losses"):
        other.load_state_dict(sampler(9).state_dict())
    with pytest.raises(InputError, match="lacks seed"):
        other.load_state_dict({})


def test_a_loader_takes_it_as_batch_sampler_or_as_sampler() -> None:
    data = TensorDataset(torch.arange(10), torch.from_numpy(LOSSES))
    for how in ("batches", "positions"):
        smp = sampler(10, epochs=3, batch=4 if how == "batches" else None)
        loader = DataLoader(data, batch_sampler=smp) if how == "batches" else DataLoader(data, 4, sampler=smp)
        sizes = []
        for _ in range(3):
            announced, total = len(smp), 0
            for positions, losses in loader:
                smp.weigh(losses, positions)
                total += len(positions)
            sizes.append(total)
            assert announced == (smp.visited if how == "positions" else -(-smp.visited // 4))
        assert sizes == [10, 7, 10]


def test_a_loader_with_workers_needs_positions() -> None:
    data = TensorDataset(torch.arange(10), torch.from_numpy(LOSSES))
    smp = sampler(10, epochs=3, batch=2)
    for positions, losses in DataLoader(data, batch_sampler=smp, num_workers=1):
        with pytest.raises(InputError, match="weigh must be given"):
            smp.weigh(losses)
        smp.weigh(losses, positions)
        break


def test_an_iteration_left_early_is_followed_by_the_next_epoch() -> None:
    smp = sampler(10, epochs=5, batch=5)
    next(iter(smp))
    assert sorted(flat(passed(smp))) == list(range(10))
    smp.set_epoch(2)
    assert len(flat(passed(smp))) == 7
    smp.set_epoch(4)
    assert len(flat(passed(smp))) == 10


def test_invalid_input_is_refused() -> None:
    for how in (
        {"n": 0},
        {"prune": 1.0},
        {"prune": -0.1},
        {"epochs": 0},
        {"batch": 0},
        {"steps": 0},
        {"anneal": 1.5},
        {"rule": "median"},
        {"seed": -1},
        {"num_replicas": 2},
        {"steps": 5, "batch": None},
        {"num_replicas": 2, "rank": 0, "batch": None},
    ):
        with pytest.raises(WinnowError):
            wn.DynamicSampler(**{"n": 10, **how})
    smp = sampler(10, batch=4)
    with pytest.raises(InputError, match="must be given"):
        smp.weigh(torch.zeros(4))
    positions = next(iter(smp))
    for losses, where in (
        (torch.zeros(5), None),
        (torch.zeros(4, 1), None),
        (torch.zeros(()), None),
        (torch.zeros(1), [10]),
        (torch.zeros(1), [0.5]),
        (LOSSES[positions], None),
    ):
        with pytest.raises(InputError):
            smp.weigh(losses, where)
    smp.weigh(torch.full((len(positions),), torch.nan))
    with pytest.raises(DivergedError, match="is NaN"):
        smp.state_dict()


def test_losses_that_are_changed_in_place_afterwards_are_refused() -> None:
    smp = sampler(10, epochs=4, batch=5)
    for positions in smp:
        losses = torch.from_numpy(LOSSES[positions])
        smp.weigh(losses)
        losses.mul_(2)
    with pytest.raises(InputError, match=r"losses of DynamicSampler.weigh must not be changed in place afterwards"):
        smp.state_dict()
