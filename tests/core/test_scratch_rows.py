"""Room for rows: in memory or in a file without a name, filled batch by batch, with pages that can be let go."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from winnow.core import scratch_rows as module
from winnow.core.scratch_rows import filled_rows, let_go, rows_at, scratch_rows


@pytest.mark.parametrize("held", [0, 1 << 20])
def test_batches_become_one_table(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_rows, "__defaults__", (held,))
    monkeypatch.setattr(module, "WRITTEN", 100)
    rows = np.random.default_rng(0).normal(size=(50, 3, 2)).astype(np.float32)
    found = filled_rows((rows[start : start + 7] for start in range(0, 50, 7)), 50)
    assert isinstance(found, np.memmap) == (held == 0)
    assert found.dtype == np.float32
    assert np.array_equal(found, rows)


def test_the_file_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = scratch_rows((1000,), np.float64, held=0)
    rows[:] = 1.0
    assert not list(tmp_path.iterdir())
    assert rows.sum() == 1000


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_letting_pages_go_loses_nothing(tmp_path: Path, mode: str) -> None:
    np.save(tmp_path / "rows.npy", np.ones(5000))
    held = np.load(tmp_path / "rows.npy", mmap_mode=mode)
    if mode != "r":
        held[7] = 3.0
    let_go(held[5:])
    assert held.sum() == (5000 if mode == "r" else 5002)
    let_go(np.ones(3))


@pytest.mark.parametrize("held", [0, 1 << 20])
@pytest.mark.parametrize("shape", [(1000,), (1000, 3), (1000, 2, 2)])
def test_scattered_rows_are_read_a_part_of_the_file_at_a_time(
    held: int, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = scratch_rows(shape, np.float32, held)
    rows[:] = np.random.default_rng(0).normal(size=shape)
    monkeypatch.setattr(module, "SPAN", 100 * rows[:1].nbytes)
    spans: list[int] = []
    monkeypatch.setattr(module, "let_go", lambda values: spans.append(len(values)))
    drawn = np.random.default_rng(1).integers(0, 1000, 300)
    for positions in (drawn, np.sort(drawn), drawn[:1], drawn[:0]):
        found = rows_at(rows, positions)
        assert type(found) is np.ndarray
        assert np.array_equal(found, np.asarray(rows)[positions])
    assert len(spans) == (10 + 10 + 1 + 1 if held == 0 else 0)
