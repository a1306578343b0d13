"""Scores and subsets as folders of parquet files: written as parts, read in one call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from winnow.artefacts import scores, subset
from winnow.core.errors import StoreError


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, kind in ((scores, wn.Scores), (subset, wn.Subset)):
        monkeypatch.setattr(kind, "layout", replace(module.LAYOUT, shard=30))


def made(kind: str, start: int = 0, stop: int = 100, **others: object) -> wn.Scores:
    ids = np.arange(start, stop) if kind == "i" else np.array([f"example {k}" for k in range(start, stop)])
    about: dict = {"task": "classification", "classes": ("a", "b"), "provenance": {"step": f"from {start}"}, **others}
    return wn.Scores("mine", ids, np.sqrt(np.arange(start, stop)), labels=np.arange(start, stop) % 2, **about)


@pytest.mark.parametrize("kind", ["i", "U"])
@pytest.mark.parametrize("there", [False, True])
def test_scores_come_back_from_a_folder(kind: str, there: bool, tmp_path: Path) -> None:
    one, folder = made(kind, reliability=0.5), tmp_path / "scores"
    if there:
        folder.mkdir()
    one.save(folder if there else f"{folder}/")
    assert sorted(file.name for file in folder.iterdir()) == [f"{k:05d}.parquet" for k in range(4)]
    back = wn.Scores.load(folder)
    assert back.fingerprint == one.fingerprint
    assert back.labels is not None
    assert back.labels.tolist() == one.labels.tolist()  # type: ignore[union-attr]
    assert (back.reliability, back.classes, dict(back.provenance)) == (0.5, one.classes, dict(one.provenance))
    assert wn.select("rank", folder, keep=0.2).fingerprint == wn.select("rank", one, keep=0.2).fingerprint


def test_a_subset_with_soft_targets_comes_back_from_a_folder(tmp_path: Path) -> None:
    ids, chance = np.arange(70), np.linspace(0, 1, 70, dtype=np.float32)
    soft = wn.relabel.SoftLabels(ids, np.stack([chance, 1 - chance], axis=1), ("a", "b"), weight=0.6)
    one = wn.Subset(ids, np.linspace(1, 2, 70), {"kept": 70}, targets=soft)
    one.save(f"{tmp_path}/subset/")
    assert len(list((tmp_path / "subset").iterdir())) == 3
    back = wn.Subset.load(tmp_path / "subset")
    assert back.fingerprint == one.fingerprint
    assert back.certificate == {"kept": 70}


def test_parts_made_one_by_one_are_read_as_one(tmp_path: Path) -> None:
    parts = [made("i", 0, 40, reliability=0.5), made("i", 40, 100, reliability=0.7)]
    for number, part in enumerate(parts):
        part.save(tmp_path / f"{number:05d}.parquet")
    back = wn.Scores.load(tmp_path)
    assert back.fingerprint == made("i").fingerprint
    assert back.reliability is None
    assert [one["step"] for one in back.provenance["inputs"]] == ["from 0", "from 40"]


def test_parts_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    made("i", 0, 40).save(tmp_path / "0.parquet")
    made("i", 40, 80, classes=("a", "c")).save(tmp_path / "1.parquet")
    with pytest.raises(StoreError, match=r"another classes in 1\.parquet than in 0\.parquet"):
        wn.Scores.load(tmp_path)
    wn.Scores("mine", [90], [1.0], task="classification", classes=("a", "b")).save(tmp_path / "1.parquet")
    with pytest.raises(StoreError, match=r"other columns in 1\.parquet"):
        wn.Scores.load(tmp_path)


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(StoreError, match="not an empty folder"):
        made("i").save(tmp_path)
    with pytest.raises(StoreError, match="a folder without parquet files"):
        wn.Scores.load(tmp_path)
    with pytest.raises(StoreError, match="cannot write"):
        made("i").save(f"{tmp_path}/mine.txt/")
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
