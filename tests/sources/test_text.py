"""Text: every way to give it means the same, ids are those of the content, and test sets follow the training data."""

from __future__ import annotations

import gzip
import json
import pickle
from functools import partial
from itertools import pairwise
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import winnow as wn
from tests.corpus import reviews
from winnow.core.errors import DataError, InputError
from winnow.core.scratch_rows import scratch_rows
from winnow.sources import packed_texts
from winnow.sources.content import content_keys
from winnow.sources.tokens import BUCKETS, SEPARATOR, row_length, token_rows, words_of

TEXTS, LABELS = reviews(40)
TABLE = pa.table({"sentence": TEXTS, "label": LABELS})
WHOLE = wn.open((TEXTS, LABELS))


def written(folder: Path, name: str) -> Path:
    """The table in a file, by the ending of its name."""
    path = folder / name
    rows = TABLE.to_pylist()
    if name.endswith(".parquet"):
        pq.write_table(TABLE, path)
        return path
    if ".jsonl" in name:
        text = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        mark = "\t" if ".tsv" in name else ","
        quote = (lambda word: word) if mark == "\t" else (lambda word: f'"{word}"')
        text = "\n".join(mark.join(map(quote, row)) for row in [("sentence", "label"), *(r.values() for r in rows)])
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def same(found: wn.Source) -> None:
    """Whether a source means the same as the lists."""
    assert (found.kind, found.shape, found.classes) == ("text", WHOLE.shape, ("bad", "good"))
    assert found.texts() == TEXTS
    assert np.array_equal(found.labels, WHOLE.labels)
    assert np.array_equal(found.ids, WHOLE.ids)
    assert found.fingerprint == WHOLE.fingerprint
    assert found.read(np.arange(40)).dtype == np.int32
    assert np.array_equal(found.read(np.array([3, 1])), WHOLE.read(np.array([3, 1])))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.tsv.gz", "a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_every_file_means_the_same(tmp_path: Path, name: str) -> None:
    found = wn.open(written(tmp_path, name))
    same(found)
    assert found.origin["text"] == ["sentence"]
    same(pickle.loads(pickle.dumps(found)))


@pytest.mark.parametrize("held", [0, 1 << 20])
def test_texts_of_a_file_are_packed(held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_texts, "scratch_rows", partial(scratch_rows, held=held))
    monkeypatch.setattr(packed_texts, "BLOCK", 3)
    same(wn.open(written(tmp_path, "a.jsonl")))
    words = ["", "naïve 語", "😀 x", "a\nb", " ", "end"]
    rows = [{"q": one, "a": two, "label": k % 2} for k, (one, two) in enumerate(pairwise([*words, "z"]))]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = wn.open(tmp_path / "pairs.jsonl", text=["q", "a"])
    assert isinstance(found.read_texts.held.values, np.memmap) == (held == 0)
    assert found.texts() == [f"{row['q']} {SEPARATOR} {row['a']}" for row in rows]
    assert found.read_texts(np.array([4, 1, 1])).tolist() == [found.texts()[k] for k in (4, 1, 1)]
    assert pickle.loads(pickle.dumps(found)).texts() == found.texts()


def test_missing_texts_of_a_file_are_counted_over_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_texts, "BLOCK", 2)
    rows = [{"text": None if k % 2 else "a b", "label": k % 2} for k in range(10)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match="has 5 missing texts"):
        wn.open(tmp_path / "a.jsonl")


@pytest.mark.parametrize("make", [lambda t: t, pa.Table.to_pandas, pl.from_arrow, lambda t: datasets.Dataset(t)])
def test_every_frame_means_the_same(make: object) -> None:
    same(wn.open(make(TABLE)))  # type: ignore[operator]
    same(wn.open(make(TABLE.append_column("stars", pa.array(range(40)))), text="sentence"))  # type: ignore[operator]


def test_arrays_and_series_of_strings_are_text() -> None:
    for made in (np.array(TEXTS), np.array(TEXTS, dtype=object), pd.Series(TEXTS, index=range(5, 45)), pa.array(TEXTS)):
        same(wn.open((made, LABELS)))
    assert wn.open(TEXTS).task == "unlabelled"
    assert wn.open((TEXTS, np.linspace(0, 1, 40))).task == "regression"


def test_a_folder_of_texts_has_classes_and_splits(tmp_path: Path) -> None:
    for number, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True)):
        path = tmp_path / ("test" if number < 10 else "train") / label / f"{number:02}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    train, test = wn.open(tmp_path), wn.open(tmp_path, split="test")
    assert (len(train), len(test), train.classes) == (30, 10, ("bad", "good"))
    assert train.texts([f"train/{LABELS[12]}/12.txt"]) == [TEXTS[12]]
    before = wn.open(tmp_path).fingerprint
    (tmp_path / "train" / LABELS[12] / "12.txt").write_text("another text")
    assert wn.open(tmp_path).fingerprint != before
    with pytest.raises(DataError, match="was changed or removed after it was opened"):
        train.texts()


def test_a_pair_of_columns_is_joined_by_a_separator() -> None:
    frame = pd.DataFrame({"question": ["who", "where"], "answer": ["me", "there"], "label": [0, 1]})
    found = wn.open(frame, text=["question", "answer"])
    assert found.texts() == [f"who {SEPARATOR} me", f"where {SEPARATOR} there"]
    assert wn.open(([("who", "me"), ("where", "there")], [0, 1])).fingerprint == found.fingerprint
    assert found.shape == (3,)


def test_sst2_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sst2").mkdir()
    for name in ("train", "dev"):
        rows = "".join(f"{name} {number} words \t{number % 2}\n" for number in range(6))
        (tmp_path / "sst2" / f"{name}.tsv.gz").write_bytes(gzip.compress(f"sentence\tlabel\n{rows}".encode()))
    monkeypatch.setenv("WINNOW_DATA", str(tmp_path))
    train, test = wn.open("sst2"), wn.open("sst2", split="test")
    assert (train.classes, train.name, test.name) == (("negative", "positive"), "sst2", "sst2:validation")
    assert test.texts()[0].startswith("dev 0")


def test_quotation_marks_in_tsv_are_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('text\tlabel\n" half a quotation\tx\nwhole\ty\n')
    assert wn.open(tmp_path / "a.tsv").texts() == ['" half a quotation', "whole"]
    (tmp_path / "a.csv").write_text('text,label\n"two\nlines",x\nwhole,y\n')
    assert wn.open(tmp_path / "a.csv").texts() == ["two\nlines", "whole"]


def test_content_is_the_whole_string() -> None:
    long = "word " * 400
    found = wn.open([long + "end", long + "other end", "Capitals", "capitals"])
    assert np.unique(found.ids).size == np.unique(content_keys(found)).size == 4
    rows = found.read(np.arange(4))
    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[2], rows[3])


def test_the_strings_follow_selection_and_tables() -> None:
    part = WHOLE.at(np.array([5, 2]))
    assert part.texts() == [TEXTS[5], TEXTS[2]]
    assert part.texts(WHOLE.ids[2]) == [TEXTS[2]]
    assert WHOLE.to_pandas()["text"].tolist() == TEXTS
    with pytest.raises(InputError, match="holds no text"):
        wn.open("digits", limit=20).texts()


def test_rows_of_a_test_set_take_the_length_of_the_training_data() -> None:
    short = wn.open(["one two", "three"])
    assert short.with_length(4).read(np.arange(2))[:, 2:].sum() == 0
    assert np.array_equal(short.with_length(1).read(np.arange(2)), short.read(np.arange(2))[:, :1])
    assert short.with_length(2) is short


def test_tokens() -> None:
    assert words_of("It's 3.5 km, naïve_one 東京へ!") == [
        "it's", "3", ".", "5", "km", ",", "naïve", "_", "one", "東", "京", "へ", "!",
    ]  # fmt: skip
    # part of the promise: the same ids on every machine
    assert token_rows(["A film."], 4).tolist() == [[260209, 57012, 58872, 0]]
    assert row_length([["a b c"] * 99, ["a " * 50]]) in (3, 50)
    assert row_length([["a " * 5000]]) == 256


@given(st.lists(st.text(), min_size=1, max_size=6), st.integers(1, 9))
def test_any_string_gives_a_row(texts: list[str], length: int) -> None:
    rows = token_rows(texts, length)
    assert rows.shape == (len(texts), length)
    assert rows.min() >= 0
    assert rows.max() < BUCKETS
    filled = (rows > 0).sum(axis=1)
    assert filled.tolist() == [min(length, len(words_of(text))) for text in texts]
    assert all((row[:count] > 0).all() for row, count in zip(rows, filled, strict=True))
