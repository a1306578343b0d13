from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from winnow.artefacts import Study, Subset
from winnow.core.errors import WinnowError
from winnow.evaluation.evaluate import evaluate
from winnow.evaluation.resample import resampled
from winnow.sources.open import open as open_source
from winnow.training import Feed, Scaling

from .blobs import QUICK, blobs, line, table
from .test_evaluate import Watched, shuffled, timeless

SOURCE, TEST = blobs(240), blobs(120, seed=1, prefix="t")
HALF = Subset(SOURCE.ids[:120])
HEAVY = Subset(SOURCE.ids[:120], np.where(np.arange(120) % 3 == 0, 20.0, 1.0))  # the first class counts most
FOREST = RandomForestClassifier(10, random_state=3)


def study_of(subsets: Any, model: Any, **options: Any) -> Study:
    usual: dict[str, Any] = {"test": TEST, "seeds": 2, "engine": Watched()}
    return evaluate(options.pop("source", SOURCE), subsets, model=model, **{**usual, **options})


def test_an_estimator_is_measured_as_a_network_is() -> None:
    study = study_of({"mine": HALF}, LogisticRegression(), seeds=1)
    assert [arm.name for arm in study.arms] == ["full", "random@0.5", "mine"]
    feed = Feed(SOURCE)
    exam = Feed(TEST, feed.scaling)
    theirs = LogisticRegression().fit(feed.inputs(np.arange(240)).numpy().astype(float), SOURCE.labels)
    rows = exam.inputs(np.arange(120)).numpy().astype(float)
    assert study.of("full")[0].value == theirs.score(rows, TEST.labels)
    assert study.of("full")[0].loss == pytest.approx(
        -np.log(theirs.predict_proba(rows)[np.arange(120), TEST.labels]).mean(), rel=1e-9
    )
    assert {o.iterations for o in study.outcomes} == {0}
    about = study.provenance["parameters"]
    assert about["recipe"] is None
    assert about["model"]["estimator"] == "sklearn.linear_model._logistic.LogisticRegression"
    assert about["model"]["parameters"]["C"] == "1.0"


def test_weights_become_sample_weights_and_stand_for_repeats() -> None:
    study = study_of({"w": HEAVY, "u": HALF}, LogisticRegression(), random=False, full=False, seeds=1)
    weighted, plain = (study.of(arm)[0] for arm in ("w", "u"))
    assert weighted.per_class[0] > plain.per_class[0]
    assert weighted.per_class[1] < plain.per_class[1]
    where = np.repeat(np.arange(120), HEAVY.weights.astype(int))
    part = SOURCE.at(np.arange(120))
    scaling = Scaling.of(part, HEAVY.weights)
    assert SOURCE.labels is not None
    repeats = Feed(table(SOURCE.read(where), SOURCE.labels[where]), scaling)
    assert repeats.targets is not None
    # Repeats weigh more in all than the weights do, so the penalty of the twin is made as much stronger.
    twin = LogisticRegression(C=1 / HEAVY.weights.mean()).fit(
        repeats.inputs(np.arange(where.size)).numpy().astype(float), repeats.targets.numpy()
    )
    rows = Feed(TEST, scaling).inputs(np.arange(120)).numpy().astype(float)
    assert weighted.value == twin.score(rows, TEST.labels)


def test_a_penalty_is_as_strong_for_a_weighted_arm_as_for_one_without_weights() -> None:
    source, test = line(200), line(100, seed=1, prefix="t")
    ids = source.ids[:20]
    uneven = np.where(np.arange(20) < 10, 2.0, 1.0)
    nearly = 1 + 1e-9 * np.arange(20)
    subsets = {
        "none": Subset(ids),
        "nearly": Subset(ids, 10 * nearly),
        "ones": Subset(ids, uneven),
        "tens": Subset(ids, 10 * uneven),
    }
    study = study_of(subsets, Ridge(50.0), source=source, test=test, random=False, full=False, seeds=1)
    value = {arm: study.of(arm)[0].value for arm in subsets}
    assert value["nearly"] == pytest.approx(value["none"], abs=1e-6)
    assert value["tens"] == pytest.approx(value["ones"], abs=1e-9)
    part = Feed(source.at(np.arange(20)))
    rows, wanted = part.inputs(np.arange(20)).numpy().astype(float), part.targets
    assert wanted is not None
    shrunk = [Ridge(penalty).fit(rows, wanted.numpy()).coef_.ravel()[0] for penalty in (50.0, 5.0)]
    assert abs(shrunk[1]) > 2 * abs(shrunk[0])  # a penalty ten times weaker would be seen


def test_draws_by_weight_serve_an_estimator_without_sample_weight() -> None:
    study = study_of({"w": HEAVY, "u": HALF}, KNeighborsClassifier(15), random=False, full=False, weighting="draw")
    assert study.per_class("w")[0] > study.per_class("u")[0]
    assert study.of("w")[0].loss != study.of("w")[1].loss


def test_every_random_state_follows_the_seed_and_the_estimator_is_left_alone() -> None:
    nested = make_pipeline(PolynomialFeatures(2), RandomForestClassifier(5))
    for model in (FOREST, nested):
        study = study_of({}, model, seeds=3)
        assert len({o.loss for o in study.outcomes}) > 1
        assert timeless(study) == timeless(study_of({}, model, seeds=3))
    assert FOREST.random_state == 3
    assert not hasattr(FOREST, "estimators_")


def test_several_fits_of_a_deterministic_estimator_leave_out_a_tenth_and_differ() -> None:
    study = study_of({"mine": HALF}, LogisticRegression(), seeds=4)
    for arm in ("full", "mine"):
        assert len({o.loss for o in study.of(arm).values()}) == 4
    assert study.interval("full").seed_error >= 0
    assert study.interval("full").half_width > 0.01
    gap = study.versus("mine", "full")
    assert gap.low < gap.centre < gap.high
    assert "nine tenths of the training set" in gap.about
    assert "nine tenths" not in study_of({}, LogisticRegression(), seeds=1).interval("full").about
    again = study_of({"mine": HALF}, LogisticRegression(), seeds=4, source=shuffled(SOURCE), test=shuffled(TEST))
    assert timeless(again) == timeless(study)  # drawn by id


def test_a_resample_keeps_every_class_and_whole_groups() -> None:
    assert SOURCE.labels is not None
    rare = Subset(SOURCE.ids[(SOURCE.labels == 0) | (np.arange(240) == 1)])
    for seed in range(30):
        kept = resampled(rare, SOURCE, seed)
        assert len(kept) >= len(rare) - len(rare) // 10
        assert SOURCE.ids[1] in kept.ids
    one, two = (set(resampled(Subset(SOURCE.ids[:n]), SOURCE, 3).ids.tolist()) for n in (120, 240))
    lost = set(SOURCE.ids[:120].tolist()) - one
    assert len(lost) == 12
    assert len(lost & (set(SOURCE.ids.tolist()) - two)) >= 6  # nearly the same tenth where arms overlap
    grouped = open_source(SOURCE, group=np.arange(240) // 8)
    left = np.setdiff1d(grouped.ids, resampled(Subset(grouped.ids), grouped, 0).ids)
    assert len(left) == 24
    assert len(set(grouped.take(left).groups.tolist())) == 3


def test_other_parameters_are_fitted_again_and_the_same_are_not(tmp_path: Path) -> None:
    study_of({}, LogisticRegression(), out=tmp_path / "run")
    same, other = Watched(), Watched()
    study_of({}, LogisticRegression(), out=tmp_path / "run", engine=same)
    study_of({}, LogisticRegression(C=0.1), out=tmp_path / "run", engine=other)
    assert (same.trained, other.trained) == ([], [("full", 0), ("full", 1)])


def test_a_class_that_was_not_seen_is_never_the_answer() -> None:
    assert SOURCE.labels is not None
    two = Subset(SOURCE.ids[SOURCE.labels < 2])
    for model in (LogisticRegression(), RidgeClassifier()):  # with probabilities, and with a one-sided decision
        outcome = study_of({"two": two}, model, random=False, full=False, seeds=1).outcomes[0]
        assert outcome.per_class[2] == 0
        assert min(outcome.per_class[:2]) > 0.8


def test_regression_is_measured_in_original_units() -> None:
    source, test = line(200), line(100, seed=1, prefix="t")
    weights = np.where(np.arange(200) < 50, 100.0, 1.0)
    subsets = {"w": Subset(source.ids, weights)}
    study = study_of(subsets, Ridge(1e-9), source=source, test=test, random=False, seeds=1)
    assert source.labels is not None
    assert test.labels is not None
    for arm, given in (("full", None), ("w", weights)):
        twin = LinearRegression().fit(source.read(np.arange(200)).astype(float), source.labels, sample_weight=given)
        assert study.of(arm)[0].value == pytest.approx(twin.score(test.read(np.arange(100)), test.labels), abs=1e-6)


REFUSALS: list[tuple[str, Callable[[], object], str]] = [
    ("a regressor for classes", lambda: study_of({}, Ridge()), "an estimator for classification; got Ridge"),
    ("a recipe", lambda: study_of({}, FOREST, recipe=QUICK), "recipe of evaluate is for networks"),
    (
        "matched steps",
        lambda: study_of({}, FOREST, match_iterations=1.0),
        "match_iterations of evaluate is for networks",
    ),
    ("parts drawn for each epoch", lambda: study_of({}, FOREST, repeated=True), "repeated of evaluate is for networks"),
    (
        "weights that fit does not take",
        lambda: study_of({"w": HEAVY}, KNeighborsClassifier()),
        "must take sample_weight in fit to train on weighted subsets, and KNeighborsClassifier does not; use",
    ),
    (
        "a fit that fails",
        lambda: study_of({"one": Subset(SOURCE.ids[::3])}, LogisticRegression(), random=False, full=False),
        "arm 'one', seed 0: LogisticRegression cannot be fitted: ",
    ),
]


@pytest.mark.parametrize(("call", "fragment"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_refuses_in_one_sentence(call: Callable[[], object], fragment: str) -> None:
    with pytest.raises(WinnowError) as caught:
        call()
    text = str(caught.value)
    assert fragment in text
    assert "\n" not in text
    assert text.endswith(".")
