"""From a source with several labels per example to a subset, a study and a report; and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import winnow as wn
from tests.label_sets import ALONE, NAMES, RECIPE, digits, parts, seen
from winnow.core.errors import InputError, NotDefinedError

HOW = {"model": "mlp", "recipe": RECIPE, "engine": ALONE}


def test_evaluate_measures_mean_average_precision(tmp_path: Path):
    train, test = parts()
    subset = wn.select("tilted", seen(), keep=0.3)
    study = wn.evaluate(train, {"mine": subset}, test=test, seeds=3, **HOW)
    assert (study.metric, study.classes) == ("map", NAMES)
    assert [arm.name for arm in study.arms] == ["full", "everything@0.3", "random@0.3", "mine"]
    full = study.interval("full")
    assert 0.6 < full.low < full.centre < full.high <= 1
    assert full.centre == pytest.approx(np.mean([one.value for one in study.of("full").values()]), abs=1e-6)
    assert full.centre == pytest.approx(np.mean(study.per_class("full")), abs=1e-6)
    assert study.versus("mine", "full").centre < 0
    assert set(study.beside("full")) == {"micro F1", "macro F1"}
    assert 0 < study.beside("full")["micro F1"].low < study.beside("full")["micro F1"].high
    assert {"mean average precision, %", "micro F1, %", "macro F1, %"} <= set(study.summary()[0])
    assert {"map", "micro_f1", "macro_f1"} <= set(study.table()[0])
    assert "mean average precision of even" in study.to_pandas()
    kept = wn.Study.load(study.save(tmp_path / "study"))
    assert kept.beside("full") == study.beside("full")
    assert kept.versus("mine", "full") == study.versus("mine", "full")
    assert "points" in study.verdict("mine").sentence


def test_prune_gives_soft_targets_per_label(tmp_path: Path):
    train, _ = parts()
    subset = wn.prune(train, keep=0.4, **HOW)
    assert len(subset) == round(0.4 * len(train))
    assert subset.targets is not None
    assert subset.targets.several
    assert subset.certificate["veto"]["pairs"] >= 3
    assert "of mean average precision against random" in subset.certificate["why"]
    assert min(subset.certificate["label_counts"].values()) >= 0.5 * len(subset) / 3
    _, y, target = subset.to_torch(train, targets="soft")[0]
    assert target.shape == y.shape == (3,)
    again = wn.prune(train.at(np.random.default_rng(0).permutation(len(train))), keep=0.4, **HOW)
    assert again.fingerprint == subset.fingerprint
    assert wn.Subset.load(subset.save(tmp_path / "subset.parquet")).fingerprint == subset.fingerprint


def test_a_proof_says_what_was_measured(tmp_path: Path):
    proof = wn.prune_with_proof(digits(), keep=0.4, method="el2n+rank", proof_seeds=2, out=tmp_path, **HOW)
    assert proof.study is not None
    assert proof.study.metric == "map"
    page = (tmp_path / "report.html").read_text()
    assert "mean average precision" in page
    assert "accuracy" not in page
    assert "Effect on each label" in page
    assert "micro F1" in page


@pytest.mark.usefixtures("short_search")
def test_a_tolerance_is_about_mean_average_precision():
    subset = wn.prune(digits(), tolerance=0.2, method="random", seed=1, **HOW)
    assert subset.certificate["metric"] == "map"
    assert "of the mean average precision of" in subset.certificate["claim"]
    assert len(subset) < len(digits())


def test_signals_of_an_own_loop_are_taken():
    train, _ = parts()
    subset = wn.prune(train, keep=0.5, signals=seen(), method="difficulty+tilted", **HOW)
    assert len(subset) == round(0.5 * len(train))
    other = wn.Recorder(len(train), classes=3, ids=train.ids)
    other.log(np.arange(len(train)), np.zeros((len(train), 3)), np.zeros(len(train), dtype=int))
    other.end_epoch()
    with pytest.raises(
        InputError, match="must be of the task of source 'digits:train', multilabel; got classification"
    ):
        wn.prune(train, keep=0.5, signals=other.signals(), method="el2n", **HOW)


def test_a_plan_has_resources_and_says_why_there_is_no_forecast():
    plan = wn.plan(digits(), model="mlp", recipe=RECIPE)
    assert "several labels, and accuracy can be forecast for classification only" in plan.advice[0]
    assert plan.resources["seconds_total"] > 0 if "seconds_total" in plan.resources else plan.resources


def test_training_on_part_of_the_epochs():
    report = wn.train(parts()[0], test=parts()[1], steps=20, model="mlp", recipe=RECIPE, engine=ALONE)
    assert report.metric == "map"
    assert 0.4 < report.accuracy <= 1


def test_what_is_about_one_class_per_example_is_refused():
    train, test = parts()
    for method in ("moments", "lpntk_redundancy", "influence", "class_prototype+rank"):
        with pytest.raises(NotDefinedError, match="and source 'digits:train' is multilabel"):
            wn.prune(train, keep=0.5, method=method, **HOW)
    with pytest.raises(
        NotDefinedError, match="explain needs class labels; source 'digits:train' has the task multilabel"
    ):
        wn.explain(train)
    with pytest.raises(NotDefinedError, match="must be a network for several labels per example"):
        wn.evaluate(train, {"mine": wn.Subset(train.ids[:50])}, test=test, model=LogisticRegression())
    with pytest.raises(NotDefinedError, match=r"soft_labels needs one class per example; source .* is multilabel"):
        wn.relabel.soft_labels(train, "mlp")
    alone = test.at(np.flatnonzero((test.labels == test.labels[0]).all(axis=1)))
    with pytest.raises(InputError, match="a label that some examples have and others do not"):
        wn.evaluate(train, {"mine": wn.Subset(train.ids[:50])}, test=alone, model="mlp")
