"""Artefacts in a notebook and as data frames."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

from winnow.artefacts import (
    DatasetExplanation,
    Explanation,
    Outcome,
    Plan,
    Scores,
    Signals,
    SoftLabels,
    Source,
    Study,
    Subset,
    Table,
    Targets,
)
from winnow.artefacts.explanation import LabelError, Partner
from winnow.artefacts.notebook_view import MOST_ROWS
from winnow.artefacts.plan import Forecast
from winnow.artefacts.study import Arm
from winnow.core.errors import MissingDependencyError

IDS = np.array(["a", "b", "c"])
LABELS = np.array([1, 0, 1])
CLASSES = ("<cat>", "dog & co")
TABLE = Table(({"arm": "full", "value": 0.123456}, {"arm": "<b>", "value": math.nan}))


def source(**changed: Any) -> Source:
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    given: dict[str, Any] = {"labels": LABELS, "classes": CLASSES, "columns": ("x", "label"), "make_ids": IDS}
    given |= {"kind": "table", "task": "classification", **changed}
    return Source("mine <i>", rows.__getitem__, 3, (2,), **given)


def scores(**changed: Any) -> Scores:
    given = {"task": "classification", "labels": LABELS, "classes": CLASSES, **changed}
    return Scores("el2n", IDS, np.array([1.0, 2.0, 4.0]), **given)


def study() -> Study:
    arms = (Arm("full", "full", 3, 1.0), Arm("<mine>", "subset", 2, 0.5))
    outcomes = tuple(
        Outcome(arm.name, s, "test", 0.5 + s / 10, 0.1, (0.25, 0.75), 7, 1.5) for arm in arms for s in (0, 1)
    )
    return Study("accuracy", arms, outcomes, ("test",), CLASSES)


EXPLANATION = Explanation(
    "a", "<cat>", "dog", "mine", "mlp", 3, (Partner("b", "dog", 0.5, 0.4),), (Partner("c", "dog", -0.5, -0.4),),
    0, 0, 0.9, 1.5, 1,
)  # fmt: skip
ERROR = LabelError("a", "<cat>", 0.9, 0.8, "dog", "b")
EXPLAINED = DatasetExplanation("mine", "mlp", 3, 3, 3, CLASSES, 3, 0, 0, 0.9, (), 1, (ERROR,), ())
PLAN = Plan(("Keep <half>.",), "auto", 0.5, 0.01, forecasts=(Forecast(0.5, "auto", 0.9, 0.8, 1.0, 0.0, 0.01),))
SOFT = SoftLabels(IDS, np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]), CLASSES)
SUBSET = Subset(np.array(["c", "a"]), np.array([2.0, 1.0]), {"method": "el2n+<top>", "sizes": [1, 2]})
SIGNALS = Signals(IDS, {"embeddings": np.ones((3, 4))}, "unlabelled")
TARGETS = Targets(IDS, np.arange(1.0, 7.0).reshape(3, 2), seconds=1.5)

SHOWN = [
    (source(), ["mine &lt;i&gt;", "<td>&lt;cat&gt;</td><td>1</td>", "<td>dog &amp; co</td><td>2</td>"]),
    (source(labels=None, classes=(), task="unlabelled"), ["<td>examples</td><td>3</td>"]),
    (source(labels=np.array([1.0, 2.0, 6.0]), classes=(), task="regression"), ["<td>all</td><td>3</td><td>3</td>"]),
    (scores(), ["<td>&lt;cat&gt;</td><td>1</td><td>2</td>", "<td>dog &amp; co</td><td>2</td><td>2.5</td><td>1</td>"]),
    (scores(task="unlabelled", labels=None, classes=()), ["<td>all</td><td>3</td><td>2.333</td>"]),
    (SUBSET, ["<td>examples</td><td>2</td>", "1 to 2", "el2n+&lt;top&gt;"]),
    (SIGNALS, ["<td>embeddings</td><td>(3, 4)</td>"]),
    (SOFT, ["<td>&lt;cat&gt;</td><td>2</td><td>0.75</td>", "<td>dog &amp; co</td><td>1</td><td>0.75</td>"]),
    (TARGETS, ["<td>numbers each</td><td>2</td>"]),
    (study(), ["&lt;mine&gt;", "55.0"]),
    (PLAN, ["<pre>Keep &lt;half&gt;."]),
    (EXPLANATION, ["label &lt;cat&gt;", "<pre>"]),
    (EXPLAINED, ["&lt;cat&gt;"]),
    (TABLE, ["&lt;b&gt;", "0.1235"]),
]  # fmt: skip


@pytest.mark.parametrize(("made", "parts"), SHOWN, ids=[type(made).__name__ for made, _ in SHOWN])
def test_a_notebook_shows_a_short_escaped_summary(made: Any, parts: list[str]) -> None:
    text = made._repr_html_()
    for part in parts:
        assert part in text
    for raw in ("<cat>", "<mine>", "<top>", "<half>", "<b>", "<i>"):
        assert raw not in text
    assert len(text) < 3000


def test_of_many_classes_the_first_are_shown_and_the_rest_counted() -> None:
    many = MOST_ROWS + 5
    labels = np.arange(2 * many) % many
    found = Scores(
        "s", np.arange(2 * many), labels.astype(float), None, "classification", labels, tuple(map(str, range(many)))
    )
    rows = found._view().rows
    assert len(rows) == MOST_ROWS + 1
    assert rows[-1]["class"] == "and 5 more"
    assert sum(row["examples"] for row in rows) == 2 * many
    assert rows[-1]["lowest"] == MOST_ROWS


def test_a_class_without_examples_is_a_row_without_numbers() -> None:
    found = Scores("s", np.arange(2), np.array([1.0, 3.0]), None, "classification", np.array([1, 1]), ("none", "all"))
    first, second = found._view().rows
    assert first["examples"] == 0
    assert math.isnan(first["mean"])
    assert second["mean"] == 2.0


FRAMES: list[tuple[Any, dict[str, list[Any]]]] = [
    (TABLE, {"arm": ["full", "<b>"], "value": [0.123456, math.nan]}),
    (source(), {"id": [*"abc"], "label": ["dog & co", "<cat>", "dog & co"], "x": [0, 2, 4], "column_label": [1, 3, 5]}),
    (source(kind="tensor", task="unlabelled", labels=None, classes=()), {"id": [*"abc"]}),
    (scores(), {"id": [*"abc"], "score": [1.0, 2.0, 4.0], "label": ["dog & co", "<cat>", "dog & co"]}),
    (
        scores(task="regression", classes=(), labels=np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
        {"id": [*"abc"], "score": [1.0, 2.0, 4.0], "label_0": [1, 3, 5], "label_1": [2, 4, 6]},
    ),
    (SUBSET, {"id": ["a", "c"], "weight": [1.0, 2.0]}),
    (SOFT, {"id": [*"abc"], "<cat>": [0.25, 1.0, 0.5], "dog & co": [0.75, 0.0, 0.5]}),
    (TARGETS, {"id": [*"abc"], "target_0": [1, 3, 5], "target_1": [2, 4, 6]}),
    (
        study(),
        {
            "arm": ["full", "full", "<mine>", "<mine>"],
            "seed": [0, 1, 0, 1],
            "test": ["test"] * 4,
            "accuracy": [0.5, 0.6, 0.5, 0.6],
            "loss": [0.1] * 4,
            "accuracy of <cat>": [0.25] * 4,
            "accuracy of dog & co": [0.75] * 4,
            "iterations": [7] * 4,
            "seconds": [1.5] * 4,
        },
    ),
    (
        PLAN,
        {"keep": [0.5], "policy": ["auto"], "accuracy": [0.9], "low": [0.8], "high": [1.0]}
        | {"lost": [0.0], "lost_high": [0.01]},
    ),
    (
        EXPLANATION,
        {
            "kind": ["same_way", "against"],
            "id": ["b", "c"],
            "label": ["dog"] * 2,
            "cosine": [0.5, -0.5],
            "projection": [0.4, -0.4],
        },
    ),
    (
        EXPLAINED,
        {"id": ["a"], "label": ["<cat>"], "score": [0.9], "bound": [0.8], "suggested": ["dog"], "witness": ["b"]},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("made", "columns"), FRAMES, ids=[type(made).__name__ for made, _ in FRAMES])
def test_a_data_frame_holds_one_row_each(made: Any, columns: dict[str, list[Any]]) -> None:
    frame = made.to_pandas()
    assert list(frame.columns) == list(columns)
    for name, values in columns.items():
        np.testing.assert_array_equal(np.array(frame[name].tolist()), np.array(values))


def test_without_pandas_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="to_pandas needs pandas; install it with: pip install pandas"):
        SUBSET.to_pandas()
