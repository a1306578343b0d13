"""What a person's marks say of the labels that nobody has marked."""

from __future__ import annotations

import numpy as np
import pytest

from winnow.checking.marked_labels import FEWEST, marked_labels

BEFORE = np.linspace(0.05, 0.95, 50)
Z = np.log(BEFORE / (1 - BEFORE))


def verdicts(n: int, confirmed=(), refused=()) -> np.ndarray:
    said = np.full(n, "", dtype=object)
    said[list(confirmed)], said[list(refused)] = "confirmed", "refused"
    return said


def drawn(truth: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Marks of as many random examples."""
    at = np.random.default_rng(seed).permutation(truth.size)[:count]
    return verdicts(truth.size, at[truth[at]], at[~truth[at]])


def errors(n: int, share: float, seen: float = 1.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Which labels are wrong, and probabilities that are right for the errors that are `seen`, and blind to others."""
    draw = np.random.default_rng(seed)
    sure = draw.beta(0.3, 0.3 * (1 - share * seen) / (share * seen), n)
    return (draw.random(n) < sure) | (draw.random(n) < share * (1 - seen)), sure


def test_what_a_person_said_is_known() -> None:
    found = marked_labels(BEFORE, verdicts(50, [3], [40])).probability
    assert (found[3], found[40]) == (1.0, 0.0)
    rest = np.delete(np.arange(50), [3, 40])
    assert np.array_equal(found[rest], BEFORE[rest])  # too few to say more


def test_there_are_bounds_from_enough_marks_on() -> None:
    assert marked_labels(BEFORE, verdicts(50, range(FEWEST - 1))).bounds is None
    low, high = marked_labels(BEFORE, verdicts(50, range(FEWEST))).bounds
    assert 0.1 <= low < high <= 1
    assert marked_labels(BEFORE, verdicts(50, range(20), range(20, 50))).bounds == (0.4, 0.4)


def test_the_surest_that_are_refused_lower_all_others_and_the_least_sure_that_are_confirmed_raise_them() -> None:
    lower = marked_labels(BEFORE, verdicts(50, refused=range(42, 50))).probability[:42]
    higher = marked_labels(BEFORE, verdicts(50, range(8))).probability[8:]
    assert (lower[20:] < BEFORE[20:42] - 0.05).all()
    assert (higher[:30] > BEFORE[8:38] + 0.05).all()


def test_the_surest_that_are_confirmed_say_little_about_the_others() -> None:
    found = marked_labels(BEFORE, verdicts(50, range(42, 50))).probability[:42]
    assert np.abs(found - BEFORE[:42]).max() < 0.15


def test_the_order_stays() -> None:
    for said in (verdicts(50, refused=range(44, 50)), verdicts(50, [0, 5, 49], [1, 2, 48, 47])):
        found = marked_labels(BEFORE, said).probability[said == ""]
        assert (np.diff(found) > 0).all()


def test_it_is_the_mean_over_all_hypotheses() -> None:
    """The same by a plain loop over a, d and u."""
    from scipy.stats import norm

    confirmed, refused = [2, 30, 45, 47], [10, 20, 35]
    total, weights, shares = 0.0, [], []
    for a in np.exp(0.5 * norm.ppf((np.arange(9) + 0.5) / 9)):
        for d in norm.ppf((np.arange(33) + 0.5) / 33):
            for u in np.geomspace(0.0005, 0.5, 49):
                p = u + (1 - u) / (1 + np.exp(-(a * Z + d)))
                weight = u / (0.005 + u) ** 2 * np.prod(p[confirmed]) * np.prod(1 - p[refused])
                total = total + weight * p
                weights.append(weight)
                shares.append((np.delete(p, confirmed + refused).sum() + len(confirmed)) / 50)
    wanted, order = total / np.sum(weights), np.argsort(shares)
    below = np.cumsum(np.array(weights)[order]) / np.sum(weights)
    found = marked_labels(BEFORE, verdicts(50, confirmed, refused))
    rest = np.delete(np.arange(50), confirmed + refused)
    assert np.allclose(found.probability[rest], wanted[rest], atol=0.002)
    bounds = np.array([np.array(shares)[order][np.searchsorted(below, q)] for q in (0.025, 0.975)])
    centre = (wanted[rest].sum() + len(confirmed)) / 50
    chance = 1.96 * np.sqrt((wanted[rest] * (1 - wanted[rest])).sum()) / 50  # in how many of the others are wrong
    widths = np.sqrt((bounds - centre) ** 2 + chance**2)
    assert found.bounds == pytest.approx((centre - widths[0], centre + widths[1]), abs=0.01)


def test_errors_that_no_evidence_shows_are_counted_by_random_marks() -> None:
    inside, off = 0, []
    for seed in range(20):
        truth, sure = errors(5_000, 0.2, seen=0.2, seed=seed)
        assert sure.mean() < 0.06
        found = marked_labels(sure, drawn(truth, 150, 100 + seed))
        off.append(found.probability.mean() - truth.mean())
        inside += found.bounds[0] < truth.mean() < found.bounds[1]
    assert inside >= 17  # of 95 % bounds, fewer in one of 60 such tests
    assert np.abs(off).max() < 0.1
    assert abs(np.mean(off)) < 0.02


def test_where_the_probabilities_are_right_marks_change_little() -> None:
    off = []
    for seed in range(20):
        truth, sure = errors(3_000, 0.1, seed=seed)
        found = marked_labels(sure, drawn(truth, 60, seed))
        off.append(found.probability.mean() - truth.mean())
    assert np.abs(off).max() < 0.08
    assert abs(np.mean(off)) < 0.02


def test_one_error_where_nothing_was_suspected_does_not_double_the_share() -> None:
    sure = np.concatenate([np.full(950, 1e-6), np.full(50, 0.98)])
    marks = verdicts(1_000, [0, *range(950, 960)], range(1, 60))
    assert marked_labels(sure, marks).probability.mean() < 0.1


def test_many_marks_and_many_examples_are_fast() -> None:
    truth, sure = errors(200_000, 0.1)
    found = marked_labels(sure, drawn(truth, 20_000, 0))
    assert found.probability.mean() == pytest.approx(truth.mean(), abs=0.01)
    low, high = found.bounds
    assert high - low < 0.02
