"""A pruning that starts from a plan: which pairs it takes over, when it trains its own, and which plans it refuses."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from tests.signals.small import Counting
from winnow.artefacts.plan import PilotArm, Plan
from winnow.artefacts.provenance import record
from winnow.core.errors import InputError, StoreError
from winnow.core.request import requested
from winnow.engines import Local
from winnow.planning.plan import plan as make_plan
from winnow.pruning.prune import prune
from winnow.pruning.resolved_request import request_of
from winnow.pruning.veto import Veto

RECIPE = wn.Recipe(epochs=2, batch=64)
HOW: dict[str, Any] = {"model": "mlp", "recipe": RECIPE}


def source(n: int = 400) -> wn.Source:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    return wn.open((x, (x[:, 0] > 0).astype(int)))


def arm(policy: str, keep: float, *right: float, method: str = "tilted") -> PilotArm:
    return PilotArm(policy, method, keep, 50, right, 0.0, 0.0)


def planned(ours: tuple[float, ...] = (0.9, 0.8), theirs: tuple[float, ...] = (0.7, 0.7), **changed: Any) -> Plan:
    """A plan for this source, network and training."""
    asked = requested(wn.plan, source(), **{**HOW, **changed})
    arms = (arm("candidate", 0.5, *ours), arm("soft random", 0.5, *theirs), arm("candidate", 0.25, 0.5, 0.5),
            arm("soft random", 0.25, 0.6, 0.7))  # fmt: skip
    return Plan(("do",), "auto", 0.5, 0.01, arms=arms, pilot={"seconds": 7.0},
                provenance=record("plan", asked.settings(), {}))  # fmt: skip


def earlier(keep: float, made: Plan, **options: Any) -> tuple[float, ...]:
    return request_of(requested(prune, source(), keep, plan=made, **{**HOW, **options})).earlier


@pytest.mark.parametrize(
    ("keep", "found"),
    [(0.5, (0.2, 0.1)), (0.74, (0.2, 0.1)), (0.76, ()), (0.36, (0.2, 0.1)), (0.35, (-0.1, -0.2)), (0.16, ())],
)
def test_pairs_of_the_nearest_fraction_are_taken_over(keep: float, found: tuple[float, ...]) -> None:
    assert earlier(keep, planned()) == pytest.approx(found)


def test_pairs_of_another_candidate_or_beside_a_given_number_are_not() -> None:
    made = planned()
    other = dataclasses.replace(made, arms=tuple(dataclasses.replace(one, method="medoids") for one in made.arms))
    assert earlier(0.5, other) == ()
    assert earlier(0.5, made, veto=2) == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seed": 1}, "it differs in seed"),
        ({"model": "linear"}, "it differs in model"),
        ({"recipe": wn.Recipe(epochs=3), "match_iterations": 0.5}, "it differs in recipe, match_iterations"),
        ({"method": "el2n"}, "plan of prune is for method='auto' with keep"),
    ],
)
def test_a_plan_for_something_else_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        earlier(0.5, planned(), **options)


def test_other_refusals(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it differs in source"):
        prune(source(300), 0.5, plan=planned(), **HOW)
    with pytest.raises(InputError, match="must have a pilot of your own network"):
        prune(source(), 0.5, plan=dataclasses.replace(planned(), arms=()), **HOW)
    with pytest.raises(InputError, match="plan of prune must be a Plan, or a run directory that holds one; got int"):
        prune(source(), 0.5, plan=3, **HOW)
    with pytest.raises(StoreError, match="expected 'plan'"):
        prune(source(), 0.5, plan=tmp_path / "nowhere", **HOW)


def test_pairs_join_only_if_they_point_the_same_way() -> None:
    one = Veto("tilted", (0.01,), 0.9, 0.8, 1.0, 30, 100)
    both = one.joined((0.02, -0.01))
    assert both is not None
    assert both.differences == (0.02, -0.01, 0.01)
    assert (both.earlier, both.certificate()["pairs_from_plan"], both.certificate()["pairs"]) == (2, 2, 3)
    assert "(3 pairs of trainings of 30 epochs, 2 of them from the pilot of the plan)" in both.sentence("accuracy")
    assert one.joined((-0.02, 0.01)) is None


@pytest.mark.parametrize("ahead", [True, False])
def test_one_pair_is_trained_if_it_agrees_and_all_if_not(
    ahead: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import winnow.pruning.candidate as module

    asked: list[int | None] = []

    def fake(method: str, *given: Any, pairs: int | None, **options: Any) -> Veto:
        asked.append(pairs)
        count = pairs or 3
        return Veto(method, (0.01 if ahead else -0.05,) * count, 0.9, 0.8, 1.0, 2, 80)

    monkeypatch.setattr(module, "measured_veto", fake)
    planned().save(tmp_path / "plan")
    subset = prune(source(), 0.5, plan=tmp_path / "plan", out=tmp_path / "run", engine=Local(workers=1), **HOW)
    assert asked == ([1] if ahead else [1, None])
    assert subset.certificate["veto"]["pairs_from_plan"] == (2 if ahead else 0)
    assert subset.certificate["veto"]["pairs"] == 3
    assert Plan.load(tmp_path / "run" / "plan").pilot["seconds"] == 7.0  # the pilot is in the bill


def test_a_pair_that_disagrees_is_paid_for_and_not_trained_again(tmp_path: Path) -> None:
    engine = Counting()
    asked = {"plan": planned((0.0, 0.0), (1.0, 1.0)), "out": tmp_path / "run", "engine": engine, **HOW}
    first = prune(source(), 0.5, **asked)
    agreed = first.certificate["veto"]["pairs_from_plan"] > 0
    trained = engine.done
    assert trained == (1 + 2 if agreed else 1 + 2 + 2 * first.certificate["veto"]["pairs"])
    steps = list((tmp_path / "run" / "steps" / "veto").rglob("*.json"))
    assert len(steps) == trained - 1
    prune(source(), 0.5, **asked)
    assert engine.done == trained


def test_a_real_plan_is_taken(tmp_path: Path) -> None:
    one = Local(workers=1)
    made = make_plan(source(), pilot=True, pilot_size=200, pilot_seeds=2, out=tmp_path / "plan", engine=one, **HOW)
    subset = wn.prune(source(), 0.5, plan=tmp_path / "plan", engine=one, **HOW)
    tried = subset.certificate["veto"]
    assert tried["pairs_from_plan"] in (0, len(made.arms[0].accuracies))
    assert len(tried["differences"]) == tried["pairs"]
