"""A search for near-duplicates that is cut goes on where it was, and ends with the same pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow.checking import near_pairs as module
from winnow.checking import pair_search
from winnow.core.unfinished import under_way
from winnow.signals import neighbours, row_cells

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(600, 4)).astype(np.float32)
TABLE[300:320] = TABLE[:20] + 1e-4


class Cut(Exception):
    """The process ends here."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_search, "EVERY", 0.0)
    monkeypatch.setattr(row_cells, "BLOCK", 100)
    monkeypatch.setattr(row_cells, "CELL", 16)
    monkeypatch.setattr(neighbours, "EXACT", 50)


def searched(run: Path, table: np.ndarray = TABLE, cut: int | None = None) -> tuple[Any, int]:
    """The pairs, and how many blocks were searched; cut after so many."""
    blocks = 0

    def counted(*args: Any, **how: Any) -> Any:
        found, recall = neighbours.neighbour_blocks(*args, **how)

        def each() -> Any:
            nonlocal blocks
            for one in found:
                if blocks == cut:
                    raise Cut
                blocks += 1
                yield one

        return each(), recall

    with pytest.MonkeyPatch.context() as patch, under_way(run, "check/issues", "key"):
        patch.setattr(module, "neighbour_blocks", counted)
        return module.near_pairs(wn.open(table, ids=np.arange(len(table)))), blocks


def test_a_search_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    whole, every = searched(tmp_path / "whole")
    assert len(whole.pairs) >= 20
    assert every > 4
    with pytest.raises(Cut):
        searched(tmp_path / "cut", cut=3)
    again, rest = searched(tmp_path / "cut")
    assert rest == every - 3
    assert np.array_equal(again.pairs, whole.pairs)
    assert np.array_equal(again.probabilities, whole.probabilities)


def test_other_rows_never_meet_it(tmp_path: Path) -> None:
    with pytest.raises(Cut):
        searched(tmp_path, cut=3)
    other = TABLE.copy()
    other[5] += 1
    assert searched(tmp_path, other)[1] == searched(tmp_path / "fresh", other)[1]


def test_a_damaged_state_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(Cut):
        searched(tmp_path, cut=3)
    file = next(tmp_path.rglob("*.safetensors"))
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    assert searched(tmp_path)[1] == searched(tmp_path / "fresh")[1]
