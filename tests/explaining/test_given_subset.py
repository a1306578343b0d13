"""Subsets as other tools write them: each way of writing gives the same examples; bad ones get one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winnow as wn
from winnow.core.errors import DataError, InputError, NotFoundError, WinnowError
from winnow.explaining.given_subset import given_subset

KEPT = [7, 2, 11]
WEIGHTS = [1.0, 2.0, 4.0]


@pytest.fixture(scope="module")
def source() -> wn.Source:
    return wn.open((np.arange(40.0).reshape(20, 2), [0, 1] * 10))


def ids(source):
    return [str(source.ids[i]) for i in KEPT]


def agrees(source, found, weights=None):
    subset, _ = found
    wanted = wn.Subset(source.ids[KEPT], weights=weights)
    assert subset.ids.tolist() == wanted.ids.tolist()
    assert subset.weights.tolist() == wanted.weights.tolist()


def test_python_values(source):
    for what in (
        KEPT,
        tuple(KEPT),
        set(KEPT),
        np.array(KEPT),
        np.array(KEPT, dtype=float),  # as a data frame with gaps elsewhere would hold them
        ids(source),
        np.array(ids(source)),
        np.isin(np.arange(20), KEPT),
        [{"id": one} for one in ids(source)],
        wn.Subset(source.ids[KEPT]),
    ):
        agrees(source, given_subset(what, source))
    agrees(source, given_subset({"id": ids(source), "Weight": WEIGHTS}, source), WEIGHTS)
    rows = [{"idx": one, "weight": weight} for one, weight in zip(KEPT, WEIGHTS, strict=True)]
    agrees(source, given_subset(rows, source), WEIGHTS)


def test_a_data_frame(source):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"score": [0.1, 0.2, 0.3], "id": ids(source), "weight": WEIGHTS})
    agrees(source, given_subset(frame, source), WEIGHTS)


@pytest.mark.parametrize(
    ("name", "text", "weighted"),
    [
        ("kept.csv", "id,weight\n{0},1\n{1},2\n{2},4\n", True),
        ("kept.csv", "\ufeffID , score, Weight\n{0},.9,1\n{1},.8,2\n{2},.7,4\n", True),
        ("kept.csv", "{0}\n{1}\n{2}\n", False),
        ("kept.csv", "image_id,prob\n{0},0.5\n{1},0.25\n{2},0.125\n", False),  # an unusual name is found by content
        ("kept.csv", "rank,score,which\n0,.9,{0}\n1,.8,{1}\n2,.7,{2}\n", False),
        ("kept.csv", ",index\n0,7\n1,2\n2,11\n", False),  # as pandas writes it, with its own index
        ("kept.csv", "index\n7.0\n2.0\n11.0\n", False),
        ("kept.tsv", "key\tweight\n{0}\t1\n{1}\t2\n{2}\t4\n", True),
        ("kept.txt", "{0}\n\n{1}\n{2}\n", False),
        ("kept.txt", "7\n2\n11\n", False),
        ("kept", "7\n2\n11\n", False),
        ("kept.json", '["{0}", "{1}", "{2}"]', False),
        ("kept.json", "[7, 2, 11]", False),
        ("kept.json", '{"ids": ["{0}", "{1}", "{2}"], "weights": [1, 2, 4], "made": "by hand"}', True),
        ("kept.json", '[{"id": "{0}", "weight": 1}, {"id": "{1}", "weight": 2}, {"id": "{2}", "weight": 4}]', True),
    ],
)
def test_files(source, tmp_path, name, text, weighted):
    path = tmp_path / name
    for number, one in enumerate(ids(source)):
        text = text.replace(f"{{{number}}}", one)
    path.write_text(text, encoding="utf-8")
    found = given_subset(str(path), source)
    agrees(source, found, WEIGHTS if weighted else None)
    assert found[1] == name


def test_arrays_and_tables(source, tmp_path):
    for number, values in enumerate((KEPT, ids(source), np.isin(np.arange(20), KEPT))):
        path = tmp_path / f"{number}.npy"
        np.save(path, np.array(values))
        agrees(source, given_subset(path, source))
    path = tmp_path / "kept.parquet"
    pq.write_table(pa.table({"score": [0.0, 1.0, 2.0], "filename": ids(source), "weight": WEIGHTS}), path)
    agrees(source, given_subset(path, source), WEIGHTS)
    pq.write_table(pa.table({"which": ids(source)}), path)
    agrees(source, given_subset(path, source))


def test_what_winnow_saved(source, tmp_path):
    soft = wn.relabel.SoftLabels(source.ids, np.full((20, 2), 0.5), ("0", "1"), weight=0.5)
    path = wn.Subset(source.ids[KEPT], weights=WEIGHTS, targets=soft).save(tmp_path / "subset.parquet")
    agrees(source, given_subset(path, source), WEIGHTS)


def test_ids_that_are_numbers_are_ids_before_they_are_positions():
    source = wn.open((np.arange(12.0).reshape(6, 2), [0, 1] * 3), ids=[5, 4, 3, 2, 1, 0])
    subset, _ = given_subset(["1", "3.0"], source)
    assert subset.ids.tolist() == [1, 3]
    subset, _ = given_subset(np.array([1.0, 3.0]), source)
    assert subset.ids.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("what", "kind", "words"),
    [
        ([], InputError, "at least one example; subset has none"),
        ([20], InputError, "positions from 0 to 19: 1 of 1 in subset are no ids, such as '20'"),
        ([-1], InputError, "such as '-1'"),
        ([1.5], InputError, "such as '1.5'"),
        ([3, 3], InputError, "must name each example once"),
        ([3, "nobody"], InputError, "such as "),
        ([True, False], InputError, "are no ids"),
        ([False] * 20, InputError, "are no ids"),
        ({"id": [1, 2], "weight": [1.0, 0.0]}, InputError, "finite numbers above 0"),
        ({"id": [1, 2], "weight": [1.0, float("nan")]}, InputError, "finite numbers above 0"),
        ({"id": [1, 2], "weight": ["a", "b"]}, InputError, "finite numbers above 0"),
        ({"id": [1, 2], "weight": [1.0]}, DataError, "same length"),
        (wn.Subset(["x"]), InputError, "has no example with id x"),
        ("nowhere.csv", NotFoundError, "does not exist: nowhere.csv"),
    ],
)
def test_refused(source, what, kind, words):
    with pytest.raises(kind, match=words) as told:
        given_subset(what, source)
    one_sentence(str(told.value))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "{"),
        ("a.json", "null"),
        ("a.json", '{"made": "by hand"}'),
        ("a.csv", ""),
        ("a.csv", "id,weight\n1\n2,1.0\n"),  # a row without its weight
        ("a.csv", "name\nAda\n"),
        ("a.parquet", "not parquet"),
        ("a.npy", "not an array"),
    ],
)
def test_bad_files_are_one_sentence(source, tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(WinnowError) as told:
        given_subset(path, source)
    one_sentence(str(told.value))


def test_no_pickle_is_loaded(source, tmp_path):
    path = tmp_path / "kept.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read as a list of ids"):
        given_subset(path, source)
    (tmp_path / "folder").mkdir()
    with pytest.raises(WinnowError):
        given_subset(tmp_path / "folder", source)
    (tmp_path / "bytes.csv").write_bytes(bytes(range(256)))
    with pytest.raises(DataError):
        given_subset(Path(tmp_path / "bytes.csv"), source)


def test_json_written_by_json(source, tmp_path):
    path = tmp_path / "kept.json"
    path.write_text(json.dumps({"indices": KEPT}))
    agrees(source, given_subset(path, source))


def one_sentence(text):
    assert text.endswith(".")
    assert "\n" not in text
    assert "Traceback" not in text
