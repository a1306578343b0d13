"""The whole matrix: each kind of source, changed in each way, gives a fresh result or the one of before.

A result is a training in a run directory. The fingerprints alone are in test_seals.py.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import winnow as wn
from tests.sources import test_seals as core
from tests.sources.test_seals import Rows, changed, encoded, image_of

WAYS = ("feature", "label", "added", "removed", "touched", "shuffled")
TEXTS = ("jsonl", "texts", "text_parquet", "lists_of_texts")


def table_of(rows: Rows) -> dict[str, list[object]]:
    return {"id": [r[0] for r in rows], "x": [float(r[1]) for r in rows], "label": [r[2] for r in rows]}


def row_groups(rows: Rows, place: Path) -> wn.Source:
    pq.write_table(pa.table(table_of(rows)), place / "data.parquet", row_group_size=5)
    return wn.open(place / "data.parquet")


def shards(rows: Rows, place: Path) -> wn.Source:
    (place / "shards").mkdir(exist_ok=True)
    for k in range(2):
        pq.write_table(pa.table(table_of(rows[k::2])), place / "shards" / f"part-{k}.parquet")
    return wn.open(place / "shards")


def mixed_csv(rows: Rows, place: Path) -> wn.Source:
    lines = ["id,x,colour,label", *(f"{name},{value},{'rgb'[value % 3]},{label}" for name, value, label in rows)]
    (place / "data.csv").write_text("\n".join(lines) + "\n")
    return wn.open(place / "data.csv")


def zipped_tsv(rows: Rows, place: Path) -> wn.Source:
    lines = ["id\tx\tlabel", *(f"{name}\t{value}\t{label}" for name, value, label in rows)]
    with gzip.open(place / "data.tsv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    return wn.open(place / "data.tsv.gz")


def jsonl_numbers(rows: Rows, place: Path) -> wn.Source:
    lines = [json.dumps({"id": name, "x": float(value), "label": label}) for name, value, label in rows]
    (place / "data.jsonl").write_text("\n".join(lines) + "\n")
    return wn.open(place / "data.jsonl")


def npz(rows: Rows, place: Path) -> wn.Source:
    x = np.array([[float(r[1]), 1.0] for r in rows])
    np.savez(place / "data.npz", x=x, y=np.array([r[2] for r in rows]))
    return wn.open(place / "data.npz")  # ids are made from the content


def tar(rows: Rows, place: Path) -> wn.Source:
    with tarfile.open(place / "data.tar", "w") as file:
        for name, value, label in rows:
            for ending, content in ((".png", encoded(value)), (".cls", str("ab".index(label)).encode())):
                about = tarfile.TarInfo(f"{name}{ending}")
                about.size = len(content)
                file.addfile(about, io.BytesIO(content))
    return wn.open(place / "data.tar")


def text_parquet(rows: Rows, place: Path) -> wn.Source:
    table = {"id": [r[0] for r in rows], "text": [f"word{r[1]} again" for r in rows], "label": [r[2] for r in rows]}
    pq.write_table(pa.table(table), place / "data.parquet")
    return wn.open(place / "data.parquet")


def lists_of_texts(rows: Rows, place: Path) -> wn.Source:
    return wn.open(([f"word{r[1]} again" for r in rows], [r[2] for r in rows]), ids=[r[0] for r in rows])


def pandas_frame(rows: Rows, place: Path) -> wn.Source:
    import pandas

    return wn.open(pandas.DataFrame(table_of(rows)))


def polars_frame(rows: Rows, place: Path) -> wn.Source:
    import polars

    return wn.open(polars.DataFrame(table_of(rows)))


def hf_images(rows: Rows, place: Path) -> wn.Source:
    import datasets

    table = {"id": [r[0] for r in rows], "image": [image_of(r[1]) for r in rows], "label": [r[2] for r in rows]}
    return wn.open(datasets.Dataset.from_dict(table))


def hf_on_disk(rows: Rows, place: Path) -> wn.Source:
    import shutil

    import datasets

    shutil.rmtree(place / "saved", ignore_errors=True)
    datasets.Dataset.from_dict(table_of(rows)).save_to_disk(place / "saved")
    return wn.open(place / "saved")


def content_ids(rows: Rows, place: Path) -> wn.Source:
    return wn.open((np.array([[float(r[1]), 1.0] for r in rows]), [r[2] for r in rows]))


def tensors(rows: Rows, place: Path) -> wn.Source:
    x, y = torch.tensor([[float(r[1]), 1.0] for r in rows]), torch.tensor(["ab".index(r[2]) for r in rows])
    return wn.open(torch.utils.data.TensorDataset(x, y))


KINDS: list[Callable[[Rows, Path], wn.Source]] = [
    *core.KINDS,
    row_groups,
    shards,
    mixed_csv,
    zipped_tsv,
    jsonl_numbers,
    npz,
    tar,
    text_parquet,
    lists_of_texts,
    pandas_frame,
    polars_frame,
    hf_images,
    hf_on_disk,
    content_ids,
    tensors,
]
BY_POSITION = {"items", "tensors"}  # whose order is their identity


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def settled(place: Path, seconds: int) -> None:
    """Give all files a time in the past, so that what is kept about them may be believed."""
    for file in place.rglob("*"):
        if file.is_file():
            os.utime(file, ns=(int(1.7e18 + 1e9 * seconds),) * 2)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("opened", KINDS, ids=lambda kind: kind.__name__)
def test_a_fresh_result_or_the_one_of_before(
    opened: Callable[[Rows, Path], wn.Source], way: str, tmp_path: Path
) -> None:
    rows = [(f"e{i:02}", i, "ab"[i % 2]) for i in range(core.ROWS)]
    place, run = tmp_path / "data", tmp_path / "run"
    place.mkdir()
    model = "textbag" if opened.__name__ in TEXTS else "linear"

    def result(source: wn.Source) -> tuple[wn.Signals, int]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = wn.observe(source, model, wn.Recipe(epochs=1), out=run, engine=wn.Local(workers=1))
        return found, (run / "signals" / "seed-0.safetensors").stat().st_mtime_ns

    opened(rows, place)
    settled(place, 0)
    before, made = result(opened(rows, place))
    if way == "touched":
        settled(place, 60)
        after, again = result(opened(rows, place))
    else:
        after, again = result(opened(changed(rows, way), place))
        settled(place, 120)
    same = way == "touched" or (way == "shuffled" and opened.__name__ not in BY_POSITION)
    assert (again == made) == same
    if same:
        assert after.take(before.ids).fingerprint == before.fingerprint
