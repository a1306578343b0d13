"""Targets: by id, whole on disk, never without a direction."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from winnow.artefacts.targets import ROWS
from winnow.core.errors import InputError, StoreError
from winnow.methods.relabel import Targets


def made(n: int = 30, dim: int = 4, names: bool = True) -> Targets:
    rng = np.random.default_rng(0)
    ids = np.array([f"example-{k}" for k in rng.permutation(n)]) if names else rng.permutation(n) * 7
    return Targets(ids, rng.normal(size=(n, dim)), {"step": "test"}, 1.5)


def test_rows_follow_their_ids() -> None:
    ids, values = np.array(["b", "c", "a"]), np.arange(1.0, 7.0).reshape(3, 2)
    found = Targets(ids, values)
    assert found.ids.tolist() == ["a", "b", "c"]
    assert found.values.dtype == np.float32
    assert found.dim == 2
    np.testing.assert_array_equal(found.at(["c", "a", "c"]), [[3, 4], [5, 6], [3, 4]])
    np.testing.assert_array_equal(found.at("b"), [[1, 2]])
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 0


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("n", [30, 2 * ROWS + 7])
def test_a_file_holds_all_of_it(names: bool, n: int, tmp_path: Path) -> None:
    one = made(n, names=names)
    again = Targets.load(one.save(tmp_path / "targets.parquet"))
    assert again.ids.dtype.kind == one.ids.dtype.kind
    np.testing.assert_array_equal(again.ids, one.ids)
    np.testing.assert_array_equal(again.values, one.values)
    assert (again.provenance, again.seconds, again.fingerprint) == ({"step": "test"}, 1.5, one.fingerprint)
    before = (tmp_path / "targets.parquet").read_bytes()
    assert again.save(tmp_path / "again.parquet").read_bytes() == before


def test_other_files_are_refused(tmp_path: Path) -> None:
    wn.Subset(np.arange(3)).save(tmp_path / "subset.parquet")
    with pytest.raises(StoreError, match=r"expected 'targets' .*; found 'subset'"):
        Targets.load(tmp_path / "subset.parquet")
    (tmp_path / "junk.parquet").write_bytes(b"PAR1 junk")
    with pytest.raises(StoreError, match=r"expected 'targets' in .*junk\.parquet; found something else"):
        Targets.load(tmp_path / "junk.parquet")
    with pytest.raises(StoreError, match=r"expected 'targets' in .*none\.parquet; found no such file"):
        Targets.load(tmp_path / "none.parquet")


def test_a_source_gets_them_as_its_targets() -> None:
    rng = np.random.default_rng(1)
    source = wn.open((rng.normal(size=(30, 5)), np.arange(30) % 3), ids=np.arange(30) * 7)
    targets = made(names=False)
    found = targets.source(source)
    assert (found.task, found.outputs, len(found)) == ("regression", 4, 30)
    np.testing.assert_array_equal(found.labels, targets.at(source.ids))
    np.testing.assert_array_equal(found.fetch(source.ids), source.fetch(source.ids))
    np.testing.assert_array_equal(targets.source(source.at(np.arange(9)[::-1])).labels, found.labels[8::-1])
    with pytest.raises(InputError, match=r"this set of targets has no example with id 210 \(1 of 31 ids are unknown\)"):
        targets.source(wn.open(rng.normal(size=(31, 5)), ids=np.arange(31) * 7))


def test_the_control_is_the_same_targets_for_others() -> None:
    one = made(200)
    control = one.shuffled(3)
    assert control.ids.tolist() == one.ids.tolist()
    np.testing.assert_array_equal(np.sort(control.values, axis=0), np.sort(one.values, axis=0))
    moved = (control.values != one.values).any(axis=1).sum()
    assert moved > 190  # a random order leaves one in place on average, with standard deviation one
    np.testing.assert_array_equal(control.values, one.shuffled(3).values)
    assert (control.values != one.shuffled(4).values).any()
    assert control.provenance["parameters"] == {"seed": 3}


def test_a_target_without_a_direction_is_refused_by_id() -> None:
    values = np.ones((3, 2))
    values[1] = 0
    with pytest.raises(InputError, match=r"zero vector, which has no direction; that of example y is \(1 of 3 here\)"):
        Targets(np.array(["x", "y", "z"]), values)
    values[1] = np.nan
    with pytest.raises(InputError, match="must be finite"):
        Targets(np.array(["x", "y", "z"]), values)
    with pytest.raises(InputError, match="must have 3 rows"):
        Targets(np.array(["x", "y", "z"]), np.ones((2, 2)))


@pytest.mark.parametrize("names", [True, False])
def test_asking_for_a_few_does_not_copy_the_ids_of_all(names: bool) -> None:
    n = 20_000
    ids = np.array([f"example-{k:08d}" for k in range(n)]) if names else np.arange(n)
    one = Targets(ids, np.arange(1.0, n + 1)[:, None])
    few = ids[[3, 19_999, 0]]
    tracemalloc.start()
    found = one.at(few)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found[:, 0].tolist() == [4.0, 20_000.0, 1.0]
    assert held < n  # bytes; a copy takes eight an id and more
    longer = np.array(["example-00000003 and more"]) if names else np.array([n])
    with pytest.raises(InputError, match="has no example with id"):
        one.at(longer)


def test_a_file_without_all_of_it_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("id", pa.int64()), ("target", pa.list_(pa.float32(), 2))])
    for k, about in enumerate(({"dim": 2, "ids": "i", "provenance": {}, "seconds": 1.0}, {"dim": 2, "ids": "i"})):
        rows = pa.table([[] if k == 0 else [1], [] if k == 0 else [[1.0, 2.0]]], schema=schema)
        marked = rows.replace_schema_metadata({"winnow": json.dumps({"winnow": "targets", **about})})
        pq.write_table(marked, tmp_path / f"{k}.parquet")
        with pytest.raises(StoreError, match="expected 'targets' in "):
            Targets.load(tmp_path / f"{k}.parquet")
    with pytest.raises(StoreError, match="expected 'targets' in "):
        Targets.load(None)  # type: ignore[arg-type]
