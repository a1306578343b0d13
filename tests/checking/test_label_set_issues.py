"""`wn.check` with several labels per example: planted errors are found, with what should be changed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

import winnow as wn
from tests.label_sets import ALONE, NAMES, digits
from winnow.checking.label_set_issues import label_set_issues

RECIPE = wn.Recipe(epochs=8)


@cache
def spoiled() -> tuple[wn.Source, np.ndarray]:
    source = digits(900)
    wrong = np.random.default_rng(0).random(source.labels.shape) < 0.05
    return source.with_labels(np.where(wrong, 1 - source.labels, source.labels), "multilabel", NAMES), wrong


def test_planted_errors_are_found_and_corrected(tmp_path: Path):
    source, wrong = spoiled()
    issues = wn.check(source, model="mlp", recipe=RECIPE, out=tmp_path, engine=ALONE)
    found = issues.of("label")
    at = source.positions(found["id"])
    any_wrong = wrong.any(axis=1)[at]
    flagged = found["flagged"]
    assert any_wrong[flagged].mean() > 0.85
    assert flagged[any_wrong].mean() > 0.6
    assert issues.noise_rate.low < 0.05 < issues.noise_rate.high
    right = [
        set(text.split(", ")) == _changes(source, wrong, place)
        for place, text, sure in zip(at, found["suggestion"], flagged & any_wrong, strict=True)
        if sure
    ]
    assert np.mean(right) > 0.8
    assert "likely fix: " in issues.summary()
    page = (tmp_path / "check.html").read_text()
    assert "3 labels" in page
    assert "add even" in page or "remove even" in page
    out = flagged & (found["probability"] >= 0.5)
    assert np.array_equal(np.isin(found["id"], issues.clean(kinds=("label",)).ids), ~out)


def _changes(source: wn.Source, wrong: np.ndarray, place: int) -> set[str]:
    given = source.labels[place]
    return {f"{'remove' if given[k] else 'add'} {NAMES[k]}" for k in np.flatnonzero(wrong[place])}


def test_verdicts_of_a_person_are_taken_in(tmp_path: Path):
    source, _ = spoiled()
    first = wn.check(source, model="mlp", recipe=RECIPE, kinds=("label",), out=tmp_path, engine=ALONE)
    surest, least = first.of("label")["id"][[0, -1]].tolist()
    marks = {surest: "refused", least: "confirmed"}
    second = wn.check(source, model="mlp", recipe=RECIPE, kinds=("label",), marks=marks, out=tmp_path, engine=ALONE)
    flagged = dict(zip(second.of("label")["id"].tolist(), second.of("label")["flagged"].tolist(), strict=True))
    assert (flagged[surest], flagged[least]) == (False, True)


def test_the_score_is_the_probability_that_any_label_is_wrong():
    source, wrong = spoiled()
    signals = wn.observe(source, "mlp", RECIPE, want=("dynamics", "predictions"), engine=ALONE)
    values = wn.score("mislabelled", signals).values
    bad = wrong.any(axis=1)
    assert values[bad].mean() > 2 * values[~bad].mean()


def test_a_label_that_too_few_examples_have_is_not_judged():
    n = 80
    draw = np.random.default_rng(0)
    given = np.stack([np.arange(n) % 2, np.arange(n) < 3], axis=1).astype(np.uint8)
    chances = np.clip(np.stack([given[:, 0], np.zeros(n)], axis=1) + 0.05 * draw.normal(size=(n, 2)), 0.01, 0.99)
    chances[40, 0] = 1 - chances[40, 0]  # wrong, and of a label that half of all have
    source = wn.open((draw.normal(size=(n, 3)).astype(np.float32), np.arange(n) % 2)).with_labels(
        given, "multilabel", ("even", "rare")
    )
    arrays = {name: chances[None].astype(np.float32) for name in ("oof", "predictions")}
    seen = wn.Signals(source.ids, arrays, "multilabel", given, source.classes)
    row = label_set_issues(source, seen).ranking
    assert np.flatnonzero(row["flagged"]).tolist() == [40]
    assert (row["probability"][:3] > 0.2).all()
    assert row["evidence"][0] == "not judged: rare has 3 examples, too few to tell whether a label is wrong"
