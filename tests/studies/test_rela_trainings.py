"""The trained parts of the ReLA study: what they keep and share, and what their tables say of made-up numbers."""

import numpy as np
import pytest
from studies.parts import Asked
from studies.rela import budgets, methods, schedule, trainings
from studies.rela.trainings import OWN, Arm, Sizes
from studies.shelf import Shelf

SMALL = Sizes(images=48, test=40, steps=6, stops=(3, 6), batch=16, width=4, dim=4, probe_epochs=2)


@pytest.fixture
def asked(mnist, tmp_path, monkeypatch):
    trainings.drawn.cache_clear()
    for part in (methods, budgets, schedule):
        monkeypatch.setattr(part, "QUICK", SMALL)
    yield lambda name: Asked(
        Shelf(tmp_path / "run" / name, f"rela {name}"), tmp_path / "run" / name, ("mnist",), 2, True
    )
    trainings.drawn.cache_clear()


def kept(tmp_path):
    return {file: file.stat().st_mtime_ns for file in (tmp_path / "run").rglob("*.json") if "steps" not in file.parts}


def test_parts_share_trainings_and_go_on(asked, tmp_path, monkeypatch):
    first = methods.run(asked("methods"))
    assert first.figure is not None
    assert any(line.startswith("| BYOL |") for line in first.table)
    assert any("targets shuffled" in line for line in first.table)
    assert any("stage 1 only" in line for line in first.table)
    before = kept(tmp_path)
    fixed = schedule.run(asked("schedule"))  # needs only the fixed switches beside what is there
    assert len(fixed.table) == 3
    assert before.items() <= kept(tmp_path).items()
    monkeypatch.setattr(trainings, "trained", None)  # nothing may be trained again
    again = asked("methods")
    assert methods.run(again) == first
    assert again.shelf.seconds() > 0
    assert before.items() <= kept(tmp_path).items()


def test_sharing_stage_1_changes_nothing(asked):
    shelf = asked("methods").shelf.beside("trainings")
    trainings.curve(shelf, "mnist", SMALL, 0, Arm(None, OWN))
    early = trainings.first_stage(shelf, "mnist", SMALL, 0, Arm(None, OWN))
    assert early.switched_at is not None
    shared = trainings.curve(shelf, "mnist", SMALL, 0, Arm("simsiam", OWN))
    images, _ = trainings.drawn("mnist", SMALL, 0)
    seen = {}
    trainings.wn.relabel.accelerate(
        "simsiam",
        images,
        trainings.aims(shelf, "mnist", SMALL, 0, OWN, False)[0],
        trainings.recipe(SMALL),
        backbone=trainings.network(images.shape, SMALL),
        steps=SMALL.steps,
        seed=trainings.own_seed("mnist", 0),
        checkpoints=SMALL.stops,
        at_checkpoint=lambda step, net: seen.update({step: trainings.read("mnist", SMALL, 0, net)}),
    )
    assert shared["accuracies"] == [seen[step] for step in SMALL.stops]
    assert shared["steps"] == list(SMALL.stops)
    assert np.all(np.diff(shared["seconds"]) > 0)


def test_budgets_quick(asked):
    part = budgets.run(asked("budgets"))
    assert [line.split("|")[1].strip() for line in part.table[2:4]] == [
        "BYOL alone",
        "from the student's own initial weights",
    ]
    assert part.figure is not None


def made_up(gain, seconds=100.0, cost=30.0):
    """Five seeds in which accelerated arms end `gain` above plain ones, with a little noise."""
    rng = np.random.default_rng(0)

    def line(end, took, switch=None):
        accuracies = [40.0, float(end)]
        return {"seconds": [took / 2, took], "accuracies": accuracies, "switched_at": switch, "targets": cost}

    out = []
    for _ in range(5):
        base = 45 + rng.normal()
        one = {"untrained": 36.0, "stage 1": line(base + gain, 80.0), "shuffled": line(41, 80.0)}
        for method in methods.CLAIMED:
            one[method] = line(base, seconds)
            one[f"{method}+"] = line(base + gain + rng.normal(0, 0.1), 90.0, 600)
            one[f"{method}+shuffled"] = line(42, 90.0, 600)
        out.append(one)
    return out


def test_a_gain_is_said_to_hold_and_a_loss_not():
    said = " ".join(methods.verdict("some", made_up(5.0), Sizes()))
    assert "the claim holds" in said
    assert "wins: BYOL, SimSiam" in said
    said = " ".join(methods.verdict("some", made_up(-5.0), Sizes()))
    assert "does not hold" in said
    assert "loses: BYOL, SimSiam" in said
    assert "is not told apart" in " ".join(methods.verdict("some", made_up(0.0), Sizes()))


def test_equal_seconds_reads_between_stops():
    found = made_up(0.0, seconds=180.0)
    # After 90 of its 180 seconds the plain arm is at its first stop, 40 %, and after 120 a third of the way on.
    gain = methods.gains(found, "byol")
    plus, plain = methods.ends(found, "byol+"), methods.ends(found, "byol")
    assert gain["seconds"].centre == pytest.approx(np.mean(plus - 40))
    assert gain["with targets"].centre == pytest.approx(np.mean(plus - (40 + (plain - 40) / 3)))


def test_budget_verdict_names_where_it_wins():
    rng = np.random.default_rng(1)

    def cell(value):
        return {"accuracy": value + rng.normal(0, 0.1), "seconds": 1.0}

    found = [
        {"untrained": 30.0, "alone": {0.5: cell(40), 1.0: cell(45)}, OWN: {0.5: cell(46), 1.0: cell(45)}}
        for _ in range(5)
    ]
    said = budgets.verdict(found, (OWN,), (0.5, 1.0))
    assert "outside the interval, at 50%;" in said[1]
    assert "whole budget at 50%" in said[1]


def test_schedule_says_when_the_switch_loses():
    rng = np.random.default_rng(2)
    shares = {f"{share:g}": 40 + 5 * share for share in schedule.SHARES}
    found = [
        {OWN: {name: value + rng.normal(0, 0.1) for name, value in shares.items()} | {"adaptive": 41.0, "share": 0.7}}
        for _ in range(5)
    ]
    said = schedule.verdict(found, (OWN,))
    assert "best fixed share is 100%" in said[1]
    assert "worse by its interval" in said[1]
