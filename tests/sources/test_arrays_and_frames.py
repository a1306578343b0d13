from __future__ import annotations

import gzip
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from winnow.artefacts.source import Source
from winnow.core.errors import NotFoundError
from winnow.sources.open import open as wn_open

from .writers import pictures

TABLE = {"a": [1.0, 2.5, 3.0, 4.0], "b": [1, 2, 3, 4], "c": [True, False, True, True]}


@pytest.mark.parametrize(
    ("values", "kind", "shape"),
    [
        (pictures(4, channels=1), "image", (1, 6, 5)),
        (pictures(4), "image", (3, 6, 5)),
        (pictures(4).transpose(0, 3, 1, 2), "image", (3, 6, 5)),
        (np.ones((4, 6, 5)), "tensor", (1, 6, 5)),
        (np.ones((4, 3, 6, 5), dtype=np.float16), "tensor", (3, 6, 5)),
        (np.ones((4, 7), dtype=np.int32), "table", (7,)),
        (np.arange(4), "table", (1,)),
        (torch.ones(4, 7, dtype=torch.bfloat16), "table", (7,)),
        ([[1, 2], [3, 4]], "table", (2,)),
    ],
)
def test_kind_and_shape_follow_the_array(values: object, kind: str, shape: tuple[int, ...]) -> None:
    source = wn_open(values)
    got = source.read(np.arange(len(source)))
    assert (source.kind, source.shape, source.task) == (kind, shape, "unlabelled")
    assert got.shape[1:] == shape
    assert got.dtype == (np.uint8 if kind == "image" else np.float32)


def test_channels_last_keeps_the_pixels() -> None:
    images = pictures(4)
    assert (wn_open(images).read(np.array([2]))[0] == images[2].transpose(2, 0, 1)).all()


@pytest.mark.parametrize(
    ("target", "task", "classes", "labels"),
    [
        ([3, 7, 3, 7], "classification", ("3", "7"), [0, 1, 0, 1]),
        ([10, 9, 9, 10], "classification", ("9", "10"), [1, 0, 0, 1]),
        (["10", "9", "9", "b"], "classification", ("10", "9", "b"), [0, 1, 1, 2]),
        ([True, False, True, True], "classification", ("False", "True"), [1, 0, 1, 1]),
        ([0.5, 1.0, 2.0, 3.0], "regression", (), [0.5, 1.0, 2.0, 3.0]),
        (None, "unlabelled", (), None),
    ],
)
def test_targets_decide_the_task(target: object, task: str, classes: tuple[str, ...], labels: object) -> None:
    source = wn_open((np.eye(4), target))
    assert (source.task, source.classes) == (task, classes)
    assert (source.labels is None and labels is None) or source.labels.tolist() == labels


def test_task_forces_the_reading_of_targets() -> None:
    assert wn_open((np.eye(4), [0.0, 1.0, 0.0, 1.0]), task="classification").classes == ("0", "1")
    assert wn_open((np.eye(4), [1, 2, 3, 4]), task="regression").labels.dtype == np.float64
    assert wn_open((np.eye(4), [1, 2, 3, 4]), task="unlabelled").labels is None


def test_classes_number_a_test_set_like_the_training_set() -> None:
    source = wn_open((np.eye(3), ["c", "c", "c"]), classes=("a", "b", "c"))
    assert source.labels.tolist() == [2, 2, 2]
    assert source.classes == ("a", "b", "c")


def test_content_ids_do_not_depend_on_order() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(20, 3))] * 2)
    y = np.arange(40) // 10  # equal rows differ in their label, which decides who is numbered first
    order = rng.permutation(40)
    one, other = wn_open((x, y)), wn_open((x[order], y[order]))
    assert (one.ids[order] == other.ids).all()
    assert one.fingerprint == other.fingerprint


def test_given_ids_seal_the_content() -> None:
    x, ids = np.eye(3), ["p", "q", "r"]
    changed = wn_open(2 * x, ids=ids)
    assert wn_open(x, ids=ids).fingerprint == wn_open(x[::-1], ids=ids[::-1]).fingerprint != changed.fingerprint
    assert wn_open(x, ids=ids).origin["ids"] == "given"


def test_size_resizes_images() -> None:
    source = wn_open(pictures(3), size=8)
    assert source.shape == (3, 8, 8) == source.read(np.array([0]))[0].shape


def test_a_source_is_returned_as_it_is() -> None:
    source = wn_open(np.eye(3))
    assert wn_open(source) is source
    with pytest.raises(NotFoundError):
        wn_open(source, split="test")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda data: pl.DataFrame(data).lazy()])
def test_every_kind_of_frame_means_the_same(make: object) -> None:
    source = wn_open(make({**TABLE, "Target": ["x", "y", "y", "x"], "id": [9, 8, 7, 6]}))
    assert source.columns == ("a", "b", "c")
    assert (source.ids.tolist(), source.classes, source.labels.tolist()) == ([9, 8, 7, 6], ("x", "y"), [0, 1, 1, 0])
    assert source.fetch([8]).tolist() == [[2.5, 2.0, 0.0]]
    assert (source.origin["labels"], source.origin["ids"]) == ("Target", "column id")


def test_frames_of_features_with_labels_beside_them() -> None:
    source = wn_open((pd.DataFrame(TABLE), pd.Series(["x", "y", "y", "x"], dtype="category")))
    assert source.classes == ("x", "y")
    assert source.kind == "table"


def test_columns_chooses_features_and_unlabelled_keeps_all() -> None:
    frame = pd.DataFrame({**TABLE, "y": [1, 2, 1, 2], "note": list("abcd")})
    assert wn_open(frame, columns=["b", "a"]).columns == ("b", "a")
    assert wn_open(frame.drop(columns="note"), task="unlabelled").columns == ("a", "b", "c", "y")
    assert wn_open(frame, columns=["a", "y"]).task == "unlabelled"
    assert wn_open(frame, ids="note").ids.tolist() == list("abcd")


def test_csv_is_read_like_a_frame(tmp_path: object) -> None:
    frame = pd.DataFrame({**TABLE, "label": ["x", "y", "y", "x"]})
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame.iloc[:2].to_csv(tmp_path / "test.csv", index=False, sep=";")
    (tmp_path / "z.csv.gz").write_bytes(gzip.compress((tmp_path / "train.csv").read_bytes()))
    whole = wn_open(frame)
    for path in (tmp_path / "train.csv", str(tmp_path / "z.csv.gz")):
        source = wn_open(path)
        assert source.fingerprint == whole.fingerprint
    (tmp_path / "z.csv.gz").unlink()
    assert len(wn_open(tmp_path)) == 4
    test = wn_open(tmp_path, split="test")
    assert (len(test), test.origin["split"]) == (2, "test")
    assert set(test.ids) < set(whole.ids)


def test_npz_understands_keys(tmp_path: object) -> None:
    x, y = pictures(6, channels=1), np.arange(6) % 2
    np.savez(tmp_path / "a.npz", X=x, y=y)
    np.savez(tmp_path / "b.npz", train_images=x, train_labels=y[:, None], test_images=x[:4], test_labels=y[:4])
    np.savez(tmp_path / "c.npz", data=x, other=y)
    np.save(tmp_path / "d.npy", x)
    assert wn_open(tmp_path / "a.npz").fingerprint == wn_open((x, y)).fingerprint
    assert len(wn_open(tmp_path / "b.npz")) == 6
    assert len(wn_open(tmp_path / "b.npz", split="test")) == 4
    assert wn_open(tmp_path / "c.npz").task == "unlabelled"
    assert wn_open(tmp_path / "c.npz", labels="other").task == "classification"
    assert wn_open(tmp_path / "d.npy").shape == (1, 6, 5)


def test_file_readers_pickle_without_the_data(tmp_path: object) -> None:
    np.savez(tmp_path / "a.npz", X=np.random.default_rng(0).normal(size=(5000, 20)))
    source = wn_open(tmp_path / "a.npz")
    sent = pickle.dumps(source)
    assert len(sent) < 5000
    back: Source = pickle.loads(sent)
    assert (back.read(np.arange(5)) == source.read(np.arange(5))).all()
    assert back.fingerprint == source.fingerprint


def test_a_single_column_series_is_an_array() -> None:
    assert wn_open(pd.Series([1.0, 2.0])).shape == (1,)
    assert wn_open(pl.Series([1.0, 2.0])).shape == (1,)
