"""The trained parts of the ReLA study: what they keep and share, and what their tables say of made-up numbers."""

import numpy as np
import pytest
import torch
from studies.parts import Asked
from studies.rela import architectures, budgets, methods, priors, readings, renewal, schedule, trainings
from studies.rela.trainings import OWN, Arm, Sizes
from studies.shelf import Shelf

from winnow.methods.relabel.pretrain_loop import Pretraining

SMALL = Sizes(images=48, test=40, steps=6, stops=(3, 6), batch=16, width=2, dim=4, probe_epochs=2)


@pytest.fixture
def asked(mnist, tmp_path, monkeypatch):
    trainings.drawn.cache_clear()
    for part in (methods, budgets, schedule, architectures, renewal):
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
    assert "targets shuffled" in fixed.table[0]
    assert "stage 1 only" in fixed.table[0]
    assert before.items() <= kept(tmp_path).items()
    monkeypatch.setattr(trainings, "trained", None)  # nothing may be trained again
    again = asked("methods")
    assert methods.run(again) == first
    assert again.shelf.seconds() > 0
    assert before.items() <= kept(tmp_path).items()


def test_sharing_stage_1_changes_nothing(asked):
    shelf = asked("methods").shelf.beside("trainings")
    assert trainings.curve(shelf, "mnist", SMALL, 0, Arm(None, OWN))["switched_at"] is not None
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


def test_a_killed_training_begins_anew_and_its_time_is_whole(asked, monkeypatch):
    """What is taken up halfway would count the seconds of the second half alone."""
    shelf, arm = asked("methods").shelf.beside("trainings"), Arm(None, OWN)
    step, done = Pretraining.step, []

    def dying(self):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(self.done)
        step(self)

    with monkeypatch.context() as patch:
        patch.setattr(Pretraining, "step", dying)
        with pytest.raises(KeyboardInterrupt):
            trainings.curve(shelf, "mnist", SMALL, 0, arm)
    monkeypatch.setattr(Pretraining, "step", lambda self: (done.append(self.done), step(self))[1])
    made = trainings.curve(shelf, "mnist", SMALL, 0, arm)
    assert done == [*range(5), *range(SMALL.steps)]
    assert made["steps"] == list(SMALL.stops)


def test_the_clock_counts_neither_imports_nor_probes(asked, monkeypatch):
    """Lightly takes seconds to import; the method that happens to be first must not pay for it."""
    now, order = [0.0], []
    monkeypatch.setattr(trainings.time, "process_time", lambda: (order.append("clock"), now[0])[1])
    monkeypatch.setattr(trainings.importlib, "import_module", lambda name: order.append(name))
    monkeypatch.setattr(trainings, "read", lambda *_: now.__setitem__(0, now[0] + 100.0) or 50.0)
    step = Pretraining.step
    monkeypatch.setattr(Pretraining, "step", lambda self: (now.__setitem__(0, now[0] + 1.0), step(self))[1])
    made = trainings.trained(asked("methods").shelf, "mnist", SMALL, 0, Arm("simsiam"))
    assert order.index("winnow.methods.relabel.lightly_methods") < order.index("clock")
    assert made["seconds"] == [3.0, 6.0]


def test_a_prior_sees_grey_images_repeated_scaled_and_resized():
    grey = torch.rand(2, 1, 8, 8)
    seen = priors.Scaled(priors.Resized(torch.nn.Identity(), 4))(grey)
    assert seen.shape == (2, 3, 4, 4)
    for channel in range(3):
        own = (seen[:, channel] * priors.IMAGENET_STD[channel] + priors.IMAGENET_MEAN[channel]).mean()
        assert own.item() == pytest.approx(grey.mean().item(), abs=0.02)
        assert not torch.allclose(seen[:, channel], seen[:, (channel + 1) % 3])


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
        out.append(one)
    return out


def test_a_gain_is_said_to_hold_and_a_loss_not():
    said = " ".join(methods.verdict("some", made_up(5.0, seconds=130.0), Sizes()))
    assert "the claim holds" in said
    assert "wins: BYOL, SimSiam" in said
    assert "true targets are worth" in said
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


def test_equal_seconds_never_reads_beyond_an_end():
    """With the targets counted the accelerated arm ends after the plain one, which would have gone on learning."""
    found = made_up(5.0, seconds=100.0)  # the accelerated arms: 90 seconds behind 30 of waiting
    gain, plus, plain = methods.gains(found, "byol"), methods.ends(found, "byol+"), methods.ends(found, "byol")
    then = 40 + (plus - 40) * (70 - 45) / 45
    assert gain["with targets"].centre == pytest.approx(np.mean(then - plain))
    late = [{**one, "byol+": {**one["byol+"], "targets": 200.0}} for one in found]
    assert methods.gains(late, "byol")["with targets"].centre == pytest.approx(np.mean(36 - plain))


def test_budget_verdict_names_where_it_wins():
    rng = np.random.default_rng(1)

    def cell(value):
        return {"accuracy": value + rng.normal(0, 0.1), "seconds": 2 * value, "targets": 7.0}

    found = [
        {
            "untrained": 30.0,
            "alone": {0.5: cell(40), 1.0: cell(45)},
            OWN: {0.5: cell(46), 1.0: cell(45)},
            "resnet20": {0.5: cell(39)},  # not trained for the whole budget
        }
        for _ in range(5)
    ]
    said = budgets.verdict(found, (OWN, "resnet20"), (0.5, 1.0))
    assert "at no budget; its mean reaches that of BYOL's whole budget at no budget" in said[2]
    assert "outside the interval, at 50%;" in said[1]
    assert "whole budget at 50%, in 92 s of training after 7 s for the targets, against 90 s" in said[1]


def test_what_it_costs_to_be_as_good_is_read_between_stops():
    line = {"seconds": [10.0, 20.0, 30.0], "accuracies": [40.0, 30.0, 50.0]}
    assert readings.seconds_to(line, 35.0, 30.0) == pytest.approx(5)
    assert readings.seconds_to(line, 45.0, 30.0) == pytest.approx(27.5)
    assert readings.seconds_to(line, 30.0, 30.0) == 0
    assert readings.seconds_to(line, 51.0, 30.0) == np.inf
    assert readings.mean_or_never([0.25, 0.75], ".0%") == "50%"
    assert readings.mean_or_never([0.25, np.inf], ".0%") == "25% (1 of 2 seeds)"
    assert readings.mean_or_never([np.inf], ".0%") == "never"
    (one, *_) = made_up(5.0, seconds=100.0)  # 36, 40 after 45 s, its end after 90 s; 30 s for the targets
    needed = 45 + 45 * (one["byol"]["accuracies"][-1] - 40) / (one["byol+"]["accuracies"][-1] - 40)
    assert methods.cost(one, "byol", 0.0) == pytest.approx(needed / 100)
    assert methods.cost(one, "byol", 1.0) == pytest.approx((needed + 30) / 100)


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
    assert "every prior here: does not hold" in said[2]
    assert "nowhere worse than it by their interval: 25%, 75%, 100%; so" in said[2]
    for one in found:
        one[OWN]["adaptive"] = 50.0
    said = schedule.verdict(found, (OWN,))
    assert "better by its interval" in said[1]
    assert "not contradicted. Every fixed share is worse" in said[2]


def test_other_students_learn_from_the_same_targets(asked, monkeypatch):
    part = architectures.run(asked("architectures"))
    assert [line.split(" | ")[0].strip("| ") for line in part.table[2:]] == list(architectures.STUDENTS.values())
    assert len(part.verdict) == 1 + len(architectures.STUDENTS)
    monkeypatch.setattr(trainings, "trained", None)  # nothing may be trained again
    assert architectures.run(asked("architectures")) == part


def test_results_of_the_usual_student_are_found_under_the_name_they_had():
    assert "student" not in Sizes().settings()
    assert Sizes(student="mlp").settings() == {**Sizes().settings(), "student": "mlp"}


def test_targets_made_once_are_stage_1_and_renewed_ones_are_not(asked, monkeypatch):
    seen = {}
    monkeypatch.setattr(renewal, "read", lambda data, sizes, repeat, network: seen.setdefault("network", network))
    fixed = renewal.trained("mnist", SMALL, 0, 0)
    images, _ = trainings.drawn("mnist", SMALL, 0)
    made = trainings.aims(asked("renewal").shelf, "mnist", SMALL, 0, OWN, False)[0]
    whole = trainings.wn.relabel.accelerate(
        None,
        images,
        made,
        trainings.recipe(SMALL),
        backbone=trainings.network(images.shape, SMALL),
        steps=SMALL.steps,
        switch=None,
        seed=trainings.own_seed("mnist", 0),
    )
    for name, value in whole.backbone.state_dict().items():
        torch.testing.assert_close(fixed.state_dict()[name], value, rtol=1e-4, atol=1e-5)
    seen.clear()
    renewed = renewal.trained("mnist", SMALL, 0, 1)
    assert any(not torch.allclose(a, b) for a, b in zip(fixed.parameters(), renewed.parameters(), strict=True))


def test_renewal_says_what_its_numbers_say():
    found = [{"0": 40.0 + wobble, "2": 40.5, "1": 43.0 + wobble} for wobble in (-0.5, 0.0, 0.5)]
    said = renewal.verdict(found, 160)
    assert "not shown" in said[1]
    assert said[2].startswith("renewed every epoch: +3.00")
    assert "holds" in said[2]
