"""Balanced accuracy, macro F1 and AUROC: equal to scikit-learn's, with intervals that cover."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score

import winnow as wn
from winnow.artefacts.class_metrics import auroc_marks, by_class, class_mean, f1_marks, metric_of
from winnow.artefacts.intervals import crossed, paired
from winnow.artefacts.study import Arm, Outcome
from winnow.core.errors import NotDefinedError, UnknownNameError

SHARES = np.array([0.6, 0.25, 0.15])


def drawn(n: int, rng: np.random.Generator, help: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Labels of uneven classes, and probabilities that know something of them."""
    labels = rng.choice(3, n, p=SHARES)
    labels[:3] = [0, 1, 2]
    logits = rng.normal(size=(n, 3))
    logits[np.arange(n), labels] += help
    chances = np.exp(logits)
    return labels, chances / chances.sum(1, keepdims=True)


def marks_of(metric: str, chances: np.ndarray, labels: np.ndarray) -> np.ndarray:
    predicted = chances.argmax(1)
    if metric == "auroc":
        found = auroc_marks(chances, labels)
        assert found is not None
        return found
    return f1_marks(predicted, labels, 3) if metric == "macro_f1" else (predicted == labels).astype(float)


def slow(metric: str, chances: np.ndarray, labels: np.ndarray) -> float:
    predicted = chances.argmax(1)
    if metric == "auroc":
        return float(roc_auc_score(labels, chances, multi_class="ovr"))
    if metric == "macro_f1":
        return float(f1_score(labels, predicted, average="macro"))
    return float(balanced_accuracy_score(labels, predicted))


@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1", "auroc"])
def test_class_means_of_marks_are_the_metric(metric: str) -> None:
    for seed in range(5):
        labels, chances = drawn(80, np.random.default_rng(seed))
        chances = chances.round(1) / chances.round(1).sum(1, keepdims=True)  # with ties
        assert class_mean(marks_of(metric, chances, labels), labels) == pytest.approx(slow(metric, chances, labels))


def test_classes_that_the_test_set_lacks_do_not_count() -> None:
    labels = np.array([0, 0, 2, 2])
    assert class_mean(f1_marks(np.array([0, 1, 2, 2]), labels, 4), labels) == pytest.approx((2 / 3 + 1) / 2)
    assert auroc_marks(np.eye(3)[labels], np.zeros(4, dtype=int)) is None


@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1", "auroc"])
def test_the_error_from_test_examples_is_that_of_new_test_sets(metric: str) -> None:
    """One model, many test sets: the standard error of one is about the spread over all."""
    rng = np.random.default_rng(1)
    values, errors = [], []
    for _ in range(300):
        labels, chances = drawn(300, rng)
        marks = marks_of(metric, chances, labels)
        values.append(class_mean(marks, labels))
        errors.append(crossed(np.stack([marks, marks]), counted="shares", classes=labels).example_error)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.15)


@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1", "auroc"])
def test_the_error_of_a_difference_is_paired_by_example(metric: str) -> None:
    rng = np.random.default_rng(2)
    gaps, errors = [], []
    for _ in range(200):
        labels, chances = drawn(300, rng)
        other = chances ** rng.uniform(0.5, 1.5, (300, 1)) * rng.uniform(0.6, 1.4, chances.shape)
        ours, theirs = (marks_of(metric, one / one.sum(1, keepdims=True), labels) for one in (chances, other))
        found = paired([ours, ours], [theirs, theirs], classes=labels)
        gaps.append(found.centre)
        errors.append(found.example_error)
    wide = 1.7 if metric == "auroc" else 1.2  # the examples added for safety weigh more where differences are small
    assert 0.95 * np.std(gaps) < np.mean(errors) < wide * np.std(gaps)


def test_the_interval_of_an_area_is_as_wide_as_the_area_varies() -> None:
    rng, found, gaps, covered = np.random.default_rng(0), [], [], 0
    for _ in range(80):
        labels = (rng.random(400) < 0.2).astype(int)
        known = rng.normal(size=400) + 2.0 * (2 * labels - 1)
        rows = []
        for _seed in range(10):
            chance = 1 / (1 + np.exp(-(known + 0.4 * rng.normal(size=400))))
            marks = auroc_marks(np.stack([1 - chance, chance], 1), labels)
            assert marks is not None
            rows.append(marks)
        gap = paired(rows[:5], rows[5:], area=True, classes=labels)
        gaps.append(gap.centre)
        found.append(np.hypot(gap.seed_error, gap.example_error))
        covered += gap.low <= 0 <= gap.high
    assert np.sqrt(np.mean(np.square(found))) < 1.5 * np.std(gaps)  # 7 times with examples that count as whole ones
    assert covered >= 72
    alone = crossed(np.array(rows[:5]), counted="areas", classes=labels)
    assert alone.low < class_mean(np.mean(rows[:5], 0), labels) < alone.high <= 1


def test_areas_that_are_all_equal_are_no_certainty() -> None:
    labels, marks = np.arange(40) % 2, np.ones((5, 40))
    assert crossed(marks, counted="areas", classes=labels).low < 1
    assert (
        paired(marks, marks, area=True, classes=labels).low < 0 < paired(marks, marks, area=True, classes=labels).high
    )


def test_balanced_classes_have_about_the_interval_of_accuracy_and_perfection_is_no_certainty() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 50)
    right = (rng.random((3, 200)) < 0.8).astype(float)
    plain, balanced = crossed(right, counted="shares"), crossed(right, counted="shares", classes=labels)
    assert balanced.centre == pytest.approx(plain.centre)
    assert balanced.half_width == pytest.approx(plain.half_width, rel=0.1)
    sure = crossed(np.ones((3, 200)), counted="shares", classes=labels)
    assert sure.low < 0.99
    assert crossed(np.ones((3, 4)), counted="shares", classes=np.arange(4)).low < 0.7  # one example per class


def test_rewritten_marks_average_to_the_mean_over_classes() -> None:
    rng = np.random.default_rng(0)
    values, labels = rng.random((3, 50)), rng.choice(3, 50, p=SHARES)
    made, extra = by_class(values, labels, ())
    assert np.allclose(made.mean(1), [class_mean(row, labels) for row in values])
    assert extra == 0


def test_a_study_has_all_metrics_with_intervals_and_keeps_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 4))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=400) > 1, "rare", "common")
    source = wn.open((x[:200], y[:200]))
    test = wn.open((x[200:], y[200:]))
    how = {"test": test, "recipe": wn.Recipe(epochs=3), "seeds": 3, "engine": wn.Local(workers=1), "model": "mlp"}
    half = {"half": wn.Subset(source.ids[:100])}
    study = wn.evaluate(source, half, metric="macro_f1", out=tmp_path / "run", **how)
    assert study.metrics == ("macro_f1", "accuracy", "balanced_accuracy", "auroc")
    again = wn.Study.load(study.save(tmp_path / "study"))
    for one in (study, again):
        rows = {row["arm"]: row for row in one.table()}
        for word in one.metrics[1:]:
            assert rows["half"][f"{word}_low"] < rows["half"][word] < rows["half"][f"{word}_high"]
        assert rows["half"]["macro_f1"] == pytest.approx(np.mean([o.value for o in one.of("half").values()]))
        assert rows["half"]["auroc"] == pytest.approx(np.mean([o.auroc for o in one.of("half").values()]), abs=1e-5)
        assert "macro F1" in str(one.summary())
        assert one.versus("half", "full", metric="auroc").low < one.versus("half", "full", metric="auroc").high
    assert list(again.table()) == list(study.table())
    assert {"accuracy", "auroc", "accuracy of rare"} <= set(study.to_pandas().columns)
    page = study.report(tmp_path / "report.html").read_text()
    assert "macro F1" in page
    assert "AUROC" in page
    # the other metric is there already: nothing is trained again
    other = wn.evaluate(source, half, metric="auroc", out=tmp_path / "run", **how)
    assert other.metric == "auroc"
    assert [o.seconds for o in other.outcomes] == [o.seconds for o in study.outcomes]
    with pytest.raises(UnknownNameError, match="unknown metric of study 'r2'"):
        study.interval("half", metric="r2")


def test_a_study_of_an_earlier_version_has_accuracy_alone(tmp_path: Path) -> None:
    arms = (Arm("full", "full", 100, 1.0),)
    outcomes = tuple(Outcome("full", k, "test", 0.9 + k / 100, 0.3, (0.9, 0.9), 40, 2.0) for k in (0, 1))
    study = wn.Study("accuracy", arms, outcomes, ("test",), ("a", "b"))
    again = wn.Study.load(study.save(tmp_path / "study"))
    assert again.metrics == ("accuracy",)
    assert "auroc" not in again.table()[0]
    assert again.interval("full").centre == pytest.approx(0.905)


def test_a_metric_of_another_task_is_refused() -> None:
    assert metric_of("classification", None, "evaluate") == "accuracy"
    assert metric_of("regression", None, "evaluate") == "r2"
    with pytest.raises(NotDefinedError, match="metric of evaluate must be r2 for a regression; got auroc"):
        metric_of("regression", "auroc", "evaluate")
    with pytest.raises(NotDefinedError, match="for classes; got r2"):
        metric_of("classification", "r2", "evaluate")
