"""Embeddings as data: columns of lists, npy files, functions from items to vectors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import winnow as wn
from winnow import testing
from winnow.sources.open import open as wn_open

ROWS = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
LABELS = [number % 3 for number in range(12)]


def test_a_column_of_lists_is_a_vector_in_every_format(tmp_path: Path) -> None:
    frame = pd.DataFrame({"embedding": list(ROWS), "label": LABELS})
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True, double_precision=15)
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=5)
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 5)
    pq.write_table(pa.table({"embedding": fixed, "label": LABELS}), tmp_path / "fixed.parquet")
    hub = datasets.Dataset.from_dict({"embedding": ROWS.tolist(), "label": LABELS})
    for what in (frame, tmp_path / "a.jsonl", tmp_path / "a.parquet", tmp_path / "fixed.parquet", hub):
        source = wn_open(what)
        assert (source.kind, source.shape, source.raw) == ("table", (5,), None)
        assert np.allclose(source.read(np.arange(12)), ROWS)
        assert source.columns == tuple(f"embedding[{place}]" for place in range(5))
        assert np.array_equal(source.read(np.array([7, 2])), source.read(np.arange(12))[[7, 2]])
    testing.check_source(lambda: wn_open(tmp_path / "a.parquet"))


def test_vectors_join_numbers_and_strings() -> None:
    frame = pd.DataFrame({"a": np.arange(12), "one": list(ROWS), "two": list(ROWS[:, :2]), "label": LABELS})
    source = wn_open(frame)
    assert np.array_equal(source.read(np.arange(12)), np.concatenate([np.arange(12)[:, None], ROWS, ROWS[:, :2]], 1))
    beside = wn_open(frame.assign(word=["x", "y", "z"] * 4))
    rows = beside.read(np.arange(12))
    assert np.array_equal(rows[:, [beside.columns.index(f"one[{place}]") for place in range(5)]], ROWS)
    assert beside.origin["encoding"]["columns"]["one"] == {"kind": "vector", "features": 5}


def test_npy_files_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "X.npy", ROWS.astype(np.float64))
    np.save(tmp_path / "y.npy", np.array(LABELS))
    folder = wn_open(tmp_path)
    assert (folder.task, folder.shape, len(folder.classes)) == ("classification", (5,), 3)
    alone = wn_open(tmp_path / "X.npy")
    assert (alone.task, alone.origin["adapter"]) == ("unlabelled", "npy")
    named = wn_open(tmp_path / "X.npy", labels="y.npy")
    assert named.fingerprint == folder.fingerprint == wn_open((ROWS, LABELS)).fingerprint
    assert np.array_equal(folder.read(np.array([3, 0])), ROWS[[3, 0]])
    ways = []
    real = np.load
    monkeypatch.setattr(np, "load", lambda *a, **k: ways.append(k) or real(*a, **k))
    folder.read(np.array([1]))
    assert ways == [{"mmap_mode": "r", "allow_pickle": False}]
    assert len(pickle.dumps(folder.read)) < 500
    testing.check_source(lambda: wn_open(tmp_path))


def test_npy_folders_have_splits_and_images(tmp_path: Path) -> None:
    images = np.random.default_rng(1).integers(0, 256, (6, 8, 8), dtype=np.uint8)
    for split in ("train", "test"):
        np.save(tmp_path / f"x_{split}.npy", images)
        np.save(tmp_path / f"y_{split}.npy", np.arange(6) % 2)
    source = wn_open(tmp_path, split="test")
    assert (source.kind, source.shape, source.name.endswith(":test")) == ("image", (1, 8, 8), True)


def test_items_of_any_kind_through_a_function() -> None:
    clips = [np.full(10 + number, float(number)) for number in range(8)]  # of different lengths
    source = wn_open(
        (clips, ["low"] * 4 + ["high"] * 4), encode=lambda batch: [[one.mean(), len(one)] for one in batch]
    )
    assert (source.shape, source.classes, source.origin["adapter"]) == ((2,), ("high", "low"), "items")
    assert source.read(np.array([3])).tolist() == [[3.0, 13.0]]
    assert wn_open([{"a": 1}, {"a": 2}], encode=lambda batch: [[one["a"]] for one in batch]).read(
        np.arange(2)
    ).tolist() == [[1], [2]]


def test_a_function_encodes_whatever_can_be_opened() -> None:
    digits = wn_open("digits", limit=300)
    small = wn_open(digits, encode=lambda images: torch.from_numpy(images).float().mean((2, 3)))
    assert (small.shape, small.kind, small.labels.tolist()) == ((1,), "table", digits.labels.tolist())
    assert small.ids.tolist() == digits.ids.tolist()
    assert small.fingerprint != digits.fingerprint
    texts = wn_open((["one two", "three"], [0, 1]), encode=lambda batch: [[len(text)] for text in batch])
    assert texts.read(np.arange(2)).tolist() == [[7], [5]]
    testing.check_source(lambda: wn_open((["one two", "three"], [0, 1]), encode=lengths))


def lengths(batch: list[str]) -> Any:
    return np.array([[len(text), text.count(" ")] for text in batch], dtype=np.float32)


def test_embed_takes_a_function() -> None:
    found = wn.embed((["one two", "three", "a b c"], [0, 1, 0]), lengths)
    assert found.embeddings.tolist() == [[7, 1], [5, 0], [5, 2]]
    assert found.provenance["parameters"]["model"] == {"function": "lengths"}
    graphs = [{"nodes": 3}, {"nodes": 5}]
    assert wn.embed(graphs, lambda batch: [[one["nodes"]] for one in batch]).embeddings.tolist() == [[3], [5]]
    made = wn.embed(wn_open((ROWS, LABELS)), lambda rows: rows[:, :2])
    assert np.array_equal(made.embeddings, ROWS[:, :2])
    assert wn.embed((ROWS, LABELS), lambda: torch.nn.Linear(5, 3)).embeddings.shape[0] == 12  # a factory of networks
