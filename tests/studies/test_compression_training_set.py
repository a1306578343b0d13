import numpy as np
import pytest
import torch
from studies.compression import training_set
from studies.compression.teacher import Points, Rule, Students, Teacher, trained
from studies.compression.training_set import ARMS, chosen, table, verdict
from studies.parts import Asked
from studies.shelf import Shelf

RULE = Rule("AdamW", 0.01, None, 10)


def asked(out, seeds=1):
    return Asked(Shelf(out, "compression training_set"), out, (), seeds, quick=True)


def test_quick_run_goes_on(tmp_path, monkeypatch):
    part = training_set.run(asked(tmp_path))
    assert len(part.table) == 2 + len(training_set.QUICK)
    assert part.figure is not None
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("curves/*.json")}
    assert len(kept) == len(training_set.QUICK) * training_set.TEACHERS
    monkeypatch.setattr(training_set, "curves", None)  # nothing may be trained again
    assert training_set.run(asked(tmp_path)) == part
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("curves/*.json")} == kept


def made_up(share):
    """Errors (teacher, arm) of which every compressed arm has this share of random's excess, but for a little noise."""
    rng = np.random.default_rng(0)
    full = rng.uniform(0.04, 0.06, 10)
    excess = rng.uniform(0.07, 0.09, 10)
    compressed = [full + share * excess * rng.normal(1, 0.02, 10) for _ in ARMS[1:-1]]
    return {RULE: np.column_stack([full, *compressed, full + excess])}


@pytest.mark.parametrize(("share", "word"), [(0.2, "this holds"), (0.6, "this does not hold")])
def test_the_verdict_follows_the_numbers(share, word):
    lines = verdict(made_up(share))
    judged = [line for line in lines if "this " in line]
    assert len(judged) == len(ARMS) - 2
    assert all(word in line for line in judged)
    assert f"| {share:.2f} (" in table(made_up(share))[2]


def test_chosen_points_weigh_as_much_as_all_and_keep_the_moments_of_the_loss():
    full = Teacher(5, 0).sample(400, 1.0, 0, "train")
    for arm in ARMS[1:-1]:
        few = chosen(arm, full, 150, 0)
        assert len(few) <= 150
        assert few.weights.sum() == pytest.approx(400)
        assert (few.weights * few.targets) @ few.inputs == pytest.approx(full.targets @ full.inputs)
    assert len(chosen("random", full, 150, 0)) == 150


def test_students_side_by_side_train_as_if_alone():
    teacher = Teacher(5, 0)
    one, two, test = (teacher.sample(n, 0.5, 0, str(n)) for n in (60, 40, 50))
    for batch in (None, 16):
        rule = Rule("momentum", 0.01, batch, 30)
        both = trained([one, two], test, rule, 6, 1, [10, 30])
        alone = np.concatenate([trained([arm], test, rule, 6, 1, [10, 30]) for arm in (one, two)])
        np.testing.assert_allclose(both, alone, rtol=1e-4)


def test_a_point_of_weight_three_is_three_points():
    full = Teacher(5, 0).sample(20, 0.5, 0, "train")
    heavy = Points(full.inputs, full.targets, np.r_[np.full(10, 3.0), np.ones(10)])
    copied = full.at(np.r_[np.repeat(np.arange(10), 3), np.arange(10, 20)])
    errors = trained([heavy, copied], full, RULE, 6, 1, [10])
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-4)


def test_batches_are_drawn_by_weight():
    full = Teacher(5, 0).sample(50, 0.5, 0, "train")
    rule = Rule("SGD", 0.01, 16, 20)
    lone = Points(full.inputs, full.targets, np.eye(50)[7])
    errors = trained([lone, full.at(np.array([7]))], full, rule, 6, 1, [20])
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-5)


def test_students_start_alike_and_compute_a_two_layer_network():
    students = Students(2, 4, 0)
    x = torch.rand(2, 3, 2)
    out = students(x)
    for i in range(2):
        by_hand = (x[i] @ students.inner[0] + students.bias[0]).clamp(min=0) @ students.outer[0] + students.last[0]
        torch.testing.assert_close(out[i], by_hand[:, 0])
