"""Targets: the prior's components example by example, made in blocks, gone on with after a kill, in bounded memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import winnow as wn
from tests.oracles.pca import full_pca, same_signs
from winnow.core.errors import InputError, StoreError, UnknownNameError
from winnow.methods.relabel import Targets, priors, targets
from winnow.methods.relabel import prior_targets as making


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (making, priors):
        monkeypatch.setattr(module, "ROWS", 16)


def table(n: int = 90, d: int = 6) -> wn.Source:
    rng = np.random.default_rng(0)
    return wn.open((rng.normal(size=(n, d)), np.arange(n) % 2), ids=[f"row-{k}" for k in rng.permutation(n)])


class Counting(nn.Module):
    """A prior that counts the examples it sees and can be made to stop."""

    def __init__(self, stop_after: float = np.inf) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.Sequential(nn.Linear(6, 9), nn.Tanh())
        self.seen, self.stop_after = [0], [stop_after]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.seen[0] >= self.stop_after[0]:
            raise KeyboardInterrupt
        self.seen[0] += len(x)
        return self.inner(x)


@pytest.mark.parametrize("scale", ["whiten", "standardize", "correlation", None])
def test_targets_are_the_components_of_what_the_prior_gives(scale: str | None) -> None:
    source, prior = table(), Counting()
    found = targets(source, prior, 4, scale, batch=7)
    rows = priors.represent(source, prior, batch=7)
    wanted = full_pca(rows, 4, scale)
    assert found.ids.tolist() == sorted(source.ids.tolist())
    np.testing.assert_allclose(found.values, same_signs(found.values, wanted), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(targets(source, rows[np.argsort(source.order)], 4, scale).values, found.values)
    assert found.provenance["parameters"]["scale"] == scale
    assert found.provenance["measured"]["directions"] == 4
    assert found.seconds > 0


def test_the_prior_sees_every_example_once() -> None:
    prior = Counting()
    targets(table(), prior, 4)
    assert prior.seen[0] == 90 + 2 * 2  # two examples to try it on, once to look for its head and once for its width


def test_order_of_the_source_changes_no_bit() -> None:
    source = table()
    backwards = source.at(np.arange(90)[::-1])
    one, other = (targets(each, Counting(), 4) for each in (source, backwards))
    assert one.values.tobytes() == other.values.tobytes()
    stored = np.random.default_rng(3).normal(size=(90, 5))
    one, other = targets(source, stored, 3), targets(backwards, stored[::-1], 3)
    assert one.values.tobytes() == other.values.tobytes()
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize("stop_after", [0, 4, 40, 70])
def test_a_killed_run_goes_on_and_ends_the_same(stop_after: int, tmp_path: Path) -> None:
    source, out = table(), tmp_path / "targets.parquet"
    whole = targets(source, Counting(), 4)
    prior = Counting(stop_after)
    with pytest.raises(KeyboardInterrupt):
        targets(source, prior, 4, out=out)
    assert not out.exists()
    finished = len(list(tmp_path.glob("targets.parquet.parts/embeddings/*.safetensors")))
    assert finished == max(0, -(-(stop_after - 4) // 16))  # a block is whole or not there
    prior.seen[0], prior.stop_after[0] = 0, np.inf
    found = targets(source, prior, 4, out=out)
    assert prior.seen[0] == 4 + 90 - 16 * finished
    np.testing.assert_array_equal(found.values, whole.values)
    assert found.provenance == whole.provenance
    assert sorted(path.name for path in tmp_path.iterdir()) == ["targets.cost.json", "targets.parquet"]


def test_a_finished_file_is_loaded_and_another_request_makes_it_anew(tmp_path: Path) -> None:
    source, prior, out = table(), Counting(), tmp_path / "targets.parquet"
    first = targets(source, prior, 4, out=out)
    before, prior.seen[0] = out.stat().st_mtime_ns, 0
    again = targets(source, prior, 4, out=out)
    assert (prior.seen[0], out.stat().st_mtime_ns) == (4, before)
    assert (again.fingerprint, again.seconds) == (first.fingerprint, first.seconds)
    assert targets(source, prior, 3, out=out).dim == 3
    assert Targets.load(out).dim == 3


def test_work_for_another_prior_is_not_taken_over(tmp_path: Path) -> None:
    source, out = table(), tmp_path / "targets.parquet"
    with pytest.raises(KeyboardInterrupt):
        targets(source, Counting(40), 4, out=out)
    other = Counting()
    with torch.no_grad():
        other.inner[0].bias.add_(1.0)
    found = targets(source, other, 4, out=out)
    np.testing.assert_array_equal(found.values, targets(source, other, 4).values)


def test_a_file_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    wn.Subset(np.arange(3)).save(tmp_path / "subset.parquet")
    before = (tmp_path / "subset.parquet").read_bytes()
    with pytest.raises(StoreError, match=r"expected 'targets' .*; found 'subset'"):
        targets(table(), Counting(), 4, out=tmp_path / "subset.parquet")
    assert (tmp_path / "subset.parquet").read_bytes() == before


def test_memory_does_not_grow_with_the_examples_but_for_the_targets(tmp_path: Path) -> None:
    d, dim = 64, 2

    def peak(n: int) -> int:
        rng = np.random.default_rng(0)
        np.save(tmp_path / f"{n}.npy", rng.normal(size=(n, d)).astype(np.float32))
        source = wn.open(np.arange(float(n)), ids=np.arange(n))
        assert source.fingerprint
        assert source.order.size == n
        tracemalloc.start()
        made = targets(source, tmp_path / f"{n}.npy", dim)
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(made) == n
        return held

    peak(64)
    few, many = peak(64), peak(2064)
    # What grows: ids, positions, targets and their checks, some 60 bytes an example. Embeddings would be 256 and more.
    assert many - few < 2000 * 100


def test_refusals_name_what_is_wrong(tmp_path: Path) -> None:
    source = table()
    with pytest.raises(InputError, match=r"dim of relabel.targets must be at most 9, the numbers this prior gives"):
        targets(source, Counting(), 10)
    with pytest.raises(InputError, match=r"dim of relabel.targets must be a whole number of at least 1"):
        targets(source, Counting(), 0)
    with pytest.raises(UnknownNameError, match=r"scale of relabel.targets 'whitn' .nearest: 'whiten'"):
        targets(source, Counting(), 4, "whitn")
    with pytest.raises(InputError, match="must have at least 2 examples to find directions; got 1"):
        targets(source.at(np.arange(1)), Counting(), 4)
    with pytest.raises(InputError, match="must give examples different vectors"):
        targets(source, np.ones((90, 3)), 2)
    with pytest.raises(InputError, match=r"out of relabel.targets must be a path that ends in .parquet; got here"):
        targets(source, Counting(), 4, out="here")
    with pytest.raises(InputError, match=r"at most 16,384 numbers per example.*this one gives 20,000"):
        targets(source, np.zeros((90, 20_000), dtype=np.float32), 4)
    one_odd = np.zeros((90, 2))
    one_odd[0] = 90.0
    one_odd[1] = -90.0
    with pytest.raises(InputError, match=r"must not be the zero vector.*\(\d+ of 16 here\)"):
        targets(source, one_odd, 1, out=tmp_path / "zero.parquet")
    assert not (tmp_path / "zero.parquet").exists()
