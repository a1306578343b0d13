"""The upper limit of a paired loss."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from winnow.evaluation.loss_limit import PairedLoss


def test_the_limit_of_a_regression_is_the_documented_formula() -> None:
    d = np.random.default_rng(0).normal(0.1, 1, (4, 50)) + np.arange(50) / 50
    found = PairedLoss.of(d, binary=False)
    rest = d - d.mean(1, keepdims=True) - d.mean(0) + d.mean()
    seeds = stats.t.ppf(0.9, 3) * stats.sem(d.mean(1))
    examples = stats.norm.ppf(0.9) ** 2 * (d.mean(0).var(ddof=1) - (rest**2).sum() / (3 * 49) / 4) / 50
    assert found.loss == pytest.approx(d.mean())
    assert found.upper(0.9) == pytest.approx(d.mean() + np.sqrt(seeds**2 + examples))


def signs(lost: int, gained: int, total: int, seeds: int = 3) -> np.ndarray:
    """So many examples lost and gained, the same under every seed."""
    return np.tile(np.repeat([1.0, -1.0, 0.0], [lost, gained, total - lost - gained]), (seeds, 1))


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (3, 0), (0, 2), (12, 5)])
def test_with_one_model_the_limit_is_that_of_the_score_test(lost: int, gained: int) -> None:
    """Slow twin: the variance under the most likely shares with that loss, found by search, not by the quadratic."""
    n, z = 400, stats.norm.ppf(0.95)

    def misses(loss: float) -> float:
        def unlikely(q: float) -> float:
            shares = np.array([q + loss, q, 1 - 2 * q - loss])
            return -float(np.array([lost, gained, n - lost - gained]) @ np.log(shares))

        q = optimize.minimize_scalar(
            unlikely, bounds=(1e-12, (1 - loss) / 2 - 1e-9), method="bounded", options={"xatol": 1e-12}
        ).x
        return loss - (lost - gained) / n - z * np.sqrt((2 * q + loss - loss**2) / n)

    wanted = optimize.brentq(misses, max(1e-6, (lost - gained) / n), 0.5)
    found = PairedLoss.of(signs(lost, gained, n), binary=True).upper(0.95)
    assert found == pytest.approx(wanted, rel=0.02)


def test_full_agreement_on_few_examples_is_not_certainty() -> None:
    """The score test's rule of three: nothing lost of n leaves about z^2 / n."""
    z = stats.norm.ppf(0.95)
    for n in (50, 1000):
        assert PairedLoss.of(np.zeros((5, n)), binary=True).upper(0.95) == pytest.approx(z**2 / (n + z**2), rel=0.01)


def test_a_loss_of_everything_stays_possible() -> None:
    assert PairedLoss.of(np.ones((3, 10)), binary=True).upper(0.99) == 1.0


def test_a_gain_has_a_limit_below_zero() -> None:
    assert PairedLoss.of(signs(0, 200, 400), binary=True).upper(0.95) < -0.4


def test_more_seeds_are_forecast_to_narrow_the_limit_by_their_part() -> None:
    d = np.random.default_rng(0).normal(0, 1, (4, 50)) + np.array([[0.0], [1.0], [2.0], [3.0]])
    found = PairedLoss.of(d, binary=False)
    seeds = stats.t.ppf(0.9, 15) ** 2 * found.seed_variance / 16
    examples = stats.norm.ppf(0.9) ** 2 * max(0.0, found.example_variance - found.rest_variance / 4) / 50
    assert found.upper(0.9, seeds=16) == pytest.approx(found.loss + np.sqrt(seeds + examples))
    assert found.upper(0.9, seeds=4) == found.upper(0.9)


@pytest.mark.parametrize("confidence", [0.9, 0.95])
@pytest.mark.parametrize(("right", "lost", "spread"), [(0.9, 0.02, 1.0), (0.99, 0.01, 0.5)])
def test_the_limit_covers_the_truth_as_often_as_it_says(
    confidence: float, right: float, lost: float, spread: float
) -> None:
    """Right or wrong by a latent value: difficulty, what the subset does to an example, the seed, and the rest."""
    rng = np.random.default_rng(0)
    seeds, n, covered = 5, 300, []
    parts = np.array([3.0, spread, 0.05, 1.0])

    def qualities(aim: float, hard: np.ndarray, moved: np.ndarray | float) -> np.ndarray:
        sd = np.sqrt(np.square(parts).sum() - (spread**2 if isinstance(moved, float) else 0))
        seed, rest = rng.standard_normal((seeds, 1)), rng.standard_normal((seeds, n))
        latent = stats.norm.ppf(aim) * sd + parts[0] * hard + parts[1] * moved + parts[2] * seed + parts[3] * rest
        return (latent > 0).astype(float)

    for _ in range(500):
        hard, moved = rng.standard_normal((2, n))
        lost_here = qualities(right, hard, 0.0) - qualities(right - lost, hard, moved)
        covered.append(PairedLoss.of(lost_here, binary=True).upper(confidence) >= lost)
    assert confidence - 0.025 <= np.mean(covered) <= confidence + 0.05
