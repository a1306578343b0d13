"""Out again: what a subset keeps, in the format the data came in and in the user's own objects."""

from __future__ import annotations

import csv
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import winnow as wn
from tests.sources.writers import hub_parquet, image_folder, pictures, png
from winnow.artefacts.soft_labels import SoftLabels
from winnow.core.errors import InputError, NotFoundError, StoreError

N = 30


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "code": [f"{k:03}" for k in range(N)],  # leading zeros, which a reader of numbers would lose
            "a": rng.normal(size=N).round(3),
            "b": rng.integers(0, 9, N),
            "day": pd.date_range("2024-01-01", periods=N).astype(str),
            "label": np.where(np.arange(N) % 2 == 0, "no", "yes"),
        }
    )


def kept(source: wn.Source, weighted: bool = False, soft: bool = False) -> wn.Subset:
    """Every third example, with provenance, as a selector gives it."""
    chosen = wn.select("random", wn.Scores("none", source.ids, np.zeros(len(source)), None, "unlabelled"), size=10)
    ids = np.sort(source.ids[::3])
    targets = SoftLabels(ids, np.tile(np.float32([0.25, 0.75]), (ids.size, 1)), ("no", "yes")) if soft else None
    return wn.Subset(
        ids,
        weights=np.arange(1.0, 1 + ids.size) if weighted else None,
        provenance={**chosen.provenance, "inputs": {"source": source.provenance}},
        targets=targets,
    )


COLUMNS = ["a", "b"]


def tables(folder: Path) -> dict[str, Any]:
    """The same table in every form."""
    given = frame()
    given.to_csv(folder / "rows.csv", index=False)
    given.to_csv(folder / "rows.tsv", index=False, sep="\t")
    given.to_csv(folder / "rows.csv.gz", index=False)
    given.to_csv(folder / "semi.csv", index=False, sep=";")
    given.to_json(folder / "rows.jsonl", orient="records", lines=True)
    given.to_parquet(folder / "rows.parquet", index=False, row_group_size=7)
    datasets.Dataset.from_pandas(given).save_to_disk(str(folder / "saved"))
    return {
        **{name: folder / name for name in ("rows.csv", "rows.tsv", "rows.csv.gz", "semi.csv", "rows.jsonl")},
        **{name: folder / name for name in ("rows.parquet", "saved")},
        "pandas": given,
        "polars": pl.from_pandas(given),
        "arrow": pa.Table.from_pandas(given),
        "hf": datasets.Dataset.from_pandas(given),
    }


@pytest.mark.parametrize("kind", ["rows.csv", "rows.tsv", "rows.csv.gz", "semi.csv", "rows.jsonl", "rows.parquet"])
def test_a_table_file_comes_out_with_every_column_and_the_same_ids(kind: str, tmp_path: Path) -> None:
    what = tables(tmp_path)[kind]
    source = wn.open(what, columns=COLUMNS)
    subset = kept(source, weighted=True, soft=True)
    path = subset.export(tmp_path / f"out-{kind}")
    again = wn.open(path, columns=COLUMNS)
    assert again.ids.tolist() == source.ids[::3].tolist()  # the rows, in the order of the file
    assert again.classes == ("no", "yes")
    flat = kind not in ("rows.jsonl", "rows.parquet")
    read = {
        "rows.jsonl": lambda: pd.read_json(path, lines=True, dtype=False),
        "rows.parquet": lambda: pd.read_parquet(path),
        "semi.csv": lambda: pd.read_csv(path, dtype={"code": str}, sep=";"),
        "rows.tsv": lambda: pd.read_csv(path, dtype={"code": str}, sep="\t"),
    }.get(kind, lambda: pd.read_csv(path, dtype={"code": str}))()
    soft = ["winnow_soft_no", "winnow_soft_yes"] if flat else ["winnow_soft"]
    assert read.columns.tolist() == [*frame().columns, "winnow_weight", *soft]
    pd.testing.assert_frame_equal(read[frame().columns], frame()[::3].reset_index(drop=True), check_dtype=False)
    assert read["winnow_weight"].tolist() == subset.weights[np.argsort(np.argsort(source.ids[::3]))].tolist()
    assert (
        (read["winnow_soft_yes"] == 0.75).all()
        if flat
        else read["winnow_soft"].map(list).tolist() == [[0.25, 0.75]] * 10
    )


def test_lines_of_text_stay_as_they_are_written(tmp_path: Path) -> None:
    lines = [f'{{"a":1.{k}0,  "b": {k}, "note": "ä {k}", "label": {k % 2}}}' for k in range(N)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    source = wn.open(tmp_path / "rows.jsonl", columns=COLUMNS)
    path = kept(source).export(tmp_path / "out.jsonl")
    assert path.read_text(encoding="utf-8").splitlines() == lines[::3]
    weighted = kept(source, weighted=True).export(tmp_path / "weighted.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(line.startswith(old[:-1]) for line, old in zip(weighted, lines[::3], strict=True))
    assert {json.loads(line)["winnow_weight"] for line in weighted} == set(range(1, 11))


def test_parquet_keeps_its_schema_and_exported_columns_are_no_features(tmp_path: Path) -> None:
    table = pa.table(
        {"x": pa.array(np.arange(N), pa.int16()), "when": pa.array([None] * N, pa.date32()), "y": np.arange(N) % 2}
    ).replace_schema_metadata({"owner": "me"})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=4)
    source = wn.open(tmp_path / "rows.parquet", columns="x")
    path = kept(source, weighted=True).export(tmp_path / "out.parquet")
    schema = pq.read_schema(path)
    assert schema.metadata[b"owner"] == b"me"
    assert [schema.field(k) for k in range(3)] == [table.schema.field(k) for k in range(3)]
    assert schema.names[3:] == ["winnow_weight"]
    numbers = pq.read_table(path).select(["x", "y", "winnow_weight"])
    pq.write_table(numbers, tmp_path / "numbers.parquet")
    assert wn.open(tmp_path / "numbers.parquet").columns == ("x",)
    again = wn.Subset(wn.open(path, columns="x").ids[:3]).export(tmp_path / "third.parquet", path, columns="x")
    assert pq.read_schema(again).names == ["x", "when", "y"]  # an old weight is not handed on


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "hf"])
def test_frames_are_filtered_and_returned_in_their_own_kind(kind: str, tmp_path: Path) -> None:
    given = tables(tmp_path)
    source = wn.open(given["rows.csv"], columns=COLUMNS)  # chosen from a file, found in an object
    subset = kept(source, weighted=True)
    what = given[kind]
    assert np.sort(subset.indices(what)).tolist() == list(range(0, N, 3))
    assert source.ids[subset.indices(what)].tolist() == subset.ids.tolist()
    part = subset.filter(what)
    assert type(part) is type(what)
    assert len(part) == 10
    shown = part.to_pandas() if hasattr(part, "to_pandas") else part
    assert shown["code"].tolist() == frame()["code"][::3].tolist()
    out = subset.export(None, what)
    assert type(out) is type(what)
    shown = out.to_pandas() if hasattr(out, "to_pandas") else out
    assert sorted(shown["winnow_weight"]) == list(range(1, 11))
    for ending in ("csv", "parquet", "jsonl"):
        again = wn.open(subset.export(tmp_path / f"out.{ending}", what), columns=COLUMNS)
        assert again.ids.tolist() == source.ids[::3].tolist()


def test_hf_datasets_on_disk_and_with_splits(tmp_path: Path) -> None:
    given = tables(tmp_path)
    source = wn.open(given["saved"], columns=COLUMNS)
    path = kept(source, weighted=True, soft=True).export(tmp_path / "out")
    found = datasets.load_from_disk(str(path))
    assert found.column_names == [*frame().columns, "winnow_weight", "winnow_soft"]
    assert found["code"][:] == frame()["code"][::3].tolist()
    both = datasets.DatasetDict(train=given["hf"], test=given["hf"].select(range(5)))
    both.save_to_disk(str(tmp_path / "both"))
    source = wn.open(tmp_path / "both", columns=COLUMNS)
    assert len(datasets.load_from_disk(str(kept(source).export(tmp_path / "train")))) == 10
    with pytest.raises(InputError, match="one split"):
        kept(source).filter(both)


def test_text_lists_and_arrays_and_torch_datasets_are_filtered() -> None:
    texts = [f"sentence number {k}" for k in range(N)]
    source = wn.open((texts, np.arange(N) % 2))
    assert kept(source).filter(texts) == texts[::3]
    x, y = np.random.default_rng(0).normal(size=(N, 3)), np.arange(N) % 2
    subset = kept(wn.open((x, y)))
    found_x, found_y = subset.filter((x, y))
    assert (found_x == x[::3]).all()
    assert (found_y == y[::3]).all()
    assert torch.equal(subset.filter(torch.tensor(x)), torch.tensor(x[::3]))
    own = torch.utils.data.TensorDataset(torch.tensor(x), torch.tensor(y))
    part = kept(wn.open(own)).filter(own)
    assert isinstance(part, torch.utils.data.Subset)
    assert part.indices == list(range(0, N, 3))
    shuffled = np.random.default_rng(1).permutation(N)
    moved = subset.indices((x[shuffled], y[shuffled]))
    assert np.sort(shuffled[moved]).tolist() == list(range(0, N, 3))


def test_ids_given_as_the_index_of_a_frame_are_found_there() -> None:
    given = frame().set_index("code")[["a", "b", "label"]]
    subset = kept(wn.open(given, ids=given.index.to_numpy()))
    assert subset.filter(given[::-1]).index.tolist() == sorted(given.index[::3], reverse=True)


@pytest.mark.parametrize("copy", [False, True])
def test_a_folder_of_images_is_linked_or_copied_with_its_classes(copy: bool, tmp_path: Path) -> None:
    for split in ("train", "test"):
        image_folder(tmp_path / "photos" / split, {"cat": pictures(9), "dog": pictures(6, seed=1)})
    source = wn.open(tmp_path / "photos")
    subset = kept(source, weighted=True)
    path = subset.export(tmp_path / "out", copy=copy)
    again = wn.open(path)
    assert again.ids.tolist() == source.ids[::3].tolist()
    assert (again.fetch(again.ids) == source.fetch(again.ids)).all()
    first = path / str(subset.ids[0])
    assert first.samefile(tmp_path / "photos" / str(subset.ids[0])) is not copy
    rows = list(csv.DictReader((path / "winnow.csv").read_text().splitlines()))
    assert [row["path"] for row in rows] == again.ids.tolist()
    assert {float(row["winnow_weight"]) for row in rows} == {1.0, 2.0, 3.0, 4.0, 5.0}


def test_a_folder_of_texts_stays_one_with_its_side_file(tmp_path: Path) -> None:
    for k in range(N):
        file = tmp_path / "texts" / ("yes" if k % 2 else "no") / f"{k:02}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"text {k}")
    source = wn.open(tmp_path / "texts")
    again = wn.open(kept(source, soft=True).export(tmp_path / "out"))
    assert again.kind == "text"
    assert again.ids.tolist() == source.ids[::3].tolist()


def test_images_of_a_column_keep_their_bytes_or_become_files(tmp_path: Path) -> None:
    images = [png(image) for image in pictures(N)]
    source = wn.open(hub_parquet(tmp_path / "img.parquet", images, [k % 2 for k in range(N)]))
    path = kept(source).export(tmp_path / "out.parquet")
    assert [row["bytes"] for row in pq.read_table(path)["img"].to_pylist()] == images[::3]
    folder = wn.open(kept(source).export(tmp_path / "files", format="folder"))
    assert len(folder) == 10
    assert {row.tobytes() for row in folder.fetch(folder.ids)} == {
        row.tobytes() for row in source.read(np.arange(0, N, 3))
    }


def test_tars_hold_a_key_per_example_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    image_folder(tmp_path / "photos", {"cat": pictures(9), "dog": pictures(6, seed=1)})
    source = wn.open(tmp_path / "photos")
    subset = kept(source, weighted=True)
    first, second = (subset.export(tmp_path / name) for name in ("a.tar", "b.tar"))
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        names = tar.getnames()
        label = tar.extractfile("cat/0.cls")
        assert label is not None
        assert label.read() == b"0"
    assert names[:3] == ["cat/0.png", "cat/0.cls", "cat/0.winnow.json"]
    assert len(names) == 3 * len(subset)


def test_arrays_come_out_under_their_own_keys(tmp_path: Path) -> None:
    x, y = np.random.default_rng(0).normal(size=(N, 3)), np.arange(N) % 2
    np.savez(tmp_path / "a.npz", x_train=x, y_train=y, x_test=x[:4], y_test=y[:4], names=np.array(["p", "q"]))
    source = wn.open(tmp_path / "a.npz")
    subset = kept(source, weighted=True, soft=True)
    with np.load(subset.export(tmp_path / "out.npz")) as found:
        assert (found["x_train"] == x[::3]).all()
        assert found["x_train"].dtype == np.float64
        assert set(found) == {"x_train", "y_train", "names", "winnow_weight", "winnow_soft", "winnow_classes"}
        assert found["winnow_classes"].tolist() == ["no", "yes"]
    assert wn.open(tmp_path / "out.npz").ids.tolist() == source.ids[::3].tolist()
    np.save(tmp_path / "b.npy", x)
    alone = wn.open(tmp_path / "b.npy")
    assert (np.load(kept(alone).export(tmp_path / "out.npy")) == x[::3]).all()
    digits = wn.open("digits")
    again = wn.open(kept(digits).export(tmp_path / "digits.npz"))
    assert again.classes == tuple(sorted(set(again.classes)))
    assert (again.read(np.arange(len(again))) == digits.read(np.arange(len(digits)))[::3]).all()


def test_a_part_of_a_file_is_found_in_the_whole_file(tmp_path: Path) -> None:
    what = tables(tmp_path)["rows.csv"]
    part = wn.open(what, columns=COLUMNS, limit=12)
    subset = kept(part)
    assert len(wn.open(subset.export(tmp_path / "out.csv", part), columns=COLUMNS)) == 4
    assert len(subset.filter(pd.read_csv(what))) == 4


def test_what_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image_folder(tmp_path / "photos", {"cat": pictures(9), "dog": pictures(6, seed=1)})
    subset = kept(wn.open(tmp_path / "photos"))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("winnow.sources.exported_files._link", full)
    with pytest.raises(OSError, match="No space"):
        subset.export(tmp_path / "out")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["photos"]


REFUSED: dict[str, tuple[Callable[[wn.Subset, Path], Any], type[Exception], str]] = {
    "no ending": (lambda s, p: s.export(p / "out"), InputError, "must end in .csv"),
    "an unknown format": (lambda s, p: s.export(p / "out", format="xls"), LookupError, "unknown format"),
    "the data themselves": (lambda s, p: s.export(p / "rows.csv"), InputError, "must not be the data themselves"),
    "a folder for a table": (lambda s, p: s.export(p / "out", format="folder"), InputError, "a folder is for images"),
    "no path": (lambda s, p: s.export(None), InputError, "path of Subset.export must be given"),
    "something for copy": (lambda s, p: s.export(p / "o.csv", copy="yes"), InputError, "copy of Subset.export"),  # type: ignore[arg-type]
    "labels in npy": (lambda s, p: s.export(p / "o.npy"), InputError, "must end in .npz to hold labels"),
    "other data": (lambda s, p: s.filter(frame()[1::3]), InputError, "must hold every kept example"),
    "a folder with files": (lambda s, p: s.export(p, format="hf"), (StoreError, InputError), "not an empty folder"),
    "data in memory": (lambda s, p: wn.Subset(s.ids).export(p / "o.csv"), InputError, "data in memory"),
    "data that are gone": (
        lambda s, p: ((p / "rows.csv").unlink(), s.export(p / "o.csv")),
        NotFoundError,
        "no file or folder",
    ),
    "a path to filter": (lambda s, p: s.filter(p / "rows.csv"), InputError, "an object in memory"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str, tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "rows.csv", index=False)
    subset = kept(wn.open(tmp_path / "rows.csv", columns=COLUMNS))
    act, kind, said = REFUSED[case]
    with pytest.raises(kind, match=said):
        act(subset, tmp_path)


def test_other_data_than_the_subset_was_chosen_from_are_named_so(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("x,churned\n" + "".join(f"{k}.5,{k % 2}\n" for k in range(20)))
    (tmp_path / "other.csv").write_text("x,bought\n" + "".join(f"{k}.5,{k % 2}\n" for k in range(20)))
    subset = wn.prune(str(tmp_path / "rows.csv"), keep=0.5, method="random", labels="churned")
    with pytest.raises(InputError, match=r"the subset was not chosen from these data, .*'churned'"):
        subset.export(tmp_path / "kept.csv", str(tmp_path / "other.csv"))
