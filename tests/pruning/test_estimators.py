"""Pruning for scikit-learn estimators, with groups and metrics: chosen, tried, proved, searched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

import winnow as wn
from winnow.core.errors import WinnowError

LOCAL = wn.Local(workers=1)


def rows(n: int = 400, task: str = "classification", order: Any = slice(None), **beside: Any) -> wn.Source:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4))
    y = x @ [1.0, 2, 0, -1] + 0.3 * rng.normal(size=n)
    y = (y > 2.5).astype(int) + (y > -1) if task == "classification" else y
    ids = np.array([f"e{k:03d}" for k in range(n)])
    more = {word: np.asarray(values)[order] for word, values in beside.items()}
    return wn.open((x[order], y[order]), ids=ids[order], **more)


@pytest.mark.parametrize("model", [LogisticRegression(), HistGradientBoostingClassifier(max_iter=5)])
def test_a_subset_for_an_estimator_is_tried_with_it_and_has_labels_only(model: Any) -> None:
    subset = wn.prune(rows(), keep=0.4, model=model, engine=LOCAL)
    assert len(subset) == 160
    assert subset.targets is None
    assert subset.certificate["targets"].startswith("labels")
    assert subset.certificate["veto"]["pairs"] >= 3
    assert "fits" in subset.certificate["why"]
    order = np.random.default_rng(1).permutation(400)
    again = wn.prune(rows(order=order), keep=0.4, model=model, engine=LOCAL)
    assert again.fingerprint == subset.fingerprint


def test_few_per_class_are_chosen_from_the_rows_themselves_and_other_methods_work() -> None:
    few = wn.prune(rows(), keep=0.05, model=KNeighborsClassifier(3), engine=LOCAL)
    assert len(few) == 20
    for method in ("el2n+strata", "difficulty", "random"):
        assert len(wn.prune(rows(), keep=0.3, method=method, model=LogisticRegression(), engine=LOCAL)) == 120
    assert len(wn.prune(rows(task="regression"), keep=0.3, model=Ridge(), engine=LOCAL)) == 120


def test_an_estimator_may_observe_for_a_network() -> None:
    subset = wn.prune(
        rows(), keep=0.4, model="mlp", observer=LogisticRegression(), recipe=wn.Recipe(epochs=3), engine=LOCAL
    )
    assert subset.targets is not None


@pytest.mark.usefixtures("short_search")
def test_the_proof_and_the_tolerance_are_about_the_metric_and_keep_groups_apart(tmp_path: Path) -> None:
    group = np.arange(400) // 5
    source = rows(group=group)
    proof = wn.prune_with_proof(
        source,
        tolerance=0.2,
        model=LogisticRegression(),
        metric="balanced_accuracy",
        proof_seeds=3,
        out=tmp_path / "run",
        engine=LOCAL,
    )
    study = proof.study
    assert study is not None
    assert study.metric == "balanced_accuracy"
    assert "of the balanced accuracy of" in proof.subset.certificate["claim"]
    measured = proof.subset.certificate["measured"]
    assert measured[0]["seeds"] == 5
    assert len(proof.subset) < 300
    held = json.loads((tmp_path / "run" / "study" / "study.json").read_text())
    tests = held["provenance"]["inputs"]["tests"]["held out"]
    assert tests["origin"]["hold_out"]["part"] == "held out"
    assert all(study.interval(arm.name).half_width > 0 for arm in study.arms)
    assert "balanced accuracy" in (tmp_path / "run" / "report.html").read_text()
    used = set(source.take(proof.subset.ids).groups.tolist())
    assert len(used) > 10


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        ({"model": LogisticRegression(), "targets": "soft"}, "targets of prune must be labels or auto"),
        ({"model": LogisticRegression(), "recipe": wn.Recipe(epochs=3)}, "recipe of prune is for networks"),
        ({"model": LogisticRegression(), "match_iterations": 1.0}, "match_iterations of prune is for networks"),
        ({"model": Ridge()}, "must be an estimator for classification; got Ridge"),
        ({"model": LogisticRegression(), "method": "grand"}, "must be a network for gradient_norms"),
        ({"metric": "acuracy"}, "unknown metric of prune 'acuracy'"),
    ],
)
def test_refuses_in_one_sentence(options: dict[str, Any], fragment: str) -> None:
    with pytest.raises(WinnowError, match=fragment) as caught:
        wn.prune(rows(), keep=0.5, engine=LOCAL, **options)
    assert str(caught.value).endswith(".")


def test_a_test_set_that_shares_groups_or_time_is_noted() -> None:
    source, test = rows(200, group=np.arange(200) // 4, time=np.arange(200)), rows(400).at(np.arange(200, 400))
    test = wn.open(test, group=np.arange(40, 240) // 4, time=np.arange(190, 390))
    with pytest.warns(UserWarning, match="of test set") as caught:
        study = wn.evaluate(source, {}, test=test, model=LogisticRegression(), seeds=2, engine=LOCAL)
    said = " ".join(str(one.message) for one in caught)
    assert "160 of the 200 examples of test set 'test' belong to a group that is also in the training data" in said
    assert "10 of the 200 examples of test set 'test' are no later than the last training example" in said
    assert study.provenance["parameters"]["related"] == {"test": {"groups": 160, "times": 10}}
