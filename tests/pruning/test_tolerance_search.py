"""prune(tolerance=): rotating folds where they can be made, and one held-out part where they cannot."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import winnow as wn
from tests.signals.small import Counting, rows, shuffled
from winnow.core.run import recorded_seconds
from winnow.engines import Local

from .test_prune import easy

ONE = Local(workers=1)
HOW: dict[str, Any] = {"model": "mlp", "recipe": wn.Recipe(epochs=3, batch=16, lr=0.05), "engine": ONE}
pytestmark = [
    pytest.mark.filterwarnings("ignore:score .* is unreliable here"),
    pytest.mark.usefixtures("short_search"),
]


def test_the_subset_is_chosen_from_everything_at_the_fraction_that_held(tmp_path: Path) -> None:
    source = easy()
    subset = wn.prune(source, tolerance=0.2, out=tmp_path / "run", **HOW)
    about = subset.certificate
    assert (about["holds"], about["folds"], about["validation_examples"]) == (True, 5, len(source))
    won = [row for row in about["measured"] if row["holds"]][-1]
    assert len(subset) == round(won["fraction"] * len(source))
    assert won["size"] == round(won["fraction"] * 0.8 * len(source))
    assert subset.targets is not None
    assert subset.targets.ids.size >= len(subset)
    by_fraction = wn.prune(source, won["fraction"], veto=0, **HOW)
    if about["method"] == by_fraction.certificate["method"]:  # as prune(keep=) would have chosen it
        assert subset.ids.tolist() == by_fraction.ids.tolist()


def test_each_fold_has_an_observation_that_has_not_seen_it_and_all_of_it_is_counted(tmp_path: Path) -> None:
    source, more = easy(), easy(210).at(np.arange(150, 210))
    proof = wn.prune_with_proof(
        source, tolerance=0.3, test=more, proof_seeds=1, out=tmp_path / "run", **{**HOW, "seeds": 1}
    )
    seen = []
    for fold in range(5):
        found = wn.Signals.load(tmp_path / f"run/search/fold-{fold}/signals/seed-0.safetensors")
        assert len(found.ids) == 0.8 * len(source)
        seen.append(set(source.ids) - set(found.ids))
    assert set().union(*seen) == set(source.ids)
    assert sum(map(len, seen)) == len(source)
    assert len(wn.Signals.load(tmp_path / "run/signals/seed-0.safetensors").ids) == len(source)
    assert proof.study is not None
    costs = proof.study.arm(proof.name).selection
    assert costs["search"] == pytest.approx(recorded_seconds(tmp_path / "run", "search"))
    assert costs["search"] > recorded_seconds(tmp_path / "run", "search/fold-0/observe") > 0
    assert costs["observe"] > 0
    assert (tmp_path / "run/networks").exists()  # of the whole observation only
    assert not list((tmp_path / "run/search").rglob("networks"))


def test_a_finished_search_is_not_done_again_and_a_killed_one_goes_on(tmp_path: Path) -> None:
    source = easy(90)
    counting, killed, rest, again = Counting(), Counting(killed_after=9), Counting(), Counting()
    whole = wn.prune(source, tolerance=0.3, **{**HOW, "engine": counting})
    with pytest.raises(KeyboardInterrupt):
        wn.prune(source, tolerance=0.3, out=tmp_path / "run", **{**HOW, "engine": killed})
    resumed = wn.prune(source, tolerance=0.3, out=tmp_path / "run", **{**HOW, "engine": rest})
    assert 0 < rest.done <= counting.done - 5
    same = wn.prune(source, tolerance=0.3, out=tmp_path / "run", **{**HOW, "engine": again})
    assert again.done == 0
    assert whole.fingerprint == resumed.fingerprint == same.fingerprint
    assert whole.certificate == resumed.certificate == same.certificate


def test_the_order_of_the_source_does_not_matter() -> None:
    ours, theirs = (wn.prune(one, tolerance=0.3, **HOW) for one in (easy(90), shuffled(easy(90))))
    assert ours.fingerprint == theirs.fingerprint
    assert ours.certificate == theirs.certificate


def test_signals_that_were_given_are_taken_per_fold_and_said_to_have_seen_the_folds() -> None:
    source = easy(90)
    seen = wn.observe(source, "mlp", HOW["recipe"], want=("dynamics",), engine=ONE)
    counting = Counting()
    subset = wn.prune(source, tolerance=0.3, signals=seen, method="el2n", **{**HOW, "engine": counting})
    assert "with those in view that each fold was measured on" in subset.certificate["signals"]
    assert counting.done == max(row["seeds"] for row in subset.certificate["measured"]) + sum(
        {row["size"]: row["seeds"] for row in subset.certificate["measured"]}.values()
    )
    assert "signals" not in wn.prune(source, tolerance=0.3, method="el2n", **HOW).certificate


def test_an_estimator_and_groups() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    y = (x[:, 0] > 0).astype(int)
    source = dataclasses.replace(wn.open((x, y)), groups=np.arange(400) // 4)
    subset = wn.prune(source, tolerance=0.1, model=LogisticRegression(), method="random", engine=ONE)
    assert subset.certificate["folds"] == 5
    assert len(subset) < 400


def test_regression() -> None:
    subset = wn.prune(rows(120, "regression"), tolerance=0.9, **HOW)
    assert (subset.certificate["metric"], subset.certificate["folds"]) == ("r2", 5)


def test_times_keep_the_latest_part_held_out() -> None:
    source = dataclasses.replace(easy(), times=np.arange(150))
    about = wn.prune(source, tolerance=0.3, method="random", **HOW).certificate
    assert "folds" not in about
    assert about["validation_examples"] == 30
    assert "(30 of 150 are held out as validation examples)" in about["reference"]


def test_a_class_too_small_for_the_folds_keeps_one_part_held_out() -> None:
    labels = np.array(easy().labels)
    labels[:] = np.arange(150) % 2
    labels[:3] = 2
    source = easy().with_labels(labels, "classification", easy().classes)
    about = wn.prune(source, tolerance=0.3, method="random", **HOW).certificate
    assert "folds" not in about


def test_examples_marked_to_be_kept_are_in_every_subset_and_end_the_sequence(tmp_path: Path) -> None:
    source = easy(90)
    marks = tmp_path / "marks.csv"
    marks.write_text("id,verdict,correction,decision\n" + "".join(f"{id},,,keep\n" for id in source.ids[:40]))
    subset = wn.prune(source, tolerance=0.4, marks=marks, method="random", **HOW)
    assert set(source.ids[:40]) <= set(subset.ids)
    assert subset.certificate["sequence"][-1] > 40 / 90
