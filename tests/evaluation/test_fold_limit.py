"""The limit of a loss measured by rotating folds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.oracles import fold_limit as slow
from winnow.artefacts.class_metrics import auroc_marks, class_mean
from winnow.evaluation.fold_limit import FoldLoss, joint_levels


def folds(sizes: tuple[int, ...], trainings: int = 2, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(0.1 * place, 1, (trainings, size)) for place, size in enumerate(sizes)]


def signs(sizes: tuple[int, ...], lost: float, gained: float, trainings: int = 2, seed: int = 0) -> list[np.ndarray]:
    """Right and wrong: each example has a latent place, which most trainings agree on."""
    rng = np.random.default_rng(seed)
    made = []
    for size in sizes:
        latent = rng.normal(0, 1, size) + 0.3 * rng.normal(0, 1, (trainings, size))
        low, high = stats.norm.ppf([gained, 1 - lost]) * np.sqrt(1.09)
        made.append((latent > high).astype(float) - (latent < low))
    return made


@pytest.mark.parametrize("sizes", [(40, 40, 40, 40, 40), (31, 30, 30, 30, 30), (12, 60, 33)])
def test_the_limit_is_the_documented_formula(sizes: tuple[int, ...]) -> None:
    parts = folds(sizes)
    found = FoldLoss.of(parts, binary=False)
    lists = [part.tolist() for part in parts]
    assert found.spread == pytest.approx(slow.spread_between(lists))
    assert found.paired.loss == pytest.approx(np.concatenate(parts, axis=1).mean())
    for earlier in ([], [0.3], [5.0, 0.02, -0.01]):
        upper = found.with_spread(earlier).upper(0.9)
        assert upper == pytest.approx(slow.limit(lists, 0.9, earlier), rel=1e-9)


@pytest.mark.parametrize(("lost", "gained"), [(1e-9, 1e-9), (0.02, 0.005), (0.1, 0.08)])
def test_with_right_and_wrong_few_lost_examples_are_allowed_for(lost: float, gained: float) -> None:
    parts = signs((80, 80, 80, 79, 79), lost, gained)
    found = FoldLoss.of(parts, binary=True).with_spread([0.0001]).upper(0.95)
    assert found == pytest.approx(slow.limit([part.tolist() for part in parts], 0.95, [0.0001], binary=True), rel=1e-3)
    assert found > np.concatenate(parts, axis=1).mean()


def test_no_example_lost_is_not_certainty() -> None:
    z = stats.norm.ppf(0.95)
    found = FoldLoss.of([np.zeros((2, 60))] * 5, binary=True).with_spread([]).upper(0.95)
    assert found == pytest.approx(z**2 / (300 + z**2), rel=0.01)


def test_a_negative_spread_of_one_size_lowers_the_mean_but_never_the_limit_below_the_examples_part() -> None:
    found = FoldLoss.of(folds((50,) * 5), binary=False)
    least = found.with_spread([-9.0]).upper(0.9)
    assert least == pytest.approx(
        found.paired.loss + stats.norm.ppf(0.9) * np.sqrt(found.paired.example_variance / 250)
    )


def test_the_order_of_folds_and_examples_does_not_matter() -> None:
    parts = folds((31, 30, 30, 30, 30))
    turned = [part[:, ::-1] for part in reversed(parts)]
    ours, theirs = (FoldLoss.of(one, binary=False).with_spread([]).upper(0.95) for one in (parts, turned))
    assert ours == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("metric", ["balanced_accuracy", "auroc"])
def test_a_mean_over_classes_is_that_of_all_examples_and_is_covered(metric: str) -> None:
    """One class in eight. The truth is known: the marks of reference and subset are drawn from the same distribution.

    Marks are made within folds, as a network sees them; the loss is the mean over classes of all examples. Limits at
    80 % are below the true loss, zero, about as often as they say, and not much less often.
    """
    rng = np.random.default_rng(3)
    low = 0
    for _ in range(300):
        parts, kinds = [], []
        for _ in range(5):
            labels = np.repeat([0, 1], [70, 10])
            difficulty, marks = rng.normal(0, 1, 80), []
            for _ in range(2):
                evidence = difficulty * 0.5 + rng.normal(0, 1, 80) + 1.2 * labels
                chances = np.stack([-evidence, evidence], axis=1)
                right = ((evidence > 0.6) == (labels == 1)).astype(float)
                made = right if metric == "balanced_accuracy" else auroc_marks(chances, labels)
                assert made is not None
                marks.append(made)
            parts.append((marks[0] - marks[1])[None])
            kinds.append(labels)
        found = FoldLoss.of(parts, binary=True, classes=kinds, area=metric == "auroc")
        together = class_mean(np.concatenate(parts, axis=1)[0], np.concatenate(kinds))
        assert found.paired.loss == pytest.approx(together)
        low += found.with_spread([]).upper(0.8) < 0
    assert 0.08 < low / 300 < 0.24


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_limit_covers_the_truth_as_often_as_it_says(share: float) -> None:
    """As in studies/winning/fold_limit_check.py: part of the variance is the fold's luck, the rest its examples'."""
    rng = np.random.default_rng(0)
    low = 0
    for _ in range(600):
        sizes = [
            FoldLoss.of(
                [
                    np.sqrt(share) * rng.normal() + np.sqrt(30 * (1 - share)) * rng.normal(0, 1, (1, 30))
                    for _ in range(5)
                ],
                binary=False,
            )
            for _ in range(3)
        ]
        low += sizes[2].with_spread([sizes[0].spread, sizes[1].spread]).upper(0.9) < 0
    assert 0.03 < low / 600 < 0.125


def test_two_looks_together_have_the_confidence_wanted() -> None:
    """Slow twin: drawn means of trainings that share nothing else."""
    for first, last, confidence in ((5, 10, 0.95), (5, 20, 0.8)):
        early, late = (stats.norm.ppf(level) for level in joint_levels(first, last, confidence))
        steps = np.random.default_rng(0).standard_normal((200_000, last))
        one = steps[:, :first].sum(1) / np.sqrt(first)
        two = steps.sum(1) / np.sqrt(last)
        assert ((one > early) | (two > late)).mean() == pytest.approx(1 - confidence, abs=0.003)


def test_a_single_look_has_it_all_and_the_first_look_has_little() -> None:
    assert joint_levels(5, 5, 0.9) == (0.9,)
    early, late = joint_levels(5, 10, 0.95)
    assert 1 - early == pytest.approx(0.05 / 8)
    assert 0.95 < late < 0.9625  # what the union bound leaves to it
