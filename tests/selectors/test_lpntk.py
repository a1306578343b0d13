"""The lpNTK selectors against their slow twins, and on cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import selectors as oracle
from winnow.artefacts import Signals
from winnow.methods.lpntk import FeatureRows, redundant
from winnow.methods.lpntk.signal import joined_seeds, with_length
from winnow.selectors.lpntk_head import lpntk_head
from winnow.selectors.lpntk_head_only import lpntk_head_only
from winnow.selectors.lpntk_redundancy import HALVINGS, lpntk_redundancy
from winnow.selectors.pool import Pool
from winnow.selectors.select import select

SEEDS = pytest.mark.parametrize("seed", range(5))


def pool_of(features, labels, size) -> Pool:
    n = len(labels)
    signals = Signals(np.arange(n), {"lpntk": features}, "classification", labels, ("a", "b", "c"))
    return Pool(n, size / n, "classification", signals.labels, signals.classes, signals=signals)


def problem(seed: int, n: int = 48, size: int = 20) -> tuple[Pool, list[list[float]], list[int]]:
    """Few directions a class, so that some examples cover many; lengths that differ; two seeds."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    directions = rng.normal(size=(2, 3, 4, 8))
    rows = directions[:, labels, rng.integers(4, size=n)] + 0.15 * rng.normal(size=(2, n, 8))
    rows *= rng.uniform(0.3, 2.0, size=n)[None, :, None]
    gram = sum(part @ part.T for part in rows) / 2
    return pool_of(rows, labels, size), gram.tolist(), labels.tolist()


@SEEDS
@pytest.mark.parametrize("size", [14, 20, 33, 47])
def test_cover(seed, size):
    pool, gram, labels = problem(seed)
    made = lpntk_redundancy(pool, size)
    least = made.certificate["cosine"]
    kept, _ = oracle.covered(gram, labels, least)
    assert len(kept) <= size
    assert made.positions.tolist() == oracle.lpntk_redundancy(gram, labels, size, least)
    assert made.certificate["uncovered"] == 0
    if len(kept) < size and least < 1:  # a larger one, as near as bisection looks, would have left too many
        assert len(oracle.covered(gram, labels, least + 0.5**HALVINGS)[0]) > size


@SEEDS
def test_every_removed_example_has_a_kept_witness_of_its_class(seed):
    pool, gram, labels = problem(seed)
    made = lpntk_redundancy(pool, 18)
    kept = set(made.positions.tolist())
    for i in set(range(len(labels))) - kept:
        near = [oracle.cosine(gram, i, j) for j in kept if labels[j] == labels[i]]
        assert max(near) >= made.certificate["cosine"] - 1e-9


def test_copies_go_before_anything_else():
    rows = np.tile(np.random.default_rng(0).normal(size=(1, 20, 10)), (1, 3, 1))
    labels = np.tile(np.arange(20) % 3, 3)
    signals = Signals(np.arange(60), {"lpntk": rows}, "classification", labels, ("a", "b", "c"))
    made = select("lpntk_redundancy", signals, size=20, balance=None)
    assert sorted(i % 20 for i in made.ids.tolist()) == list(range(20))
    assert made.certificate["cosine"] == 1.0


def test_a_size_below_what_cover_leaves_keeps_who_covers_most():
    rows = np.repeat(np.eye(6)[None], 4, axis=1)[:, [*range(12), 20]]  # four copies of three directions, one of another
    made = lpntk_redundancy(pool_of(rows, np.zeros(13, dtype=int), 2), 2)
    assert made.positions.tolist() == [0, 4]
    assert made.certificate["uncovered"] == 13 - 8


@SEEDS
@pytest.mark.parametrize("size", [1, 20, 40])
def test_paper(seed, size):
    pool, gram, _ = problem(seed)
    made = lpntk_redundancy(pool, size, rule="paper")
    assert made.positions.tolist() == oracle.lpntk_paper(gram, size)
    as_published = redundant(np.array(gram), rule="paper")
    assert made.certificate["published"] == as_published.removed.size
    exact = lpntk_redundancy(pool, as_published.kept.size, rule="paper")
    assert exact.positions.tolist() == as_published.kept.tolist()


@SEEDS
@pytest.mark.parametrize("size", [2, 12, 25, 40])
@pytest.mark.parametrize("kind", ["raw", "cosine"])
def test_head(seed, size, kind):
    pool, gram, labels = problem(seed)
    made = lpntk_head(pool, size, seed=seed, cosine=0.95, clusters=0.3, kind=kind)
    assert made.positions.tolist() == oracle.lpntk_head(gram, labels, size, 0.95, 0.3, kind, seed)
    assert made.certificate["redundant"] + made.certificate["thinned"] == pool.n - size


@SEEDS
@pytest.mark.parametrize("size", [2, 12, 40])
@pytest.mark.parametrize("kind", ["raw", "cosine"])
def test_head_only(seed, size, kind):
    pool, gram, labels = problem(seed)
    made = lpntk_head_only(pool, size, seed=seed, clusters=0.3, kind=kind)
    assert made.positions.tolist() == oracle.lpntk_head_only(gram, labels, size, 0.3, kind, seed)
    assert made.certificate["beyond_head"] == max(0, size - made.certificate["head"])


def test_head_by_the_papers_rule_brings_back_first_what_nothing_kept_covers():
    angles, lengths = np.deg2rad([0.0, 40.0, 80.0]), np.array([1.0, 1.5, 2.5])
    rows = lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = redundant(FeatureRows(rows), rule="paper")
    assert found.kept.tolist() == [2]
    assert found.uncovered.tolist() == [0]  # the second made it redundant, and went as well
    made = lpntk_head(pool_of(rows[None], np.zeros(3, dtype=int), 2), 2, rule="paper")
    assert made.positions.tolist() == [0, 2]


def test_the_kernel_is_the_mean_over_seeds():
    rows = np.random.default_rng(0).normal(size=(3, 5, 4))
    joined = joined_seeds(rows)
    np.testing.assert_allclose(joined @ joined.T, np.mean([part @ part.T for part in rows], axis=0))


def test_examples_without_a_gradient_are_copies_of_each_other():
    rows = with_length(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [1.0, 0.0]], dtype=np.float32))
    assert rows.dtype == np.float32
    gram = rows @ rows.T
    assert gram[0, 2] == gram[0, 0] == gram[2, 2] > 0
    assert not gram[0, [1, 3]].any()
    assert gram[0, 0] < gram[3, 3]
    assert redundant(FeatureRows(rows), cosine=1.0).removed.tolist() == [2]
