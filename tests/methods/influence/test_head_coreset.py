"""The exact weighted head: trained on a few weighted examples, the head of all."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from tests.oracles import influence as slow

from .problems import digits, softmax_problem

LAM = 0.01


def trained(x, y, found, damping=LAM, **how):
    return wn.influence.fit_head(
        x[found.positions], y[found.positions], damping, weights=found.weights, **how
    ).theta  # fmt: skip


def test_weighted_heads_are_those_of_the_slow_twin():
    x, y, _ = softmax_problem(n=60)
    weights = np.random.default_rng(0).uniform(0.1, 5, 60)
    wanted = slow.softmax_head(x, y, LAM, 3, weights / weights.sum())
    assert np.allclose(wn.influence.fit_head(x, y, LAM, weights=weights).theta, wanted, atol=1e-6)
    targets = np.random.default_rng(1).normal(size=(60, 2))
    root = np.sqrt(weights / weights.sum() * 60)[:, None]
    again = wn.influence.fit_head(x, targets, LAM, loss="squared", weights=weights).theta
    assert np.allclose(again, slow.ridge(x * root, targets * root, LAM), atol=1e-10)


def test_the_head_of_all_comes_back():
    x, y = digits(n=1300, dims=12)
    all_of_it = wn.influence.fit_head(x, y, LAM)
    found = wn.influence.head_coreset(x, y, 200, LAM)  # 13 x 9 + 10 conditions
    about = found.certificate
    assert about["exact"]
    assert about["conditions"] == 127
    assert len(found.positions) == 200
    assert np.all(np.diff(found.positions) > 0)
    change = np.linalg.norm(trained(x, y, found) - all_of_it.theta)
    assert change < 1e-8
    assert about["verified"] < 1e-8
    # by the twin, which knows nothing of the room: the weighted gradients vanish at the head of all
    outputs = slow.softmax_outputs(x[found.positions], all_of_it.theta)
    outputs[np.arange(200), y[found.positions]] -= 1
    slope = (x[found.positions] * found.weights[:, None]).T @ outputs / 1300 + LAM * all_of_it.theta
    assert np.abs(slope).max() < 1e-9
    for label in range(10):
        assert found.weights[y[found.positions] == label].sum() == pytest.approx((y == label).sum())
    assert about["largest_weight"] == pytest.approx(found.weights.max() / 6.5)
    assert about["effective_size"] == pytest.approx(1300**2 / np.square(found.weights).sum())


def test_fixed_counts_are_kept_where_few_examples_would_do():
    x, y = digits(n=1100, dims=64)  # pixels that few examples have: those must be kept
    counts = np.full(10, 60)
    found = wn.influence.head_coreset(x, y, 600, LAM, counts=counts)
    assert found.certificate["exact"]
    assert found.certificate["way"] == "recombination"
    assert found.certificate["verified"] < 1e-8
    assert np.bincount(y[found.positions]).tolist() == counts.tolist()
    for label in range(10):
        assert found.weights[y[found.positions] == label].sum() == pytest.approx((y == label).sum())


def test_weights_stay_below_the_bound():
    x, y = digits(n=1300, dims=12)
    for largest in (2.0, 3.0):
        found = wn.influence.head_coreset(x, y, 300, LAM, largest=largest)
        assert found.certificate["exact"]
        assert found.weights.max() <= largest * 1300 / 300 * (1 + 1e-12)


def test_other_dampings_are_matched_too():
    x, y = digits(n=1300, dims=8)
    plain = wn.influence.head_coreset(x, y, 400, LAM)
    both = wn.influence.head_coreset(x, y, 400, LAM, dampings=[0.1])
    assert both.certificate["exact"]
    wanted = wn.influence.fit_head(x, y, 0.1).theta
    off = [np.linalg.norm(trained(x, y, found, 0.1) - wanted) for found in (plain, both)]
    assert off[1] < 1e-8 < 1e-4 < off[0]
    assert both.certificate["verified_at"]["damping 0.1"] < 1e-8


def test_bootstrapped_heads_make_it_less_fragile():
    x, y = digits(n=1300, dims=6)
    kinds = [wn.influence.head_coreset(x, y, 500, LAM, heads=heads) for heads in (0, 3)]
    off = [np.linalg.norm(trained(x, y, found, 0.002) - wn.influence.fit_head(x, y, 0.002).theta) for found in kinds]
    assert kinds[1].certificate["exact"]
    assert off[1] < off[0] / 3


def test_too_few_examples_are_told_and_better_than_random():
    x, y = digits(n=1300, dims=12)
    found = wn.influence.head_coreset(x, y, 60, LAM)
    assert not found.certificate["exact"]
    theta, rng = wn.influence.fit_head(x, y, LAM).theta, np.random.default_rng(0)
    random = [rng.choice(1300, 60, replace=False) for _ in range(5)]
    off = [np.linalg.norm(wn.influence.fit_head(x[r], y[r], LAM, classes=10).theta - theta) for r in random]
    assert found.certificate["verified"] < 0.5 * min(off)


def test_least_squares_heads():
    rng = np.random.default_rng(2)
    x = np.hstack([rng.normal(size=(500, 4)), np.ones((500, 1))])
    y = x @ rng.normal(size=(5, 2)) + rng.normal(size=(500, 2))
    found = wn.influence.head_coreset(x, y, 30, LAM, loss="squared")
    assert found.certificate["exact"]
    assert np.allclose(trained(x, y, found, loss="squared"), slow.ridge(x, y, LAM), atol=1e-9)


def test_order_and_constant_features_play_no_part():
    x, y = digits(n=400, dims=5)
    x = np.hstack([x, np.zeros((400, 1))])
    ids, shuffle = np.arange(400), np.random.default_rng(0).permutation(400)
    first = wn.influence.head_coreset(x, y, 120, LAM, ids=ids)
    assert first.certificate["exact"]
    counts = np.bincount(y[first.positions])
    again = wn.influence.head_coreset(x[shuffle], y[shuffle], 120, LAM, ids=ids[shuffle], counts=counts)
    assert again.certificate["exact"]
    assert again.certificate["verified"] < 1e-8


@pytest.mark.parametrize(
    "asked", [{"largest": 0.5}, {"heads": -1}, {"dampings": [0.0]}, {"counts": [1, 2]}, {"size": 0}, {"size": 500}]
)
def test_refused(asked):
    x, y = digits(n=400, dims=5)
    with pytest.raises(wn.errors.WinnowError):
        wn.influence.head_coreset(x, y, **{"size": 120, "damping": LAM, **asked})
