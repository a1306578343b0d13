"""Files of tensors written as they come and mapped: the bytes and the values of the library's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import winnow as wn
from winnow.artefacts import mapped_tensors
from winnow.artefacts.mapped_tensors import NAMES, save_file
from winnow.core.errors import InputError, StoreError


def signals(ids: np.ndarray | None = None, n: int = 50) -> wn.Signals:
    rng = np.random.default_rng(0)
    arrays = {
        "losses": rng.random((1, 3, n), dtype=np.float32),
        "correct": rng.integers(0, 2, (1, 3, n)).astype(np.uint8),
        "embeddings": rng.random((n, 4)),
    }
    given = np.arange(n)[::-1] if ids is None else ids
    return wn.Signals(given, arrays, "classification", np.arange(n) % 2, ("a", "b"), (1, 2, 3), 3)


def is_mapped(values: object) -> bool:
    while values is not None and not isinstance(values, np.memmap):
        values = getattr(values, "base", None)
    return values is not None


def test_the_bytes_are_those_of_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    tensors = {
        f"{word}{k}": (100 * rng.random((3, k + 1))).astype(kind) for k, kind in enumerate(NAMES) for word in "ba"
    }
    tensors["none"] = np.zeros((0, 3), dtype=np.float32)
    header = {"about": '{"words": "\u00e9 \\n / <"}'}
    monkeypatch.setattr(mapped_tensors, "BLOCK", 16)
    save_file(tensors, tmp_path / "ours", header)
    safetensors.numpy.save_file(tensors, tmp_path / "theirs", header)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.parametrize("text", [False, True])
def test_a_large_file_is_mapped_and_gives_the_same_signals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bool
) -> None:
    made = signals(np.array([f"n{k:02d}" for k in range(50)]) if text else None)
    path = made.save(tmp_path / "signals.safetensors")
    small = wn.Signals.load(path)
    monkeypatch.setattr(mapped_tensors, "MAPPED", 1)
    large = wn.Signals.load(path)
    assert not is_mapped(small.losses)
    assert is_mapped(large.losses)
    assert is_mapped(large.embeddings)
    assert large.fingerprint == small.fingerprint == made.fingerprint
    assert large.entries()["epochs"] == small.entries()["epochs"]
    assert wn.score("difficulty", large).values.tolist() == wn.score("difficulty", small).values.tolist()
    again = large.save(tmp_path / "again.safetensors")
    assert again.read_bytes() == path.read_bytes()


def test_a_file_that_is_replaced_leaves_the_map_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_tensors, "MAPPED", 1)
    path = signals().save(tmp_path / "signals.safetensors")
    held = wn.Signals.load(path)
    before = held.losses.copy()
    signals(n=20).save(path)
    np.testing.assert_array_equal(held.losses, before)
    assert len(wn.Signals.load(path)) == 20


@pytest.mark.parametrize("cut", [4, 100, -3])
def test_a_damaged_large_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    path = signals().save(tmp_path / "signals.safetensors")
    path.write_bytes(path.read_bytes()[:cut])
    monkeypatch.setattr(mapped_tensors, "MAPPED", 1)
    with pytest.raises(StoreError, match="expected 'signals'"):
        wn.Signals.load(path)


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = signals().save(tmp_path / "signals.safetensors")
    found = bytearray(path.read_bytes())
    place = found.index(signals().embeddings.tobytes())
    found[place : place + 8] = np.float64("nan").tobytes()
    path.write_bytes(found)
    monkeypatch.setattr(mapped_tensors, "MAPPED", 1)
    with pytest.raises((InputError, StoreError), match="finite"):
        wn.Signals.load(path)
