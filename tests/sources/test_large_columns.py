"""Columns of ids and labels are read without a table of all their values: the same answers as the obvious way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winnow as wn
from winnow.core.errors import DataError
from winnow.sources.tables import raw_values


def written(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=3)
    return path


@pytest.mark.parametrize("kind", ["int64", "int32", "uint64", "uint8"])
@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5, 6, 7], [7, 3, 0, 1, 6, 5, 4, 2]])
def test_whole_numbers_are_ids_in_any_order(tmp_path: Path, kind: str, order: list[int]) -> None:
    ids = np.array(order, dtype=kind)
    source = wn.open(written(tmp_path / "rows.parquet", id=ids, x=np.arange(8.0), label=["a", "b"] * 4))
    assert source.ids.tolist() == order
    again = wn.open(written(tmp_path / "again.parquet", id=ids[::-1], x=np.arange(8.0)[::-1], label=["b", "a"] * 4))
    assert again.fingerprint == source.fingerprint


@pytest.mark.parametrize(
    ("ids", "what"),
    [([3, 1, 3, 1, 3], "3 repeated"), ([1, 1, 2, 3, 4], "1 repeated"), ([1, None, 2, 3, 4], "1 missing"),
     (["b", "a", "b", "c", "d"], "1 repeated")],
)  # fmt: skip
def test_repeated_and_missing_ids_are_counted(tmp_path: Path, ids: list[Any], what: str) -> None:
    path = written(tmp_path / "rows.parquet", id=ids, x=np.arange(5.0), label=["a", "b", "a", "b", "a"])
    with pytest.raises(DataError, match=rf"has {what} value\(s\)"):
        wn.open(path)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_strings_are_one_object_each_however_often_they_occur(kind: pa.DataType) -> None:
    words = ["b", "a", None, "a", "b", "", None, "b"]
    column = pa.chunked_array([pa.array(words[:3], kind), pa.array([], kind), pa.array(words[3:], kind)])
    found = raw_values(column)
    assert found.tolist() == words
    assert found[0] == found[4]
    assert found[4] is found[7]
    assert raw_values(pa.chunked_array([], kind)).tolist() == []
