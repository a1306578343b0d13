"""Issues: one row per finding, whole after saving, and what to keep."""

from __future__ import annotations

import csv
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winnow.artefacts import Finding, Interval, Issues, Scores
from winnow.artefacts.verdicts import read_marks
from winnow.core.errors import InputError, NotFoundError, StoreError, UnknownNameError

NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"]
RANKING: dict[str, Any] = {
    "id": NAMES,
    "probability": [0.9, 0.1, 0.2, 0.7, 0.0, 0.3, 0.05, 0.6],
    "label": ["cat"] * 4 + ["dog"] * 4,
    "suggestion": ["dog", "", "", "dog", "", "", "", "cat"],
    "suggestion_probability": [0.8, math.nan, math.nan, 0.6, math.nan, math.nan, math.nan, 0.5],
    "evidence": ["dog in every fold"] + [""] * 7,
    "flagged": [True, False, False, True, False, False, False, True],
}
FINDINGS = [
    Finding("duplicate", 1.0, "the same pixels as b", id="c", group=0, other="b", flagged=True),
    Finding("outlier", 0.8, "far from everything", id="e"),
    Finding("leak", 0.99, "in the test set", id="f", other="t1", flagged=True),
    Finding("class", 0.7, "confused in 8 % of the cases", subject="cat and dog"),
]


def made(findings: Any = FINDINGS, **changes: Any) -> Issues:
    given: dict[str, Any] = {
        "ranking": RANKING,
        "source": "pets",
        "task": "classification",
        "classes": ("cat", "dog"),
        "noise_rate": Interval(0.3, 0.2, 0.4, 5),
        "confusion": [[0.9, 0.1], [0.2, 0.8]],
        "provenance": {"step": "check"},
    }
    return Issues.of_findings(findings, **{**given, **changes})


def numbered(**changes: Any) -> Issues:
    return made(
        [Finding("duplicate", 1.0, "", id=2, group=0, other="1", flagged=True), Finding("drift", 0.5, "", subject="x")],
        ranking={**RANKING, "id": np.arange(8)},
        **changes,
    )


@pytest.mark.parametrize("one", [made(), numbered(), made([], noise_rate=None, confusion=None)])
def test_the_same_after_saving(one: Issues, tmp_path: Path) -> None:
    again = Issues.load(one.save(tmp_path / "issues.parquet"))
    for name in ("ids", "kinds", "probabilities", "labels", "suggestions", "evidence", "subjects", "groups", "others"):
        assert getattr(again, name).tolist() == getattr(one, name).tolist()
        assert getattr(again, name).dtype == getattr(one, name).dtype
    np.testing.assert_array_equal(again.suggestion_probabilities, one.suggestion_probabilities)
    assert again.flagged.tolist() == one.flagged.tolist()
    assert again.verdicts.tolist() == one.verdicts.tolist()
    assert again.noise_rate == one.noise_rate or math.isnan(again.noise_rate.seed_error)  # type: ignore[union-attr]
    assert np.array_equal(again.confusion, one.confusion) if one.confusion is not None else again.confusion is None
    assert (again.source, again.task, again.classes) == (one.source, one.task, one.classes)
    assert again.save(tmp_path / "twice.parquet").read_bytes() == (tmp_path / "issues.parquet").read_bytes()


def test_columns_are_frozen() -> None:
    with pytest.raises(ValueError, match="read-only"):
        made().flagged[0] = False


def test_counts_and_rows_by_kind() -> None:
    found = made()
    assert found.counts() == {"label": 3, "duplicate": 1, "leak": 1, "outlier": 1, "class": 1}
    assert found.examples == 8
    assert found.of("label")["id"].tolist() == ["a", "d", "h", "f", "c", "b", "g", "e"]
    assert found.of("value")["id"].tolist() == []
    assert repr(found) == "Issues('pets': 8 examples; 3 label, 1 duplicate, 1 leak, 1 outlier, 1 class)"


def test_the_table_has_the_surest_issues_first() -> None:
    table = made().table(limit=3)
    assert [(row["id"], row["kind"]) for row in table] == [("c", "duplicate"), ("f", "leak"), ("a", "label")]
    assert [row["id"] for row in made().table("label", limit=2)] == ["a", "d"]
    assert "likely" not in made()._repr_html_()
    assert numbered().table("drift")[0]["id"] == ""


def test_clean_leaves_out_what_is_flagged_and_says_how_many() -> None:
    kept = made().clean()
    assert kept.ids.tolist() == ["b", "e", "g"]
    assert kept.certificate["cleaned_of"] == {"label": 3, "duplicate": 1, "leak": 1}
    assert kept.certificate["left_out"] == 5
    assert made().clean(kinds=("outlier", "duplicate")).ids.tolist() == ["a", "b", "d", "e", "f", "g", "h"]
    assert made().left_out(()) == 0
    assert numbered().clean().ids.tolist() == [1, 4, 5, 6]


def test_a_group_never_disappears_because_its_representative_is_mislabelled() -> None:
    twins = [Finding("duplicate", 1.0, "", id=id, group=4, other="a", flagged=True) for id in ("b", "c", "h")]
    kept = made(twins).clean()
    assert kept.ids.tolist() == ["b", "e", "f", "g"]
    assert kept.certificate["cleaned_of"] == {"label": 3, "duplicate": 2}


def test_clean_refuses_to_leave_nothing() -> None:
    with pytest.raises(InputError, match="would leave nothing of 'pets'"):
        made([], ranking={**RANKING, "probability": np.ones(8), "flagged": np.ones(8, dtype=bool)}).clean()


def test_a_persons_verdict_outweighs_the_flag() -> None:
    marked = made().with_marks({"a": "refused", "b": True})
    assert marked.marks() == {"a": "refused", "b": "confirmed"}
    assert marked.clean().ids.tolist() == ["a", "c", "e", "g"]  # c, since its twin b is out
    assert marked.counts()["label"] == 3
    assert marked.marks("outlier") == {}


def test_the_summary_is_short_and_plain() -> None:
    text = made().with_marks({"a": True}).summary()
    assert len(text.splitlines()) <= 15
    assert "8 examples checked" in text
    assert "An estimated 30.0 % of the labels are wrong (20.0 to 40.0 %)." in text
    assert "3 labels that are likely wrong, for example a labelled cat, likely dog" in text
    assert "1 finding about classes: cat and dog" in text
    assert "confirmed 1 and refused 0" in text
    assert "keeps 3 examples and leaves out 5" in text
    clean = made([], ranking={"id": NAMES, "probability": np.zeros(8)}, noise_rate=None).summary()
    assert clean == "pets: 8 examples checked.\nNo issue was found."


@pytest.mark.parametrize("task", ["regression", "unlabelled"])
def test_other_tasks_rank_every_example_too(task: str) -> None:
    ranking = {"id": NAMES, "probability": np.linspace(0, 1, 8), "flagged": np.arange(8) == 7}
    found = made([], ranking=ranking, task=task, classes=(), confusion=None)
    assert len(found.clean()) == (7 if task == "regression" else 8)  # an unlabelled example is left out for a reason
    assert found.table()[0]["id"] == "h"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranking": {**RANKING, "probability": [2.0] * 8}}, "probability of issues must be in .0, 1.; got 2"),
        ({"ranking": {**RANKING, "probability": [math.nan] * 8}}, "probability of issues must be in .0, 1.; got nan"),
        ({"ranking": {**RANKING, "suggestion_probability": [-1.0] * 8}}, "suggestion_probability of issues must be"),
        ({"ranking": {**RANKING, "evidence": ["x"]}}, "evidence of issues must have 12 values"),
        ({"ranking": {**RANKING, "label": list(range(8))}}, "label of issues must be text"),
        ({"ranking": {**RANKING, "group": ["x"] * 8}}, "group of issues cannot be read"),
        ({"ranking": {**RANKING, "colour": ["x"] * 8}}, "has no column 'colour'"),
        ({"ranking": {**RANKING, "id": ["a"] * 8}}, "ids of the label rows of issues must be unique"),
        ({"ranking": None}, "ids of the label rows of issues must be a non-empty vector"),
        ({"ranking": {**RANKING, "id": range(8)}}, "ids of the findings must be like"),
        ({"findings": [Finding("outlier", 0.5, "", id="zz")]}, "has no example with id zz"),
        ({"confusion": [[1.0]]}, "confusion of issues must have 2 rows"),
        ({"confusion": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]}, "must be 2 x 2"),
    ],
)
def test_bad_values_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(**change)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown kind of issues 'lable' \(nearest: 'label'\)"):
        made([Finding("lable", 0.5, "", id="a")])
    with pytest.raises(UnknownNameError, match="unknown verdict"):
        made([Finding("outlier", 0.5, "", id="a", verdict="maybe")])
    with pytest.raises(UnknownNameError, match=r"kinds of Issues\.clean"):
        made().clean(kinds=("class",))
    with pytest.raises(UnknownNameError, match="task"):
        made(task="sorting")


def test_another_artefact_is_not_read(tmp_path: Path) -> None:
    path = Scores("mine", ["a"], [1.0]).save(tmp_path / "scores.parquet")
    with pytest.raises(StoreError, match="expected 'issues'"):
        Issues.load(path)


def test_a_million_rows_are_quick(tmp_path: Path) -> None:
    n = 1_000_000
    rng = np.random.default_rng(0)
    ranking = {
        "id": np.arange(n),
        "probability": rng.random(n),
        "label": np.array(["cat", "dog"], dtype=object)[rng.integers(0, 2, n)],
        "evidence": np.array(["", "five folds of five say dog, with a mean probability of 0.93"], dtype=object)[
            (rng.random(n) < 0.1).astype(int)
        ],
        "flagged": rng.random(n) < 0.05,
    }
    start = time.perf_counter()
    found = made([Finding("outlier", 0.5, "far", id=3)], ranking=ranking)
    again = Issues.load(found.save(tmp_path / "issues.parquet"))
    assert len(again.clean()) == n - int(np.count_nonzero(ranking["flagged"] & (ranking["probability"] >= 0.5)))
    assert len(again.table()) == 20
    assert again.summary()
    assert time.perf_counter() - start < 30


def test_marks_come_back_from_every_form(tmp_path: Path) -> None:
    marked = made().with_marks({"a": True, "b": False})
    wanted = {"a": "confirmed", "b": "refused"}
    page = tmp_path / "marks.csv"
    page.write_text('﻿id,kind,verdict\na,label,confirmed\nb,label,refused\nc,duplicate,refused\n"d",label,\n')
    bare = tmp_path / "bare.csv"
    bare.write_text("id,verdict\na,confirmed\nb,refused\n")
    forms = (
        marked,
        wanted,
        {"a": np.bool_(True), "b": False},
        page,
        str(bare),
        marked.save(tmp_path / "issues.parquet"),
        marked.to_csv(tmp_path / "issues.csv"),
    )
    for form in forms:
        assert read_marks(form) == wanted
        assert made().with_marks(form).marks() == wanted
    assert read_marks(None) == {}
    assert read_marks(page, "duplicate") == {"c": "refused"}
    assert made().with_marks(page).marks("duplicate") == {"c": "refused"}
    assert numbered().with_marks({3: True}).marks() == {3: "confirmed"}
    assert numbered().with_marks({"3": True}).clean().ids.tolist() == [1, 4, 5, 6]


def test_marks_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='must be "confirmed" or "refused"'):
        read_marks({"a": "perhaps"})
    with pytest.raises(InputError, match="must be Issues, a mapping"):
        read_marks(["a"])
    with pytest.raises(NotFoundError, match="there is no file"):
        read_marks(tmp_path / "none.csv")
    odd = tmp_path / "odd.csv"
    odd.write_text("name\na\n")
    with pytest.raises(StoreError, match="has no column 'id'"):
        read_marks(odd)
    torn = tmp_path / "torn.parquet"
    torn.write_text("no parquet")
    with pytest.raises(StoreError, match="cannot be read as CSV or parquet"):
        read_marks(torn)
    both = tmp_path / "both.csv"
    both.write_text("id,verdict\na,confirmed\na,refused\n")
    with pytest.raises(InputError, match="both confirmed and refused"):
        read_marks(both)


def test_csv_holds_every_row(tmp_path: Path) -> None:
    hostile = 'line one\nline "two", three'
    found = made([Finding("outlier", 0.5, hostile, id="a")])
    with found.to_csv(tmp_path / "issues.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    assert rows[-1]["evidence"] == hostile
    assert found.to_pandas()["kind"].tolist() == ["label"] * 8 + ["outlier"]


def test_clean_leaves_out_flagged_labels_only_if_they_are_more_likely_wrong_than_right() -> None:
    ranking = {"id": ["a", "b", "c", "d"], "probability": [0.9, 0.4, 0.3, 0.1], "flagged": [True, True, True, False]}
    found = Issues.of_findings([], ranking=ranking, source="toy", task="classification")
    assert found.counts() == {"label": 3}
    assert found.clean().ids.tolist() == ["b", "c", "d"]
    assert found.with_marks({"b": "confirmed", "a": "refused"}).clean().ids.tolist() == ["a", "c", "d"]


def test_the_sample_to_mark_is_half_random_and_half_where_it_is_unsure() -> None:
    sure = np.zeros(2_000)
    sure[:100], sure[100:200] = 0.5, 1.0
    ranking = {"id": np.arange(2_000), "probability": sure}
    found = Issues.of_findings([], ranking=ranking, source="many", task="classification")
    ids = found.to_mark(60, seed=3)
    assert len(set(ids.tolist())) == 60
    assert 30 <= (ids < 100).sum() <= 40  # half of them, and a twentieth of the others
    assert found.to_mark(60, seed=3).tolist() == ids.tolist()
    assert found.to_mark(60, seed=4).tolist() != ids.tolist()
    assert sorted(found.with_marks({3: True}).to_mark(5_000).tolist()) == [one for one in range(2_000) if one != 3]
    with pytest.raises(InputError, match=r"count of Issues\.to_mark"):
        found.to_mark(0)
