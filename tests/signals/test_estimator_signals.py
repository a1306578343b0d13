"""What scikit-learn estimators show of each example: stages, passes, or out-of-fold predictions as one epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

import winnow as wn
from winnow.core.errors import WinnowError
from winnow.training import Feed
from winnow.training.estimators import fitted
from winnow.training.staged_estimators import STAGES, has_stages, staged

N = 120


def source(task: str = "classification", order: Any = slice(None)) -> wn.Source:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 4))
    y = (x[:, 0] + x[:, 1] > 0).astype(int) + (x[:, 2] > 1) if task == "classification" else x @ [1.0, 2, 0, -1]
    ids = np.array([f"e{k:03d}" for k in range(N)])
    return wn.open((x[order], y[order]), ids=ids[order])


def observed(what: wn.Source, model: Any, **more: Any) -> wn.Signals:
    return wn.observe(what, model, engine=wn.Local(workers=1), **more)


STAGED = [
    GradientBoostingClassifier(n_estimators=12),
    HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5),
    AdaBoostClassifier(n_estimators=5),
    SGDClassifier(loss="log_loss"),
    SGDClassifier(),  # a decision function and no probabilities
    MLPClassifier((8,), learning_rate_init=0.02),
    GaussianNB(),
]


@pytest.mark.parametrize("model", STAGED, ids=lambda model: f"{type(model).__name__}-{getattr(model, 'loss', '')}")
def test_stages_and_passes_give_the_arrays_that_networks_give(model: Any) -> None:
    assert has_stages(model, "classification")
    found = observed(source(), model, want=("dynamics", "predictions"))
    assert found.epochs == tuple(range(1, STAGES + 1))
    for name in ("losses", "probabilities", "margins", "errors"):
        assert found.array(name).shape == (1, STAGES, N)
    assert np.allclose(found.array("predictions").sum(2), 1, atol=1e-5)
    assert found.array("correct")[0, -1].mean() > 0.6
    for name in ("el2n", "forgetting", "aum", "uncertainty"):
        assert np.isfinite(wn.score(name, found).values).all()


def test_boosting_learns_and_its_last_stage_is_the_fit_itself() -> None:
    what = source()
    found = observed(what, STAGED[0])
    losses = found.array("losses")[0].mean(1)
    assert (np.diff(losses) < 0).all()
    feed = Feed(what)
    last = list(staged(STAGED[0], feed, 7))[-1]
    assert np.allclose(last(feed), fitted(STAGED[0], feed, 7, None, "loss")[1](feed))


def test_order_does_not_matter_and_seeds_do() -> None:
    order = np.random.default_rng(3).permutation(N)
    for model in (STAGED[3], LogisticRegression()):
        ours, theirs = (observed(source(order=o), model, want=("oof", "dynamics")) for o in (slice(None), order))
        for name in ("oof", "margins"):
            assert np.allclose(ours.array(name), theirs.take(ours.ids).array(name))
    assert not np.allclose(*observed(source(), STAGED[3], seeds=2).array("margins"))


def test_without_stages_dynamics_are_those_of_out_of_fold_predictions() -> None:
    what = source()
    found = observed(what, LogisticRegression(), want=("dynamics", "predictions", "logits"))
    assert has_stages(LogisticRegression(), "classification") is None
    assert found.epochs == (1,)
    oof = found.array("oof")[0]
    assert np.array_equal(found.array("predictions")[0], oof)
    assert np.allclose(found.array("probabilities")[0, 0], oof[np.arange(N), what.labels], atol=1e-5)
    assert np.array_equal(found.array("correct")[0, 0], oof.argmax(1) == what.labels)
    both = observed(what, STAGED[0], want=("oof", "dynamics", "predictions"))
    assert np.array_equal(both.array("predictions"), both.array("oof"))  # not what boosting remembers
    assert both.array("margins").shape == (1, STAGES, N)


def test_regression_has_losses_in_standard_units() -> None:
    what = source("regression")
    line = observed(what, LinearRegression())
    assert line.array("losses").shape == (1, 1, N)
    assert line.array("losses").mean() < 1e-3
    for model in (GradientBoostingRegressor(n_estimators=10), SGDRegressor()):
        found = observed(what, model, want=("dynamics", "predictions"))
        assert found.array("losses").shape == (1, STAGES, N)
        assert found.array("losses")[0, -1].mean() < 0.6
        assert np.corrcoef(found.array("predictions")[0, :, 0], what.labels)[0, 1] > 0.7
        assert np.isfinite(wn.score("difficulty", found).values).all()


@pytest.mark.parametrize(
    ("model", "fragment"),
    [
        ("sklearn:LogisticRegresion", "unknown scikit-learn estimator 'LogisticRegresion'"),
        ("sklearn:LogisticRegression:Cc=1", "unknown option of LogisticRegression: 'Cc'"),
        ("sklearn:VotingClassifier", "make it in Python and pass it"),
        ("sklearn:LogisticRegression:C", "must be option=value"),
        ("sklearn:Ridge", "must be an estimator for classification; got Ridge"),
        ("sklearn:LogisticRegression:C=-1", "LogisticRegression cannot be fitted"),
    ],
)
def test_names_are_refused_in_one_sentence(model: str, fragment: str) -> None:
    with pytest.raises(WinnowError, match=fragment) as caught:
        observed(source(), model)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_a_name_is_the_estimator_with_its_options() -> None:
    what = source()
    named = observed(what, "sklearn:LogisticRegression:C=0.1,fit_intercept=false")
    given = observed(what, LogisticRegression(C=0.1, fit_intercept=False))
    assert np.array_equal(named.array("oof"), given.array("oof"))
    with pytest.raises(WinnowError, match="model of train must be a network"):
        wn.train(what, model="sklearn:LogisticRegression")
    with pytest.raises(WinnowError, match="model of plan must be a network"):
        wn.plan(what, model=LogisticRegression())
    with pytest.raises(WinnowError, match="recipe of observe is for networks"):
        observed(what, LogisticRegression(), recipe=wn.Recipe(epochs=3))
