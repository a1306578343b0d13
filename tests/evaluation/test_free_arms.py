"""What is free beside a subset: everything at the same steps, with labels and with soft targets; and the verdict."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winnow.artefacts import Study, Subset
from winnow.artefacts.example_marks import packed, unpacked
from winnow.artefacts.ledger import ledger
from winnow.artefacts.soft_labels import SoftLabels
from winnow.artefacts.study import Arm, Outcome
from winnow.engines import Local
from winnow.evaluation.evaluate import evaluate

from .blobs import QUICK, blobs, line, tiny, tiny_line

SOURCE, TEST = blobs(240), blobs(120, seed=1, prefix="t")
HALF = Subset(SOURCE.ids[:120])
SOFT = SoftLabels(SOURCE.ids, np.full((240, 3), 1 / 3), SOURCE.classes, weight=0.5)


def study_of(subsets: Any, **options: Any) -> Study:
    usual: dict[str, Any] = {"test": TEST, "model": tiny, "recipe": QUICK, "seeds": 2, "engine": Local(workers=1)}
    return evaluate(options.pop("source", SOURCE), subsets, **{**usual, **options})


def test_everything_is_trained_for_the_steps_of_each_size(tmp_path: Path) -> None:
    study = study_of({"mine": HALF, "few": Subset(SOURCE.ids[:60])}, out=tmp_path / "run")
    assert [arm.name for arm in study.arms][:3] == ["full", "everything@0.5", "everything@0.25"]
    assert study.full is study.arms[0]
    half = study.arm("everything@0.5")
    assert (half.kind, half.size, half.keep, half.same_steps) == ("everything", 240, 1.0, 120)
    steps = {name: study.of(name)[0].iterations for name in ("everything@0.5", "mine", "everything@0.25", "few")}
    assert steps["everything@0.5"] == steps["mine"] == 2 * steps["few"] == 2 * steps["everything@0.25"]
    assert study.of("everything@0.5")[0].loss != study.of("full")[0].loss
    (row,) = (row for row in study.table() if row["arm"] == "mine")
    assert row["vs_same_steps"] == pytest.approx(study.versus("mine", "everything@0.5").centre)
    again = Study.load(tmp_path / "run" / "study")
    assert (again.outcomes, again.arms) == (study.outcomes, study.arms)


@pytest.mark.parametrize(("factor", "names"), [(0.0, ["full", "everything@0.5", "mine"]), (1.0, ["full", "mine"])])
def test_full_is_everything_where_it_takes_the_same_steps(factor: float, names: list[str]) -> None:
    study = study_of({"mine": HALF}, random=False, match_iterations=factor, seeds=1)
    assert [arm.name for arm in study.arms] == names
    assert study.verdict("mine").best == names[-2]


def test_repeated_random_is_redrawn_for_each_epoch_and_takes_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from winnow.evaluation import retrain as trainings

    epochs: list[set[int]] = []
    real = trainings.train

    def spy(*given: Any, **options: Any) -> Any:
        if "part" not in options:
            return real(*given, **options)
        seen: list[int] = []
        return real(
            *given,
            **options,
            after_batch=lambda where, _: seen.extend(where.tolist()),
            after_epoch=lambda *_: (epochs.append(set(seen)), seen.clear()),
        )

    monkeypatch.setattr(trainings, "train", spy)
    study = study_of({"mine": HALF}, repeated=True, seeds=1)
    assert [arm.name for arm in study.arms] == ["full", "everything@0.5", "repeated random@0.5", "random@0.5", "mine"]
    assert len(epochs) == QUICK.epochs
    assert {len(part) for part in epochs} == {120}
    assert epochs[0] != epochs[1]
    arm = study.arm("repeated random@0.5")
    assert (arm.kind, arm.size, arm.same_steps, arm.repeated) == ("everything", 240, 120, True)
    assert study.of(arm.name)[0].iterations == study.of("mine")[0].iterations
    assert arm.name in study.verdict("mine").against
    (row,) = (row for row in study.table() if row["arm"] == "mine")
    assert row["vs_same_steps"] == pytest.approx(study.versus("mine", "everything@0.5").centre)


def test_dynamic_sampling_takes_the_same_steps_and_is_not_plain_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    from winnow.evaluation import retrain as trainings

    sampled: list[int] = []
    real = trainings.train

    def spy(*given: Any, **options: Any) -> Any:
        if options.get("sampler") is not None:
            sampled.append(options["steps"])
        return real(*given, **options)

    monkeypatch.setattr(trainings, "train", spy)
    study = study_of({"mine": HALF}, dynamic=True, soft=SOFT, seeds=1)
    arm = study.arm("dynamic sampling@0.5")
    assert (arm.kind, arm.same_steps, arm.dynamic, arm.in_plain_passes) == ("everything", 120, True, False)
    steps = study.of("mine")[0].iterations
    assert study.of(arm.name)[0].iterations == steps
    assert sampled == [steps, steps]  # with labels and with soft targets
    (row,) = (row for row in study.table() if row["arm"] == "mine")
    assert row["vs_same_steps"] == pytest.approx(study.versus("mine", "everything@0.5").centre)
    assert "dynamic sampling@0.5" in study.verdict("mine").against


def test_repeated_random_also_with_soft_targets_and_beside_full_at_equal_steps(tmp_path: Path) -> None:
    first = study_of({"mine": HALF}, seeds=1, out=tmp_path / "run")
    study = study_of({"mine": HALF}, soft=SOFT, repeated=True, seeds=1, out=tmp_path / "run")
    assert {"repeated random@0.5", "soft repeated random@0.5"} <= set(study.verdict("mine").against)
    assert study.of("everything@0.5") == first.of("everything@0.5")  # extended, not trained again
    assert Study.load(tmp_path / "run" / "study").arm("soft repeated random@0.5").repeated is True
    matched = study_of({"mine": HALF}, repeated=True, match_iterations=1.0, seeds=1)
    assert [arm.name for arm in matched.arms] == ["full", "repeated random@0.5", "random@0.5", "mine"]


def test_soft_targets_of_a_subset_are_used_and_the_free_ones_get_its_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    from winnow.evaluation import retrain as trainings

    weights: list[float | None] = []
    real = trainings.train

    def spy(*given: Any, **options: Any) -> Any:
        weights.append(options.get("soft_weight"))
        return real(*given, **options)

    monkeypatch.setattr(trainings, "train", spy)
    taught = replace(HALF, targets=replace(SOFT, weight=0.25).take(HALF.ids))
    study = study_of({"mine": taught}, soft=SOFT, seeds=1)
    names = ["full", "everything@0.5", "random@0.5", "mine", "soft everything@0.5", "soft random@0.5"]
    assert [arm.name for arm in study.arms] == names
    assert weights == [None, None, None, 0.25, 0.25, 0.25]
    assert study.arm("mine").baseline == "soft random@0.5"
    assert set(study.verdict("mine").against) == {*names} - {"full", "mine"}


FROM_OBSERVATION = replace(SOFT, provenance={"step": "soft_targets"})
TOLD, OTHER = replace(FROM_OBSERVATION, prior_seconds=0.9), replace(SOFT, prior_seconds=0.9)


@pytest.mark.parametrize(
    ("soft", "costs", "random", "mine"),
    [
        (FROM_OBSERVATION, {"observe": 0.7, "select": 0.1}, {"observe": 0.7}, {"observe": 0.7, "select": 0.1}),
        (TOLD, {"select": 0.1}, {"observe": 0.9}, {"observe": 0.9, "select": 0.1}),
        (FROM_OBSERVATION, {"select": 0.1}, {}, {}),  # an observation of which nobody says what it took
        (OTHER, {"observe": 0.7}, {"pretrain": 0.9}, {"observe": 0.7, "pretrain": 0.9}),
    ],
    ids=["as the subset paid", "as the targets say", "unknown", "another model"],
)
def test_what_made_the_soft_targets_is_charged_to_every_arm_that_uses_them_once(
    soft: SoftLabels, costs: dict[str, float], random: dict[str, float], mine: dict[str, float]
) -> None:
    study = study_of({"mine": HALF}, soft=soft, costs={"mine": costs}, seeds=1)
    for name, wanted in (("soft random@0.5", random), ("soft mine", mine), ("soft everything@0.5", random)):
        assert {stage: seconds for stage, seconds in study.arm(name).selection.items() if seconds} == wanted
    row = {row["arm"]: row for row in ledger(study)}["soft random@0.5"]
    assert row["selection_s"] == pytest.approx(sum(random.values()) if random else math.nan, nan_ok=True)


def test_marks_average_to_the_metric_in_both_tasks() -> None:
    study = study_of({"mine": HALF}, seeds=1)
    for one in study.outcomes:
        assert one.marks is not None
        assert unpacked(one.marks, binary=True).mean() == pytest.approx(one.value)
    source = line(80)
    study = study_of({}, source=source, test=line(40, seed=1, prefix="t"), model=tiny_line, seeds=1)
    (one,) = study.outcomes
    assert one.marks is not None
    assert unpacked(one.marks, binary=False).mean() == pytest.approx(one.value, rel=1e-4)


def made(levels: dict[str, float], marks: bool = True) -> Study:
    """A study of 5 seeds and 1,000 test examples, of models that are right on the first so many."""
    arms = [
        Arm("full", "full", 100, 1.0),
        Arm("everything@0.5", "everything", 100, 1.0, same_steps=50),
        Arm("random@0.5", "random", 50, 0.5, redrawn=True),
        Arm("mine", "subset", 50, 0.5, "random@0.5", None, {"observe": 1.0}),
    ]
    outcomes = []
    for arm in arms:
        for seed in range(5):
            right = np.arange(1000) < 1000 * levels[arm.name] + seed
            kept = packed(right.tolist(), binary=True) if marks else None
            seconds = 9.0 if arm.kind == "full" else 3.0
            outcomes.append(Outcome(arm.name, seed, "test", float(right.mean()), 0.1, (), 9, seconds, kept))
    return Study("accuracy", tuple(arms), tuple(outcomes), ("test",))


@pytest.mark.parametrize(
    ("random", "everything", "best", "found", "said"),
    [
        (0.80, 0.85, "everything@0.5", ("better", "better"), "Use it to save compute, or to have fewer examples"),
        (
            0.80,
            0.90,
            "everything@0.5",
            ("better", "tie"),
            "for the same compute, no difference to everything was measured",
        ),
        (0.80, 0.95, "everything@0.5", ("better", "worse"), "for the same compute, everything is better"),
        (0.90, 0.95, "everything@0.5", ("tie", "worse"), "No gain over a random subset"),
        (0.95, 0.90, "random@0.5", ("worse", "tie"), "there is no purpose it serves"),
    ],
)
def test_the_verdict_names_the_best_and_the_purpose(
    random: float, everything: float, best: str, found: tuple[str, str], said: str
) -> None:
    study = made({"full": 0.97, "everything@0.5": everything, "random@0.5": random, "mine": 0.90})
    verdict = study.verdict("mine")
    assert (verdict.best, verdict.fewer_examples, verdict.less_compute) == (best, *found)
    assert said in verdict.sentence
    assert verdict.gap == study.versus("mine", best)
    (row,) = ledger(study)
    assert row["worse_than_random"] is (found[0] == "worse")
    assert row["pays_after"] == (None if found[0] == "worse" else 1)
    assert row["vs_same_steps"] == pytest.approx(0.90 - everything, abs=1e-9)


def test_the_verdict_counts_repeated_random_among_the_free() -> None:
    levels = {"full": 0.97, "everything@0.5": 0.85, "random@0.5": 0.80, "mine": 0.90}
    study = made(levels)
    repeated = Arm("repeated random@0.5", "everything", 100, 1.0, same_steps=50, repeated=True)
    marks = packed([True] * 950 + [False] * 50, binary=True)
    more = [Outcome(repeated.name, seed, "test", 0.95, 0.1, (), 9, 3.0, marks) for seed in range(5)]
    study = replace(study, arms=(*study.arms, repeated), outcomes=(*study.outcomes, *more))
    verdict = study.verdict("mine")
    assert (verdict.best, verdict.less_compute) == (repeated.name, "worse")
    assert "repeated random (a part of the same size, drawn anew for each epoch); the subset is" in verdict.sentence
    (row,) = ledger(study)
    assert row["vs_same_steps"] == pytest.approx(study.versus("mine", repeated.name).centre)


def test_intervals_say_what_they_are_about_and_old_studies_hold_seeds_only() -> None:
    levels = {"full": 0.97, "everything@0.5": 0.93, "random@0.5": 0.9, "mine": 0.92}
    study, old = made(levels), made(levels, marks=False)
    assert study.versus("mine", "random@0.5").about.startswith("this way of choosing")
    assert study.versus("mine", "full").about.startswith("these training sets")
    assert "test examples were not kept" in old.versus("mine", "full").about
    assert "test examples were not kept" in old.interval("mine").about
    assert study.versus("mine", "full").half_width > old.versus("mine", "full").half_width


def test_only_a_way_of_choosing_and_random_both_drawn_anew_count_their_spreads_apart() -> None:
    study = made({"full": 0.97, "everything@0.5": 0.93, "random@0.5": 0.9, "mine": 0.92})
    assert study.versus("mine", "random@0.5").freedom is None  # one subset for all seeds
    redrawn = tuple(replace(arm, redrawn=True) if arm.name == "mine" else arm for arm in study.arms)
    soft = Arm("soft random@0.5", "random", 50, 0.5, soft=True)  # the same draws as random
    more = [replace(o, arm=soft.name) for o in study.outcomes if o.arm == "random@0.5"]
    study = replace(study, arms=(*redrawn, soft), outcomes=(*study.outcomes, *more))
    assert study.versus("mine", "random@0.5").freedom == 8
    assert study.versus("random@0.5", "mine").freedom == 8
    assert study.versus("soft random@0.5", "random@0.5").freedom is None
    assert study.versus("mine", "full").freedom is None
