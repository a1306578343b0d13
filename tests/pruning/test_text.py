"""Text, end to end: what people ask for by name runs on it, and its pages show it, escaped."""

from __future__ import annotations

from pathlib import Path

import pytest

import winnow as wn
from tests.corpus import reviews

TEXTS, LABELS = reviews(120)
TEXTS[:3] = ["<b>bold</b> & " + text for text in TEXTS[:3]]
RECIPE = wn.Recipe(epochs=6, batch=16, lr=0.02)
SMALL = "textbag:rows=1024,pair_rows=1024"


@pytest.fixture(scope="module")
def source() -> wn.Source:
    return wn.open((TEXTS, LABELS), name="reviews")


@pytest.fixture(scope="module")
def signals(source: wn.Source) -> wn.Signals:
    return wn.observe(source, SMALL, RECIPE, seeds=1, want=("dynamics", "embeddings", "gradient_norms"))


def test_a_bag_of_words_learns_and_is_observed(source: wn.Source, signals: wn.Signals) -> None:
    assert signals.array("correct")[0, -1].mean() > 0.95
    assert signals.embeddings.shape == (120, 40)
    assert len(wn.select("medoids", signals, keep=0.25)) == 30
    assert len(wn.select("rank", wn.score("grand", signals), keep=0.5)) == 60
    assert wn.embed(source, SMALL).embeddings.shape == (120, 40)


def test_a_proof_on_text_shows_text(source: wn.Source, tmp_path: Path) -> None:
    test = wn.open((reviews(60, 1)[0], reviews(60, 1)[1]))
    found = wn.prune_with_proof(
        source, keep=0.5, method="random", test=test, model=SMALL, recipe=RECIPE, seeds=2, out=tmp_path
    )
    assert len(found.subset) == 60
    assert found.study.of("full")[0].value > 0.8
    page = (tmp_path / "report.html").read_text()
    assert 'class="text">Seen in ' in page
    assert all(text in TEXTS for text in source.texts(found.subset.ids))


def test_a_check_of_text_shows_text_escaped(tmp_path: Path) -> None:
    labels = [{"good": "bad", "bad": "good"}[label] if place < 3 else label for place, label in enumerate(LABELS)]
    found = wn.check((TEXTS, labels), model=SMALL, recipe=RECIPE, kinds=("label", "duplicate"), out=tmp_path)
    first = found.of("label")["id"][:6].tolist()
    assert len(set(first) & set(wn.open((TEXTS, labels)).ids[:3].tolist())) >= 2
    page = (tmp_path / "check.html").read_text()
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; Seen in" in page
    assert "<b>bold" not in page


def test_text_is_explained_and_planned(source: wn.Source, tmp_path: Path) -> None:
    told = wn.explain(source, model=SMALL, recipe=RECIPE, out=tmp_path)
    assert "reviews: textbag" in str(told)
    assert "Seen in " in (tmp_path / "explanation.html").read_text()
    assert "takes 1 training" in str(wn.plan(source, model=SMALL, recipe=RECIPE, seeds=1))


def test_texts_without_labels_are_pruned() -> None:
    assert len(wn.prune(TEXTS, keep=0.25)) == 30
