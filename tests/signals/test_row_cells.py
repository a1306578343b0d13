"""Rows in cells: all cells give what comparing everything gives, in memory or on disk, on one thread or two."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tests.oracles import checking as oracle
from winnow.core.scratch_rows import scratch_rows
from winnow.signals import cell_search, row_cells
from winnow.signals.row_cells import RowCells, rows_to_draw

POINTS = np.random.default_rng(0).normal(size=(700, 5)).astype(np.float32)


def made(points: np.ndarray = POINTS) -> RowCells:
    return RowCells(lambda block: points[block], len(points), lambda: points[: rows_to_draw(len(points))], seed=1)


@pytest.fixture(autouse=True)
def small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_cells, "CELL", 16)


def test_all_cells_hold_every_neighbour() -> None:
    cells, places = made(), np.arange(len(POINTS))
    assert cells.count > 20
    found, apart = cells.search(POINTS, 4, places, cells.count)
    positions, distances = oracle.nearest(POINTS, 4)
    assert np.array_equal(found, positions)
    assert np.allclose(apart, distances, atol=1e-5)


@pytest.mark.parametrize("width", [3, 8, 21, 40])
@pytest.mark.parametrize("k", [1, 7, 90])
def test_what_is_dropped_on_the_way_is_never_a_neighbour(width: int, k: int) -> None:
    points = np.random.default_rng(width).normal(size=(600, width)) * np.geomspace(1, 0.02, width)
    points = np.concatenate([points, points[:50]]).astype(np.float32)  # copies: ties go by place
    cells = made(points)
    found, apart = cells.search(points, k, np.arange(len(points)), cells.count)
    positions, distances = oracle.nearest(points, k)
    assert np.allclose(apart, distances, atol=1e-5)
    clear = np.diff(distances, axis=1, prepend=-1.0, append=np.inf) > 1e-5
    clear = clear[:, :-1] & clear[:, 1:]  # no other at this distance, so rounding cannot change the order
    assert clear.any()
    assert np.array_equal(found[clear], positions[clear])
    assert np.array_equal(found[:50, 0], np.arange(600, 650))


def test_more_cells_find_more_of_the_neighbours() -> None:
    cells, positions = made(), oracle.nearest(POINTS, 4)[0]
    found = [cells.search(POINTS, 4, np.arange(len(POINTS)), probes)[0] for probes in (1, 4, 16, cells.count)]
    shares = [np.mean([np.isin(row, true).mean() for row, true in zip(one, positions, strict=True)]) for one in found]
    assert shares == sorted(shares)
    assert shares[0] < 0.7 < 0.98 < shares[2]


def test_many_probes_are_chosen_by_distance_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_cells, "CELL", 4)
    cells = made()
    assert cells.count > 130
    few, many = (cells.search(POINTS[:50], 3, None, probes)[1] for probes in (60, 100))
    assert (many <= few).all()
    assert np.array_equal(many[:, 0], np.zeros(50))  # each row finds itself


def test_blocks_give_every_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_cells, "BLOCK", 100)
    blocks = list(made().blocks())
    assert len(blocks) > 3
    places = np.concatenate([where for where, _ in blocks])
    assert np.array_equal(np.sort(places), np.arange(len(POINTS)))
    assert np.array_equal(np.concatenate([rows for _, rows in blocks]), POINTS[places])


@pytest.mark.parametrize("all_cells", [False, True])
def test_rows_on_disk_are_those_in_memory(all_cells: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = made()
    probes = cells.count if all_cells else 5
    held = cells.search(POINTS, 3, None, probes)
    monkeypatch.setattr(row_cells, "scratch_rows", partial(scratch_rows, held=0))
    monkeypatch.setattr(row_cells, "SPAN", 1000)  # a few cells at a time
    monkeypatch.setattr(row_cells, "BLOCK", 30)
    seen: list[int] = []
    monkeypatch.setattr(cell_search, "let_go", lambda values: seen.append(isinstance(values, np.memmap)))
    on_disk = made()
    assert isinstance(on_disk._values, np.memmap)
    assert len(on_disk._ends) > 10
    seen.clear()
    for one, other in zip(held, on_disk.search(POINTS, 3, None, probes), strict=True):
        assert np.array_equal(one, other)
    assert sum(seen) > len(POINTS) / 30  # more than once for each block of rows


def test_all_cells_are_compared_a_part_of_the_file_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_cells, "scratch_rows", partial(scratch_rows, held=0))
    cells, places = made(), np.arange(len(POINTS))
    whole = cells.search(POINTS, 90, places, cells.count)  # more than a part holds
    monkeypatch.setattr(row_cells, "SPAN", 80 * 4 * POINTS.shape[1])
    cells = made()
    seen: list[int] = []
    monkeypatch.setattr(cell_search, "let_go", lambda values: seen.append(len(values)))
    parts = cells.search(POINTS, 90, places, cells.count)
    assert len(set(seen)) > 5
    for one, other in zip(whole, parts, strict=True):
        assert np.array_equal(one, other)


def test_threads_change_nothing() -> None:
    import faiss

    before = faiss.omp_get_max_threads()
    found = []
    for threads in (1, 2):
        faiss.omp_set_num_threads(threads)
        try:
            found.append(made().search(POINTS, 3, np.arange(len(POINTS)), 4))
        finally:
            faiss.omp_set_num_threads(before)
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


def test_rows_that_are_all_the_same_find_each_other() -> None:
    cells = made(np.ones((200, 3), dtype=np.float32))
    found, apart = cells.search(np.ones((200, 3), dtype=np.float32), 2, np.arange(200), cells.count)
    assert found[:3].tolist() == [[1, 2], [0, 2], [0, 1]]
    assert not apart.any()
