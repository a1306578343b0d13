"""Leaks: by content and never by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import winnow as wn
from tests.checking.small import images, jpeg, named, table
from winnow.checking.leaks import leaks
from winnow.core.errors import InputError
from winnow.evaluation.test_sets import overlap


def folder(path: Path, values: np.ndarray) -> wn.Source:
    for place, one in enumerate(values):
        file = path / "class" / f"{place:04d}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(one[0]).save(file)
    return wn.open(path, task="unlabelled")


def test_renamed_copies_are_found_and_equal_names_are_no_leak(tmp_path: Path) -> None:
    x = images(200)
    train = folder(tmp_path / "train", x[:120])
    test = folder(tmp_path / "test", np.concatenate([x[120:150], x[:50][::-1]]))
    assert np.isin(test.ids, train.ids).all()
    found = leaks(train, test)
    assert [one.id for one in found] == [f"class/{place:04d}.png" for place in range(50)]
    assert [one.other for one in found] == [f"class/{79 - place:04d}.png" for place in range(50)]
    assert all(one.kind == "leak" and one.flagged and one.probability == 1 for one in found)
    assert overlap(train, test) == 50
    assert leaks(train, folder(tmp_path / "new", x[150:])) == []
    assert overlap(train, folder(tmp_path / "newer", x[150:])) == 0


def test_near_copies_leak_too_and_other_labels_are_said() -> None:
    x = images(200)
    train = named(x[:100], ["a", "b"] * 50)
    test = named(np.concatenate([x[100:], np.stack([jpeg(x[3]), x[4]])]), ["b"] * 99 + ["a"] * 3)
    found = leaks(train, test)
    assert [(one.id, one.other) for one in found] == [("e00003", "e00100"), ("e00004", "e00101")]
    assert "correlation" in found[0].evidence
    assert "there it has the label a" in found[0].evidence
    assert "the same content" in found[1].evidence
    assert "label" not in found[1].evidence


def test_all_training_copies_of_a_leak_are_found() -> None:
    x = images(100)
    train = named(np.concatenate([x[:50], x[:1], x[1:2]]))
    found = leaks(train, named(np.concatenate([x[50:], x[:1], jpeg(x[1])[None]]), prefix="t"))
    assert [(one.id, one.other) for one in found] == [
        ("e00000", "t00050"),
        ("e00001", "t00051"),
        ("e00050", "t00050"),
        ("e00051", "t00051"),
    ]


def test_rows_of_tables() -> None:
    x = table(400)
    noisy = (x[5:6] + 0.005 * x.std(axis=0)).astype(np.float32)
    found = leaks(named(x[:300]), named(np.concatenate([x[300:], x[:1], noisy]), prefix="t"))
    assert [(one.id, one.other) for one in found] == [("e00000", "t00100"), ("e00005", "t00101")]
    few = np.random.default_rng(0).integers(0, 2, size=(400, 4)).astype(np.float32)
    assert leaks(named(few[:300]), named(few[300:])) == []  # equal by chance


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"examples of shape \(8,\)"):
        leaks(named(table(30)), named(table(30, width=7)))
    with pytest.raises(InputError, match="or of neither"):
        leaks(named(table(30)), named(table(30, seed=1)), np.zeros((30, 2)))
    assert overlap(named(table(30)), named(table(30, width=7))) == 0
