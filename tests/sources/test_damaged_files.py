"""What fuzzing found in damaged files and odd items, one case each: a sentence, and never the end of the process."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winnow as wn
from winnow.core.errors import WinnowError


def test_a_compression_that_zip_does_not_know_is_refused(tmp_path):
    file = tmp_path / "rows.npz"
    np.savez(file, x=np.arange(20.0).reshape(10, 2), y=np.arange(10) % 2)
    content = bytearray(file.read_bytes())
    place = content.index(b"PK\x01\x02")  # the directory's entry of the first array
    content[place + 10] = 1
    file.write_bytes(content)
    with pytest.raises(WinnowError, match=r"cannot be read at 'x'"):
        wn.open(file)


def test_a_parquet_footer_that_contradicts_itself_is_refused(tmp_path):
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": np.arange(20.0), "label": ["a", "b"] * 10}), file)
    content = bytearray(file.read_bytes())
    kind = content.rindex(b"\x15\x0a%\x02\x18\x01x")  # the column x holds doubles
    content[kind + 1] = 0x08  # floats, it says now
    file.write_bytes(content)
    with pytest.raises(WinnowError, match="damaged"):
        wn.open(file)


def test_rows_of_byte_labels_are_refused():
    with pytest.raises(WinnowError, match="labels"):
        wn.open((np.ones((2, 3), np.float32), np.array([[b"a", b"b"], [b"c", b"d"]])))


def test_an_empty_item_is_refused():
    class Items:
        def __len__(self):
            return 2

        def __getitem__(self, position):
            return ()

    with pytest.raises(WinnowError, match="item 0 of source 'Items' is empty"):
        wn.open(Items())


def test_targets_of_unlike_kinds_are_refused():
    class Items:
        def __len__(self):
            return 2

        def __getitem__(self, position):
            return np.ones(3, np.float32), [1, [2, 3]][position]

    with pytest.raises(WinnowError, match="must be alike"):
        wn.open(Items())
