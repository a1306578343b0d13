"""Columns that mislead, drift, and classes that are confused or too small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from tests.checking.small import named, table
from tests.oracles import checking as oracle
from winnow.checking.class_findings import class_findings
from winnow.checking.columns import _apart, columns, drift
from winnow.core.errors import DataError, InputError


def labelled(n: int = 900, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    x = table(n, seed=seed)
    noise = np.random.default_rng(seed).normal(size=n) * x[:, 0].std()
    return x, (x[:, 0] + x[:, 1] + noise > np.median(x[:, 0] + x[:, 1])).astype(int)


def test_a_column_made_from_the_label_is_found() -> None:
    x, y = labelled()
    assert columns(named(x, y)) == []
    x[:, 5] = y + 0.1 * np.random.default_rng(0).normal(size=len(y))
    found = columns(named(x, y))
    assert [one.subject for one in found] == ["x5"]
    assert found[0].kind == "column"
    assert found[0].id == ""
    assert found[0].probability > 0.9


def test_a_column_made_from_a_target_is_found() -> None:
    x, _ = labelled()
    target = x[:, 2] * x[:, 3] + 0.5
    x[:, 4] = 3 * target + 1
    found = columns(named(x, target.astype(np.float64)))
    assert [one.subject for one in found] == ["x4"]


def test_constant_columns_and_row_numbers() -> None:
    x, y = labelled()
    x[:, 2], x[:, 6] = 4, np.random.default_rng(0).permutation(len(x))
    found = {one.subject: one.evidence for one in columns(named(x, y))}
    assert set(found) == {"x2", "x6"}
    assert "every row" in found["x2"]
    assert "numbers the rows" in found["x6"]
    assert [one.subject for one in columns(named(x))] == ["x6", "x2"]  # labels are not needed


def test_order_plays_no_part() -> None:
    x, y = labelled()
    x[:, 5] = y + 0.1 * np.random.default_rng(0).normal(size=len(y))
    source = named(x, y)
    assert columns(source) == columns(source.at(np.random.default_rng(1).permutation(len(x))))


def test_gap_of_distributions_agrees_with_its_slow_twin() -> None:
    draw = np.random.default_rng(0)
    a, b = draw.integers(0, 9, size=40), draw.integers(2, 9, size=25)
    assert np.isclose(_apart(a, b), oracle.distribution_gap(a.tolist(), b.tolist()))


def test_drift_is_found_where_it_is() -> None:
    x, y = labelled(1500)
    train, test = named(x[:1000], y[:1000]), named(x[1000:], y[1000:])
    assert drift(train, test, x[:1000], x[1000:]) == []
    late = x[1000:].copy()
    late[:, 3] += 0.8 * late[:, 3].std()
    found = drift(train, named(late, y[1000:]), x[:1000], late)
    assert {one.subject for one in found} == {"x3", "embeddings"}
    assert all(one.kind == "drift" and one.probability > 0.99 for one in found)


def test_shares_of_classes_may_drift() -> None:
    x, _ = labelled(1000)
    train = wn.open((x[:600], ["a", "b", "c"] * 200))
    test = wn.open((x[600:], ["a"] * 300 + ["b"] * 100))
    assert {one.subject for one in drift(train, test)} == {"a", "c"}


def test_confused_pairs_of_classes() -> None:
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 5, size=2000)
    said = np.where(draw.random(2000) < 0.05, draw.integers(0, 5, size=2000), labels)
    swap = (draw.random(2000) < 0.3) & (labels < 2)
    said[swap] = 1 - labels[swap]
    found = class_findings(labels, said, ("cat", "dog", "ship", "car", "plane"))
    assert [one.subject for one in found] == ["cat, dog"]
    assert found[0].kind == "class"
    assert found[0].probability > 0.95
    chances = np.eye(5)[said] * 0.8 + 0.04
    assert class_findings(labels, chances, ("cat", "dog", "ship", "car", "plane")) == found


def test_classes_too_small_to_learn() -> None:
    labels = np.repeat([0, 1, 2, 3], [500, 500, 30, 4])
    said = labels.copy()
    said[labels == 2] = 0
    found = {one.subject: one.evidence for one in class_findings(labels, said, ("a", "b", "c", "d"))}
    assert set(found) == {"c", "d", "a, c"}  # and c is taken for a
    assert "4 examples" in found["d"]
    assert "0% are recognised" in found["c"]
    with pytest.raises(InputError, match="must have 4 columns"):
        class_findings(labels, np.ones((1034, 3)), ("a", "b", "c", "d"))


def test_the_summary_says_what_is_wrong_with_each_column_most_serious_first(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    lines = ["city,spend,key,fixed,label"]
    for place in range(120):
        city = "" if place % 10 == 0 else ("Ulm", "Bonn", "Trier")[draw.integers(3)]
        lines.append(f"{city},{draw.normal():.4f},k{place:03d},same,{'xy'[place % 2]}")
    file = tmp_path / "sales.csv"
    file.write_text("\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match="different string in every row"):
        found = wn.check(file, labels="label", kinds="column")
    summary = found.summary().splitlines()
    at = summary.index("  3 findings about columns")
    assert [line.split(":")[0] for line in summary[at + 1 : at + 4]] == ["    key", "    fixed", "    city"]
    assert "a different value in every row" in summary[at + 1]
    assert "every row that has a value has the same" in summary[at + 2]
    assert "12 of 120 values are missing" in summary[at + 3]
    assert found.of("column")["subject"].tolist() == ["key", "fixed", "city"]


def test_equal_rows_are_refused_in_one_sentence() -> None:
    equal = named(np.ones((200, 3), dtype=np.float32), np.arange(200) % 2)
    with pytest.raises(DataError, match=r"all 200 examples of 'arrays' are equal, so nothing tells"):
        wn.check(equal)
