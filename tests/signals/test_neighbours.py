"""Nearest neighbours: against the slow twin, in any order, and with a recall that holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.oracles import checking as oracle
from winnow.core.errors import InputError
from winnow.signals.neighbours import nearest

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(150, 5)) + 100


def clustered(n: int, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return (draw.normal(size=(n, 4)) @ draw.normal(size=(4, 12)) + 0.05 * draw.normal(size=(n, 12))).astype(np.float32)


def test_exact_search_agrees_with_sorting_all_distances() -> None:
    found = nearest(POINTS, 4)
    positions, distances = oracle.nearest(POINTS, 4)
    assert np.array_equal(found.positions, positions)
    assert np.allclose(found.distances, distances, atol=1e-5)
    assert (found.recall, found.probes) == (1.0, 0)


def test_queries_may_be_other_rows() -> None:
    asked = POINTS[:7] + 0.1
    positions, distances = oracle.nearest(POINTS, 3, asked)
    found = nearest(POINTS, 3, queries=asked)
    assert np.array_equal(found.positions, positions)
    assert np.allclose(found.distances, distances, atol=1e-5)


def test_copies_are_at_distance_zero_and_ties_go_by_id() -> None:
    points = np.repeat(POINTS[:20] * 1000, 4, axis=0)
    found = nearest(points, 3)
    assert not found.distances.any()
    assert found.positions[:4].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]


@pytest.mark.parametrize("exact", [50_000, 100])
def test_order_plays_no_part(exact: int) -> None:
    points = clustered(1200)
    mixed = RNG.permutation(len(points))
    straight = nearest(points, 5, ids=np.arange(len(points)), exact=exact, seed=3)
    other = nearest(points[mixed], 5, ids=mixed, exact=exact, seed=3)
    back = np.argsort(mixed)
    assert np.array_equal(mixed[other.positions[back]], straight.positions)
    assert np.array_equal(other.distances[back], straight.distances)


def test_recall_in_clusters_is_at_least_what_is_certified() -> None:
    points = clustered(4000)
    found, every = nearest(points, 5, exact=100), nearest(points, 5)
    share = (found.distances <= every.distances[:, -1:] * (1 + 1e-5)).mean()
    assert 0.99 <= found.recall <= share
    assert found.measured[1] < 0.9 < found.measured[found.probes]  # the own cluster alone would not do
    assert list(found.measured) == sorted(found.measured)
    assert found.measured[found.probes] >= found.recall


def test_memory_maps_are_read_in_blocks(tmp_path: Path) -> None:
    np.save(tmp_path / "points.npy", clustered(300))
    found = nearest(np.load(tmp_path / "points.npy", mmap_mode="r"), 3)
    assert np.array_equal(found.positions, nearest(clustered(300), 3).positions)


def test_refusals() -> None:
    with pytest.raises(InputError, match="from 0 to 149"):
        nearest(POINTS, 150)
    with pytest.raises(InputError, match="must be finite"):
        nearest(np.where(POINTS[3, 2] == POINTS, np.nan, POINTS), 2)
    with pytest.raises(InputError, match="must have 5 columns"):
        nearest(POINTS, 2, queries=np.zeros((3, 4)))
    with pytest.raises(InputError, match="ids of nearest must have 150 entries"):
        nearest(POINTS, 2, ids=[1, 2])
    assert nearest(POINTS, 0).positions.shape == (150, 0)
