"""Columns, orders, percentiles and predictions of the examples."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from tests.oracles.viewer import percentile
from winnow.viewer import example_table
from winnow.viewer.example_table import ExampleTable, label_text
from winnow.viewer.run_contents import read_contents
from winnow.viewer.suggested_label import suggested_label


@pytest.fixture(scope="module")
def checked(runs, digits):
    return ExampleTable(digits, read_contents(runs["check"]))


@pytest.fixture(scope="module")
def proved(runs, digits):
    return ExampleTable(digits, read_contents(runs["proof"]))


def test_orders_ascend_and_put_what_has_no_value_last(proved):
    for key in proved.columns:
        order, known = proved.order(key), proved.known(key)
        assert 0 < known < proved.n  # some examples were held out
        values = proved.columns[key][order]
        assert (np.diff(values[:known]) >= 0).all()
        assert np.isnan(values[known:]).all()
        assert sorted(order.tolist()) == list(range(proved.n))


def test_members_come_after_the_others_and_likely_issues_last(checked):
    inside = checked.members["clean subset"][checked.order("member:clean subset")]
    assert (np.diff(inside.astype(int)) >= 0).all()
    assert checked.issue_mask("any")[checked.order("issue")[-1]]
    with pytest.raises(wn.errors.UnknownNameError, match="column"):
        checked.order("nonsense")


def test_percentiles_are_those_of_the_slow_twin(proved):
    name = next(iter(proved.columns))
    values = proved.columns[name].tolist()
    for row in range(0, proved.n, 13):
        expected = None if values[row] != values[row] else percentile(values, values[row])
        found = proved.percentile(name, row)
        assert found == expected if expected is None else found == pytest.approx(expected)


def test_predictions_are_the_same_however_many_classes_are_read_at_once(runs, digits, monkeypatch):
    held = read_contents(runs["check"])
    whole = ExampleTable(digits, held).predicted
    monkeypatch.setattr(example_table, "AT_ONCE", len(digits) * 3)  # three classes at a time
    assert np.array_equal(ExampleTable(digits, held).predicted, whole)
    by_hand = sum(file.whole("oof").mean(axis=0) for file in held.signals).argmax(axis=1)
    place, _ = ExampleTable(digits, held).places(held.signals[0].ids)
    assert np.array_equal(whole[place], by_hand)


def test_recorded_columns_are_means_over_seeds(runs, digits):
    held = read_contents(runs["observe"])
    table = ExampleTable(digits, held)
    place, _ = table.places(held.signals[0].ids)
    seen = [wn.Signals.load(file.path) for file in held.signals]
    losses = np.mean([one.losses[:, -1].mean(axis=0) for one in seen], axis=0)
    assert np.allclose(table.columns["loss, last epoch"][place], losses, rtol=1e-5)
    right = np.mean([one.array("correct").mean(axis=(0, 1)) for one in seen], axis=0)
    assert np.allclose(table.columns["share of the epochs with a right answer"][place], right, rtol=1e-5)


def test_rows_are_found_by_ids_in_words(checked):
    assert checked.row_of_id(str(checked.source.ids[7])) == 7
    assert checked.row_of_id("nobody") is None
    numbers = wn.open((np.zeros((5, 2)), [0, 1, 0, 1, 0]), ids=np.array([30, 10, -20, 40, 50]))
    table = ExampleTable(numbers, checked.run)
    assert [table.row_of_id(one) for one in ("10", "-20", "99", "x", "", "9" * 40)] == [1, 2, None, None, None, None]


def test_a_suggestion_is_another_class_or_nothing(checked):
    for row in range(checked.n):
        said = suggested_label(checked, row)
        assert said in ("", *checked.source.classes)
        assert said != label_text(checked.source, row)
    flagged = np.flatnonzero(checked.issue_mask("label"))
    assert all(suggested_label(checked, int(row)) == checked.suggestions[int(row)] for row in flagged)


def test_a_suggestion_for_several_labels_is_the_whole_set(runs, tmp_path):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(80, 6))
    labels = [[name for name, value in zip(("cat", "dog", "owl"), row, strict=False) if value > 0] for row in rows]
    source = wn.open((rows, labels))
    table = ExampleTable(source, read_contents(runs["plan"]))
    table.__dict__["suggestions"] = {0: "add cat, remove dog", 1: "", 2: "remove nobody"}
    before = {name for name, has in zip(source.classes, source.labels[0], strict=True) if has}
    expected = (before | {"cat"}) - {"dog"}
    found = suggested_label(table, 0)
    assert set(found.split(", ")) == expected if expected not in (before, set()) else found == ""
    assert suggested_label(table, 1) == suggested_label(table, 2) == ""
