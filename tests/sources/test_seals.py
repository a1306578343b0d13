"""Content decides: what changes in the data changes the fingerprint, whatever the ids, and nothing else does."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

import winnow as wn
from winnow.core.errors import DataError
from winnow.sources import seals

ROWS = 12
Rows = list[tuple[str, Any, str]]  # id, content, label


def image_of(value: int) -> Image.Image:
    return Image.fromarray(np.full((4, 4), 10 + value, dtype=np.uint8))


def encoded(value: int) -> bytes:
    import io

    file = io.BytesIO()
    image_of(value).save(file, "png")
    return file.getvalue()


def numbers(rows: Rows, place: Path) -> wn.Source:
    table = {"id": [r[0] for r in rows], "x": [float(r[1]) for r in rows], "label": [r[2] for r in rows]}
    pq.write_table(pa.table(table), place / "data.parquet")
    return wn.open(place / "data.parquet")


def pictures(rows: Rows, place: Path) -> wn.Source:
    images = [{"bytes": encoded(r[1]), "path": None} for r in rows]
    table = {"id": [r[0] for r in rows], "image": images, "label": [r[2] for r in rows]}
    pq.write_table(pa.table(table), place / "data.parquet")
    return wn.open(place / "data.parquet")


def csv(rows: Rows, place: Path) -> wn.Source:
    lines = ["id,x,label", *(f"{name},{value},{label}" for name, value, label in rows)]
    (place / "data.csv").write_text("\n".join(lines) + "\n")
    return wn.open(place / "data.csv")


def jsonl(rows: Rows, place: Path) -> wn.Source:
    lines = [f'{{"id": "{name}", "text": "word{value} again", "label": "{label}"}}' for name, value, label in rows]
    (place / "data.jsonl").write_text("\n".join(lines) + "\n")
    return wn.open(place / "data.jsonl")


def folder(rows: Rows, place: Path) -> wn.Source:
    return wn.open(_filled(rows, place / "photos", ".bmp", lambda value, file: image_of(value).save(file)))


def texts(rows: Rows, place: Path) -> wn.Source:
    return wn.open(_filled(rows, place / "texts", ".txt", lambda value, file: file.write_text(f"word{value:02} again")))


def _filled(rows: Rows, root: Path, ending: str, write: Callable[[Any, Path], Any]) -> Path:
    for name, value, label in rows:
        file = root / label / f"{name}{ending}"
        file.parent.mkdir(parents=True, exist_ok=True)
        write(value, file)
    for file in root.rglob(f"*{ending}"):
        if (file.stem, file.parent.name) not in {(name, label) for name, _, label in rows}:
            file.unlink()
    return root


def hf(rows: Rows, place: Path) -> wn.Source:
    import datasets

    table = {"id": [r[0] for r in rows], "x": [float(r[1]) for r in rows], "label": [r[2] for r in rows]}
    return wn.open(datasets.Dataset.from_dict(table))


def arrays(rows: Rows, place: Path) -> wn.Source:
    x = np.array([[float(r[1]), 1.0] for r in rows])
    return wn.open((x, [r[2] for r in rows]), ids=[r[0] for r in rows])


class Pairs(torch.utils.data.Dataset):
    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, position: int) -> tuple[torch.Tensor, int]:
        return torch.full((3,), float(self.rows[position][1])), "ab".index(self.rows[position][2])


def items(rows: Rows, place: Path) -> wn.Source:
    return wn.open(Pairs(rows))


KINDS = [numbers, pictures, csv, jsonl, folder, texts, hf, arrays, items]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    return place


@pytest.fixture
def rows() -> Rows:
    return [(f"e{i:02}", i, "ab"[i % 2]) for i in range(ROWS)]


def changed(rows: Rows, how: str) -> Rows:
    new = list(rows)
    if how == "feature":
        new[5] = (new[5][0], new[5][1] + 1, new[5][2])
    elif how == "label":
        new[5] = (new[5][0], new[5][1], "ab".replace(new[5][2], ""))
    elif how == "added":
        new.append(("e99", 40, "a"))
    elif how == "removed":
        new.pop(5)
    elif how == "shuffled":
        new = [new[k] for k in np.random.default_rng(0).permutation(len(new))]
    return new


@pytest.mark.parametrize("how", ["feature", "label", "added", "removed", "same", "shuffled"])
@pytest.mark.parametrize("opened", KINDS, ids=lambda kind: kind.__name__)
def test_what_changes_in_the_data_changes_the_fingerprint(
    opened: Callable[[Rows, Path], wn.Source], how: str, rows: Rows, tmp_path: Path
) -> None:
    before = opened(rows, tmp_path).fingerprint
    after = opened(changed(rows, how), tmp_path).fingerprint
    same = how == "same" or (how == "shuffled" and opened is not items)  # positions are the ids of a torch data set
    assert (before == after) == same


def aged(path: Path, seconds: float) -> None:
    for file in [path, *path.rglob("*")] if path.is_dir() else [path]:
        os.utime(file, ns=(int(1.7e18 + 1e9 * seconds),) * 2)


@pytest.mark.parametrize(
    ("opened", "name"), [(numbers, "data.parquet"), (pictures, "data.parquet"), (folder, "photos")]
)
def test_unchanged_files_are_not_read_again_and_touched_ones_are(
    opened: Callable[[Rows, Path], wn.Source], name: str, rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    read = seals.ContentSeal._read
    monkeypatch.setattr(seals.ContentSeal, "_read", lambda *a: reads.append(1) or read(*a))
    opened(rows, tmp_path)
    aged(tmp_path / name, 0)
    first = wn.open(tmp_path / name).fingerprint
    assert wn.open(tmp_path / name).fingerprint == first
    assert len(reads) == 1
    aged(tmp_path / name, 5)  # touched: read again, and the same
    assert wn.open(tmp_path / name).fingerprint == first
    assert len(reads) == 2


def test_a_file_changed_just_now_is_not_taken_from_the_cache(rows: Rows, tmp_path: Path, cache: Path) -> None:
    numbers(rows, tmp_path).fingerprint  # noqa: B018
    assert not list(cache.rglob("*")) or not any(item.is_file() for item in cache.rglob("*"))


def test_a_damaged_cache_is_not_believed(rows: Rows, tmp_path: Path, cache: Path) -> None:
    numbers(rows, tmp_path)
    aged(tmp_path / "data.parquet", 0)
    first = wn.open(tmp_path / "data.parquet").fingerprint
    (kept,) = (item for item in cache.rglob("*") if item.is_file())
    kept.write_bytes(b"\xff\xfe not a digest")
    assert wn.open(tmp_path / "data.parquet").fingerprint == first


def test_trusted_names_read_nothing_and_are_recorded(
    rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers(rows, tmp_path)
    monkeypatch.setattr(seals.ContentSeal, "_read", None)
    source = wn.open(tmp_path / "data.parquet", trust_names=True)
    assert source.fingerprint
    assert source.provenance["origin"]["trusted"] == "names"


def test_parts_of_a_source_share_its_seal(rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    read = seals.ContentSeal._read
    monkeypatch.setattr(seals.ContentSeal, "_read", lambda *a: reads.append(1) or read(*a))
    source = numbers(rows, tmp_path)
    assert source.at(np.arange(4)).fingerprint != source.at(np.arange(5)).fingerprint
    assert len(reads) == 1


@pytest.mark.parametrize("path", ["/etc/hostname", "../secret.png", "a\0b.png"])
def test_a_row_that_names_a_file_outside_is_refused(path: str, tmp_path: Path) -> None:
    image_of(1).save(tmp_path / "secret.png")
    (tmp_path / "in").mkdir()
    table = pa.table({"image": [{"bytes": None, "path": path}] * 2, "label": [0, 1]})
    pq.write_table(table, tmp_path / "in" / "data.parquet")
    with pytest.raises(DataError, match=r"outside the folder of the data"):
        wn.open(tmp_path / "in" / "data.parquet").fetch(0)
