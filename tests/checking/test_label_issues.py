"""Label issues: flags and words follow from the probability, a person's verdicts are final; targets of a regression."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import winnow as wn
from winnow.artefacts import Signals, Source
from winnow.checking.label_issues import (
    LEAST_FLAGGED,
    UNJUDGED,
    flagged_from,
    label_issues,
    target_issues,
)
from winnow.checking.label_words import Judged, label_words
from winnow.report.check_page import render_check
from winnow.scores.mislabelled import label_evidence

N = 120


@pytest.fixture(scope="module")
def source() -> Source:
    """Three classes; the labels of the first ten examples are wrong."""
    truth = np.arange(N) % 3
    given = np.where(np.arange(N) < 10, (truth + 1) % 3, truth)
    ids = [f"e{place:03d}" for place in range(N)]
    return wn.open((np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32), given), ids=ids)


@pytest.fixture(scope="module")
def signals(source: Source) -> Signals:
    """Networks that know the truth, apart from example 20, which is hard, and 30, which two classes claim."""
    draw = np.random.default_rng(1)
    truth, rows = np.arange(N) % 3, np.arange(N)
    oof = np.full((N, 3), 0.02) + 0.02 * draw.random((N, 3))
    oof[rows, truth] = 0.8 + 0.2 * draw.random(N)
    oof[20] = [0.44, 0.26, 0.3]  # its label is 2
    oof[30] = [0.5, 0.49, 0.01]  # its label is 0
    oof /= oof.sum(axis=1, keepdims=True)
    margins = np.where(rows < 10, -2.0, 3.0) + 0.5 * draw.normal(size=N)
    margins[[20, 30]] = 4.0
    epochs = np.stack([margins, margins])[None].astype(np.float32)
    arrays = {"oof": oof[None].astype(np.float32), "margins": epochs, "predictions": oof[None].astype(np.float32)}
    return Signals(source.ids, arrays, "classification", source.labels, source.classes, (1, 2), 2)


def test_wrong_labels_are_flagged_and_nothing_else(source, signals) -> None:
    found = label_issues(source, signals)
    row = found.ranking
    assert np.array_equal(row["id"], source.ids)
    assert np.flatnonzero(row["flagged"]).tolist() == list(range(10))
    assert row["suggestion"][:10].tolist() == [source.classes[k] for k in np.arange(10) % 3]
    assert all("not trained on it give" in words for words in row["evidence"][:10])
    assert row["evidence"][50] == "nothing speaks against the label"
    assert found.noise_rate is not None
    assert found.noise_rate.low < found.noise_rate.centre < found.noise_rate.high
    assert found.noise_rate.centre == pytest.approx(row["probability"].mean())


@pytest.mark.parametrize("power", [0.3, 1.0, 3.0, 12.0])
def test_the_border_of_what_is_flagged_gives_the_best_expected_f1(power: float) -> None:
    sure = np.random.default_rng(4).random(400) ** power
    expected = {
        float(one): 2 * sum(p for p in sure if p >= one) / (sum(1 for p in sure if p >= one) + sum(sure))
        for one in sure.tolist()
    }
    best = max(expected, key=lambda one: expected[one])
    assert flagged_from(sure) == max(best, LEAST_FLAGGED)
    assert best == pytest.approx(expected[best] / 2, abs=0.02)  # the best border is half of the best F1


def test_hardly_any_errors_are_not_flagged_at_any_price() -> None:
    sure = np.full(1000, 0.01)
    sure[:3] = [0.9, 0.31, 0.2]
    assert np.flatnonzero(sure >= flagged_from(sure)).tolist() in ([0], [0, 1])
    assert not (np.zeros(50) >= flagged_from(np.zeros(50))).any()


def test_the_confusion_has_the_errors_where_they_were_made(source, signals) -> None:
    confusion = label_issues(source, signals).confusion
    assert confusion is not None
    assert np.allclose(confusion.sum(axis=1), 1)
    away = confusion - np.diag(np.diag(confusion))
    assert away.argmax(axis=1).tolist() == [1, 2, 0]  # every wrong label is the next class


def test_hard_and_ambiguous_examples_are_told_from_wrong_ones(source, signals) -> None:
    found = label_issues(source, signals)
    assert found.ranking["evidence"][20].startswith("hard, not wrong")
    assert found.ranking["evidence"][30].startswith("two plausible classes, the given one and 1")
    (claimed,) = found.findings
    assert (claimed.kind, claimed.id, claimed.label, claimed.suggestion) == ("ambiguous", "e030", "0", "1")
    assert not claimed.flagged
    assert claimed.probability > 0.7


def test_verdicts_are_final(source, signals) -> None:
    row = label_issues(source, signals, {"e000": "refused", "e050": "confirmed"}).ranking
    assert (row["probability"][0], row["probability"][50]) == (0.0, 1.0)
    assert (row["flagged"][0], row["flagged"][50]) == (False, True)
    assert (row["verdict"][0], row["verdict"][50], row["verdict"][1]) == ("refused", "confirmed", "")


def test_verdicts_narrow_the_noise_rate(source, signals) -> None:
    alone = label_issues(source, signals).noise_rate
    said = {f"e{place:03d}": "confirmed" if place < 10 else "refused" for place in range(N)}
    known = label_issues(source, signals, said).noise_rate
    assert alone is not None
    assert known is not None
    assert known.centre == pytest.approx(10 / N)
    assert known.half_width < 1e-9 < alone.half_width


def test_near_duplicates_with_another_label_raise_the_probability(source, signals) -> None:
    row = label_issues(source, signals, None, {60: 0.9, 0: 0.1}).ranking
    assert row["probability"][60] == pytest.approx(0.9)
    assert row["flagged"][60]
    assert row["probability"][0] > 0.5  # a weaker conflict lowers nothing


def regression() -> tuple[Source, Signals]:
    draw = np.random.default_rng(2)
    x = draw.normal(size=(200, 3)).astype(np.float32)
    expected = 100 + 10 * x[:, 0]
    target = expected + draw.normal(size=200)
    target[:5] += 40
    source = wn.open((x, target), ids=[f"e{place:03d}" for place in range(200)])
    oof = expected.astype(np.float32)[None, :, None]
    return source, Signals(source.ids, {"oof": oof}, "regression", source.labels)


def test_targets_far_from_their_prediction_are_flagged() -> None:
    source, signals = regression()
    found = target_issues(source, signals)
    assert np.flatnonzero(found.ranking["flagged"]).tolist() == list(range(5))
    assert found.noise_rate is not None
    assert found.noise_rate.centre == pytest.approx(5 / 200)
    assert "expected by a network that was not trained on it" in found.ranking["evidence"][0]
    assert found.confusion is None
    far = np.abs(np.asarray(source.labels) - signals.array("oof")[0, :, 0])
    assert (found.ranking["probability"][np.argsort(far)[:150]] < 0.5).all()


def test_verdicts_on_targets() -> None:
    source, signals = regression()
    row = target_issues(source, signals, {"e000": "refused", "e100": "confirmed"}).ranking
    assert np.flatnonzero(row["flagged"]).tolist() == [1, 2, 3, 4, 100]


def test_targets_all_predicted_exactly_are_fine() -> None:
    source, signals = regression()
    exact = np.asarray(source.labels, dtype=np.float32)[None, :, None]
    found = target_issues(source, replace(signals, arrays={"oof": exact}))
    assert not found.ranking["flagged"].any()


def with_labels(source: Source, signals: Signals, given: np.ndarray) -> tuple[Source, Signals]:
    """The same with other class numbers."""
    made = wn.open((source.read(np.arange(N)), given), ids=list(source.ids))
    return made, replace(signals, labels=made.labels, classes=made.classes)


def test_a_class_that_is_too_small_to_judge_is_not_flagged_but_ranked(source, signals) -> None:
    given = np.where(np.arange(N) % 3 == 2, (np.arange(N) // 3) % 2, np.arange(N) % 3)
    given[[50, 53]] = 2  # the only two of their class, and no network knows it
    rare = np.flatnonzero(given == 2).tolist()
    assert rare == [50, 53]
    oof = signals.array("oof").copy()
    oof[0, rare] = [0.98, 0.01, 0.01]
    small, seen = with_labels(source, replace(signals, arrays={**signals.arrays, "oof": oof}), given)
    found = label_issues(small, seen)
    assert (found.ranking["probability"][rare] > 0.5).all()
    assert not found.ranking["flagged"][rare].any()
    assert not {one.id for one in found.findings} & set(small.ids[rare].tolist())
    words = "not judged: 2 has 2 examples, too few to tell whether a label is wrong"
    assert found.ranking["evidence"][rare].tolist() == [words, words]
    marked = label_issues(small, seen, {small.ids[50]: "confirmed"}, {53: 0.9}).ranking["flagged"]
    assert (marked[50], marked[53]) == (True, False)


def test_the_evidence_does_not_contradict_the_verdict(source, signals) -> None:
    margins = np.full((1, 2, N), 3.0, dtype=np.float32)
    margins[..., :10], margins[..., 60] = -2.0, -60.0  # 60 is predicted right by the others, but learned by none
    seen = replace(signals, arrays={**signals.arrays, "margins": margins})
    row = label_issues(source, seen, {source.ids[61].item(): "confirmed"}, {62: 0.9}).ranking
    for place, why in (
        (61, "confirmed by a person"),
        (62, "most of its near-duplicates have another label"),
    ):
        assert row["flagged"][place]
        assert row["evidence"][place].startswith(f"{why}, though networks that were not trained on it give ")
    judged = Judged(label_evidence(seen), np.arange(N) == 60, True, *np.zeros((2, N), dtype=bool), np.full(N, ""))
    late = label_words(judged, seen, np.array(source.classes))[60]
    assert late.startswith("networks that were trained on it learned the label late or never, though networks")
    assert all(words.startswith("networks that were not trained on it give") for words in row["evidence"][:10])


def test_networks_that_know_nothing_judge_nothing(source, signals) -> None:
    draw = np.random.default_rng(5)
    noise = np.stack([0.5 + 0.1 * draw.random(N), np.full(N, 0.45)], axis=1)
    noise /= noise.sum(axis=1, keepdims=True)
    said = dict.fromkeys(("oof", "predictions"), noise[None].astype(np.float32))
    seen = replace(signals, arrays={**signals.arrays, **said}, labels=np.arange(N) % 2, classes=("0", "1"))
    blind, seen = with_labels(source, seen, draw.integers(2, size=N))
    found = label_issues(blind, seen, {blind.ids[3].item(): "confirmed"}, {7: 0.9})
    assert (found.noise_rate, found.confusion, found.findings) == (None, None, [])
    assert np.flatnonzero(found.ranking["flagged"]).tolist() == [3, 7]  # a person and near-duplicates need no network
    assert found.ranking["evidence"][7] == "most of its near-duplicates have another label"
    assert "no better than always naming the largest class" in found.unjudged
    assert "no better than always naming the largest class" in found.ranking["evidence"][0]
    assert len(set(found.ranking["probability"].tolist())) > 50


def test_a_summary_says_that_labels_cannot_be_judged(tmp_path) -> None:
    ranking = {"id": ["a", "b"], "probability": [0.2, 0.1]}
    found = wn.Issues.of_findings(
        [], ranking=ranking, source="toy", task="classification", classes=("x", "y"), unjudged=UNJUDGED
    )
    saved = wn.Issues.load(found.save(tmp_path / "issues.parquet"))
    assert saved.unjudged == UNJUDGED
    assert saved.summary().splitlines()[1:3] == [UNJUDGED, "No other issue was found."]
    assert UNJUDGED in render_check(saved)
