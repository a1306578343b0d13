"""The view as a file: a Subset, a CSV that `--marks` reads, a parquet table."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import winnow as wn
from winnow.artefacts.decisions import read_decisions


@pytest.fixture
def pruned(own, asked):
    return asked(own("medoids"))


def exported(answers, kind, **filter):
    return answers.export({"format": kind, "filter": json.dumps(filter)})


def test_a_subset_has_the_ids_of_the_view_and_the_weights_of_the_run(pruned, tmp_path):
    body, name = exported(pruned, "subset", classes=[2, 3])
    assert name == "subset.parquet"
    (tmp_path / name).write_bytes(body)
    found = wn.Subset.load(tmp_path / name)
    labels = pruned.source.labels
    expected = {str(id) for id, label in zip(pruned.source.ids, labels, strict=True) if label in (2, 3)}
    assert set(found.ids.tolist()) == expected
    ours = pruned.run.subsets["this run"]
    weights = dict(zip(ours.ids.tolist(), ours.weights.tolist(), strict=True))
    assert all(one == weights.get(id, 1.0) for id, one in zip(found.ids.tolist(), found.weights.tolist(), strict=True))
    assert found.provenance["step"] == "view"


def test_a_csv_has_everything_in_the_order_of_the_view_and_is_read_as_marks(pruned, tmp_path):
    pruned.marks.mark([3], {"correction": "8"})
    pruned.marks.mark([4], {"choice": "drop"})
    body, name = exported(pruned, "csv", sort="class", descending=True)
    lines = list(csv.DictReader(io.StringIO(body.decode())))
    assert [line["label"] for line in lines] == sorted((line["label"] for line in lines), reverse=True)
    by_id = {line["id"]: line for line in lines}
    assert by_id[str(pruned.source.ids[3])]["correction"] == "8"
    assert float(by_id[str(pruned.source.ids[5])]["loss, last epoch"]) == pytest.approx(
        float(pruned.table.columns["loss, last epoch"][5]), rel=1e-5
    )
    (tmp_path / name).write_bytes(body)
    said = read_decisions(tmp_path / name)
    assert said == {str(pruned.source.ids[row]): one for row, one in pruned.marks.said.items()}


def test_parquet_has_types(own, asked, tmp_path):
    answers = asked(own("check"))
    body, _ = exported(answers, "parquet", issue="label")
    found = pq.read_table(io.BytesIO(body)).to_pydict()
    assert len(found["id"]) == answers.about()["issues"]["label"]
    assert all(found["issue label"])
    wrong = np.array(found["probability that it is wrong"])
    assert np.isfinite(wrong).all()
    assert np.array_equal(found["in clean subset"], wrong < 0.5)  # a flag below that is for a person to look at


def test_empty_views_and_unknown_formats_are_refused(pruned):
    with pytest.raises(wn.errors.InputError, match="nothing to export"):
        exported(pruned, "csv", search="no such thing")
    with pytest.raises(wn.errors.InputError, match="format must be one of"):
        exported(pruned, "exe")
