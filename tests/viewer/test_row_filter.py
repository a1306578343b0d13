"""Filters: what the page may ask for, what is refused, and which rows pass."""

from __future__ import annotations

import json

import numpy as np
import pytest

import winnow as wn
from tests.oracles.viewer import inside_polygon
from winnow.viewer.row_filter import RowFilter, inside


@pytest.fixture
def checked(own, asked):
    return asked(own("check"))


def rows_of(answers, **filter):
    return answers.views.rows(RowFilter.read(json.dumps(filter))).tolist()


def test_each_filter_keeps_what_it_says(checked):
    table, everyone = checked.table, set(range(checked.table.n))
    labels, predicted = table.labels, table.predicted
    assert set(rows_of(checked, classes=[3, 4])) == {k for k in everyone if labels[k] in (3, 4)}
    assert set(rows_of(checked, predicted=[5])) == {k for k in everyone if predicted[k] == 5}
    assert set(rows_of(checked, disagree=True)) == {k for k in everyone if 0 <= predicted[k] != labels[k]}
    clean = set(np.flatnonzero(table.members["clean subset"]).tolist())
    assert set(rows_of(checked, member="clean subset")) == clean
    assert set(rows_of(checked, member="!clean subset")) == everyone - clean
    assert set(rows_of(checked, issue="label")) == set(table.found["label"][0].tolist())
    name = "loss, last epoch"
    half = float(np.median(table.columns[name]))
    assert set(rows_of(checked, ranges={name: [half, None]})) == {k for k in everyone if table.columns[name][k] >= half}
    assert set(rows_of(checked, classes=[3], issue="label")) == set(rows_of(checked, classes=[3])) & set(
        rows_of(checked, issue="label")
    )


def test_marks_filter_and_follow_changes(checked):
    checked.marks.mark([5, 6], {"choice": "drop"})
    checked.marks.mark([7], {"verdict": "refused"})
    assert set(rows_of(checked, mark="drop")) == {5, 6}
    assert set(rows_of(checked, mark="any")) == {5, 6, 7}
    checked.marks.undo()
    assert set(rows_of(checked, mark="any")) == {5, 6}
    assert len(rows_of(checked, mark="none")) == checked.table.n - 2


def test_sorting_down_is_sorting_up_reversed_with_missing_values_last(own, asked):
    answers = asked(own("proof"))
    name = next(iter(answers.table.columns))
    known = answers.table.known(name)
    up, down = rows_of(answers, sort=name), rows_of(answers, sort=name, descending=True)
    assert down[:known] == up[:known][::-1]
    assert down[known:] == up[known:]


def test_search_finds_ids_and_classes_whatever_their_case(checked):
    id = str(checked.source.ids[11])
    assert rows_of(checked, search=id.upper()) == [11]
    assert set(rows_of(checked, search="7")) >= {k for k in range(checked.table.n) if checked.table.labels[k] == 7}


def test_search_finds_texts(tmp_path, asked):
    texts = [f"a plain line {k}" for k in range(30)] + ["ÄRGER and (brackets.*", "the needle <b>"]
    source = wn.open((texts, ["x", "y"] * 16))
    wn.observe(source, recipe=wn.Recipe(epochs=1), out=tmp_path / "run")
    answers = asked(tmp_path / "run", source)
    assert [answers.source.texts([answers.source.ids[k]])[0] for k in rows_of(answers, search="NEEDLE <b")] == [
        "the needle <b>"
    ]
    assert len(rows_of(answers, search="ärger")) == 1
    assert len(rows_of(answers, search="(brackets.*")) == 1  # no pattern, only text
    assert len(rows_of(answers, search="line 1")) == 11


def test_a_lasso_keeps_the_points_inside_as_the_slow_twin_says():
    rng = np.random.default_rng(3)
    points = rng.uniform(-1, 1, size=(400, 2)).astype(np.float32)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 17))
    corners = np.column_stack([np.cos(angles), np.sin(angles)]) * rng.uniform(0.2, 1, size=(17, 1))  # a jagged star
    assert inside(points, corners).tolist() == [inside_polygon(p, corners.tolist()) for p in points.tolist()]
    assert 0 < inside(points, corners).sum() < 400
    assert not inside(points, corners[:2]).any()


def test_a_lasso_filters_the_grid(checked):
    low, high = -0.3, 0.4
    square = [[low, low], [high, low], [high, high], [low, high]]
    points = checked.drawn.points
    expected = np.flatnonzero(((points > low) & (points < high)).all(axis=1))
    assert sorted(rows_of(checked, lasso=square)) == expected.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "no JSON",
        '"x"',
        '{"classes": "ab"}',
        '{"classes": [1e999]}',
        '{"classes": [-1]}',
        '{"classes": [99999999999999999999]}',
        '{"lasso": [[1]]}',
        '{"lasso": [[NaN, 0], [1, 1], [2, 2]]}',
        '{"lasso": [[1e999, 0], [1, 1], [2, 2]]}',
        '{"lasso": [[1' + "0" * 400 + ", 0]]}",
        '{"show": "everything"}',
        '{"mark": "x"}',
        '{"split": "x"}',
        '{"ranges": {"a": 3}}',
        '{"ranges": []}',
        "[" * 100_000,
        '{"lasso": ' + json.dumps([[0, 0]] * 401) + "}",
    ],
)
def test_what_the_page_never_sends_is_refused(text):
    with pytest.raises(wn.errors.InputError, match="the filter of a view"):
        RowFilter.read(text)


def test_unknown_names_are_refused(checked):
    for filter in ({"member": "x"}, {"ranges": {"x": [0, 1]}}):
        with pytest.raises(wn.errors.InputError, match="there is no"):
            rows_of(checked, **filter)
    with pytest.raises(wn.errors.UnknownNameError):
        rows_of(checked, sort="x")
