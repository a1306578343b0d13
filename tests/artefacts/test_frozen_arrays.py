"""Arrays that artefacts hand on: not copied again, and never shared with the user."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from winnow.artefacts import frozen_arrays
from winnow.artefacts.frozen_arrays import frozen_copy, frozen_ids, in_order, mapped_rows, order_of, taken_rows
from winnow.core.errors import InputError
from winnow.core.scratch_rows import scratch_rows


def test_what_a_user_gives_is_copied_and_what_an_artefact_gives_is_not() -> None:
    mine = np.arange(4)
    scores = wn.Scores("mine", mine, np.zeros(4))
    mine[0] = 9
    assert scores.ids.tolist() == [0, 1, 2, 3]
    assert replace(scores, name="other").ids is scores.ids
    assert replace(scores, name="other").values is scores.values
    assert scores.take(scores.ids) is scores
    assert scores.take([0, 1, 2, 3]) is scores
    with pytest.raises(InputError, match="got an array of float64"):
        scores.take([0.0, 1.0, 2.0, 3.0])


def test_ids_are_checked_even_if_they_are_read_only() -> None:
    twice = np.array([1, 1])
    twice.flags.writeable = False
    with pytest.raises(InputError, match="unique"):
        frozen_ids("signals", twice)
    with pytest.raises(InputError, match="unique"):  # a copy made for labels is not one of ids
        frozen_ids("signals", frozen_copy(twice))


def test_an_array_that_was_made_writable_again_is_copied() -> None:
    held = frozen_copy(np.arange(3))
    assert frozen_copy(held) is held
    held.flags.writeable = True
    assert frozen_copy(held) is not held


def test_ids_that_ascend_need_no_order() -> None:
    assert order_of(np.array([1, 5, 9])) is None
    assert order_of(np.array(["a", "b"])) is None
    order = order_of(np.array([5, 1, 9]))
    assert order is not None
    assert in_order(np.array([5, 1, 9]), order).tolist() == [1, 5, 9]
    assert order_of(np.array([7])) is None


def test_signals_keep_a_map_and_take_of_the_same_ids_copies_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.ones((3, 2), dtype=np.float32))
    rows = mapped_rows(tmp_path / "rows.npy")
    signals = wn.Signals(np.arange(3), {"embeddings": rows}, "unlabelled")
    assert signals.embeddings is rows
    assert signals.take([0, 1, 2]) is signals
    assert signals.canonical() is signals
    assert replace(signals, provenance={}).embeddings is rows


def test_a_map_of_a_user_is_checked(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.array([[1.0, np.nan]], dtype=np.float32))
    with pytest.raises(InputError, match="finite"):
        wn.Signals(np.arange(1), {"embeddings": np.load(tmp_path / "rows.npy", mmap_mode="r")}, "unlabelled")


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_are_taken_along_any_axis_a_few_at_a_time(axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen_arrays, "TAKEN", 100)
    monkeypatch.setattr(frozen_arrays, "scratch_rows", partial(scratch_rows, held=0))
    values = np.random.default_rng(0).normal(size=(9, 8, 7)).astype(np.float32)
    where = np.array([5, 0, 6, 6])
    found = taken_rows(values, where, axis)
    assert isinstance(found, np.memmap)
    assert np.array_equal(found, np.take(values, where, axis))
