"""Several labels per example can be opened from whatever people keep them in, and nothing else is taken for them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import winnow as wn
from winnow.core.errors import DataError, InputError
from winnow.sources.holdout import hold_out, sample

X = np.random.default_rng(0).normal(size=(6, 3))
LISTS = [["cat", "dog"], [], ["dog"], ["cat"], [], ["dog", "cat"]]
ROWS = np.array([[1, 1], [0, 0], [0, 1], [1, 0], [0, 0], [1, 1]])


def test_lists_of_names():
    source = wn.open((X, LISTS))
    assert (source.task, source.classes, source.outputs) == ("multilabel", ("cat", "dog"), 2)
    assert source.labels.dtype == np.uint8
    assert np.array_equal(source.labels, ROWS)
    assert repr(source) == "Source('arrays': 6 examples, table (3,), 2 labels)"
    assert source.to_pandas()["label"].tolist() == [sorted(one) for one in LISTS]
    assert "<td>cat</td><td>3</td>" in source._repr_html_()
    assert np.array_equal(source[0][1], [1, 1])


@pytest.mark.parametrize("labels", [ROWS, ROWS.astype(bool), ROWS.tolist(), torch.tensor(ROWS), pd.DataFrame(ROWS)])
def test_rows_of_0_and_1_are_several_labels(labels):
    source = wn.open((X, labels))
    assert source.task == "multilabel"
    assert np.array_equal(source.labels, ROWS)
    assert source.classes == ("0", "1")


def test_what_may_be_something_else_is_not_guessed():
    assert wn.open((X, ROWS.astype(float))).task == "regression"
    assert wn.open((X, ROWS.astype(float)), task="multilabel").task == "multilabel"
    assert wn.open((X, [["a"], ["b"], ["a"], ["b"], ["a"], ["b"]])).task == "classification"
    one_hot = np.eye(2, dtype=int)[[0, 1, 0, 1, 1, 0]]
    with pytest.raises(InputError, match=r"one-hot rows pass their argmax, for several labels .* task='multilabel'"):
        wn.open((X, one_hot))
    assert wn.open((X, one_hot), task="multilabel").task == "multilabel"
    with pytest.raises(InputError, match="for lists of labels pass task='multilabel'"):
        wn.open((X, [[3], [1, 3], [], [7], [], [1]]))
    assert wn.open((X, [[3], [1, 3], [], [7], [], [1]]), task="multilabel").classes == ("1", "3", "7")
    numbers = wn.open((X, [[3, 1], [1, 7], [3, 7], [7, 1], [1, 3], [7, 3]]), task="multilabel")
    assert numbers.labels.sum(axis=1).tolist() == [2] * 6


def table(**columns) -> pa.Table:
    return pa.table({"a": X[:, 0], "b": X[:, 1], **columns})


def test_files_and_frames(tmp_path: Path):
    lists = table(label=LISTS)
    several = table(has_cat=ROWS[:, 0].astype(bool), has_dog=ROWS[:, 1])
    pq.write_table(lists, tmp_path / "lists.parquet")
    (tmp_path / "lists.jsonl").write_text("\n".join(json.dumps(row) for row in lists.to_pylist()))
    several.to_pandas().to_csv(tmp_path / "several.csv", index=False)
    pq.write_table(several, tmp_path / "several.parquet")
    for what in (lists, lists.to_pandas(), tmp_path / "lists.parquet", tmp_path / "lists.jsonl"):
        source = wn.open(what)
        assert (source.task, source.classes) == ("multilabel", ("cat", "dog"))
        assert np.array_equal(source.labels, ROWS)
    names = ["has_cat", "has_dog"]
    for what in (several, tmp_path / "several.csv", tmp_path / "several.parquet"):
        source = wn.open(what, labels=names)
        assert (source.task, source.classes, source.columns) == ("multilabel", tuple(names), ("a", "b"))
        assert np.array_equal(source.labels, ROWS)
        assert source.origin["labels"] == names


def test_an_hf_data_set_with_lists_of_named_classes():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"a": datasets.Value("float32"), "tags": datasets.Sequence(datasets.ClassLabel(names=["cat", "dog", "cow"]))}
    )
    made = datasets.Dataset.from_dict({"a": X[:, 0], "tags": [[0, 1], [], [1], [0], [], [1, 0]]}, features=features)
    source = wn.open(made, labels="tags", task="multilabel")
    assert source.classes == ("cat", "dog", "cow")
    assert np.array_equal(source.labels[:, :2], ROWS)


def test_a_torch_data_set():
    made = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(ROWS))
    assert np.array_equal(wn.open(made).labels, ROWS)


def test_a_test_set_gets_the_columns_of_the_training_set():
    train = wn.open((X, LISTS))
    test = wn.open((X, [["dog"], [], ["dog"], [], [], []]), classes=train.classes)
    assert test.classes == train.classes
    assert np.array_equal(test.labels[:, 0], np.zeros(6))
    few = wn.open((X, [["dog"], [], ["dog"], [], ["bird"], []]))
    assert few.with_classes(("bird", "cat", "dog")).labels.tolist()[0] == [0, 0, 1]
    with pytest.raises(InputError, match="has the label 'bird', which is not among the 2 labels"):
        few.with_classes(train.classes)
    with pytest.raises(DataError, match=r"among the 2 given labels .*; got 'bird'"):
        wn.open((X, [["bird"], [], [], ["dog"], [], []]), classes=train.classes)


def test_the_fingerprint_follows_labels_and_not_order():
    source = wn.open((X, LISTS))
    assert source.at(np.array([3, 1, 0, 2, 5, 4])).fingerprint == source.fingerprint
    assert wn.open((X, [["cat"], *LISTS[1:]])).fingerprint != source.fingerprint


def test_bad_labels_are_refused():
    for labels, match in (
        ([["a", None], [], [], ["b"], [], []], "must not be missing; 1 of 6 lists"),
        ([["a"], None, [], ["b"], [], ["a"]], "must not be missing"),
        ([["a", 3], [], [], ["b"], [], []], "lists of labels pass task='multilabel'"),
        (np.zeros((6, 2), dtype=int), "a label that some examples have and others do not"),
        (ROWS[:3], "must have 6 entries"),
    ):
        with pytest.raises((InputError, DataError), match=match):
            wn.open((X, labels))
    with pytest.raises(InputError, match=r"must be rows of 0 and 1, or a list of labels per example"):
        wn.open((X, [0, 1, 0, 1, 0, 1]), task="multilabel")
    with pytest.raises(InputError, match="mixture of int, str"):
        wn.open((X, [["a", 3], [], [], ["b"], [], []]), task="multilabel")
    with pytest.raises(DataError, match="label column 'a' of source 'frame' must hold true and false, or 0 and 1"):
        wn.open(table(has_cat=ROWS[:, 0]), labels=["has_cat", "a"])
    with pytest.raises(InputError, match="one column for a classification"):
        wn.open(table(u=ROWS[:, 0], v=ROWS[:, 1]), labels=["u", "v"], task="classification")


def rare(n: int = 400) -> wn.Source:
    rng = np.random.default_rng(1)
    rows = (rng.random((n, 6)) < (0.5, 0.3, 0.2, 0.1, 0.04, 0.01)).astype(int)
    return wn.open((rng.normal(size=(n, 2)), rows))


def test_held_out_parts_have_every_label_in_proportion():
    source = rare()
    for fraction in (0.1, 0.25, 0.5):
        _, held = hold_out(source, fraction)
        assert len(held) == round(fraction * len(source))
        off = held.labels.sum(axis=0) - fraction * source.labels.sum(axis=0)
        assert np.abs(off).max() <= 4  # random draws are off by up to 15 here
        assert np.abs(off[-2:]).max() <= 1  # the rarest are spread best
        mixed = source.at(np.random.default_rng(2).permutation(len(source)))
        assert set(hold_out(mixed, fraction)[1].ids) == set(held.ids)
    assert np.abs(sample(source, 100).labels.sum(axis=0) - source.labels.sum(axis=0) / 4).max() <= 4


def test_label_sets_that_occur_once_can_be_held_out():
    rows = np.array([[int(bit) for bit in f"{number:06b}"] for number in range(64)])
    source = wn.open((np.arange(64.0)[:, None], rows))
    assert len(hold_out(source, 0.25)[1]) == 16
