import copy

import numpy as np
import pytest
import torch
from scipy.special import jv
from studies.compression import width
from studies.compression.harmonic import harmonic, learned, sub_network, task, wide
from studies.compression.teacher import Rule
from studies.compression.width import ARMS, Case, distances, table, verdict
from studies.parts import Asked
from studies.shelf import Shelf

CASE = Case("easy", "tanh", Rule("SGD", 0.01, 32, 20))
APART = {CASE: np.ones((6, len(ARMS)))}


def asked(out):
    return Asked(Shelf(out, "compression width"), out, (), 1, quick=True)


def test_quick_run_goes_on(tmp_path, monkeypatch):
    part = width.run(asked(tmp_path))
    assert len(part.table) == 2 + len(width.QUICK)
    assert part.figure is not None
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("curves/*.json")}
    assert len(kept) == len(width.QUICK)
    monkeypatch.setattr(width, "curves", None)  # nothing may be trained again
    assert width.run(asked(tmp_path)) == part
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("curves/*.json")} == kept


def made_up(off):
    """Curves (seed, arm, mark) that are off by so much, relative to the wide network's, arm by arm."""
    rng = np.random.default_rng(0)
    base = np.linspace(1, 0.1, 5) * rng.uniform(0.9, 1.1, (6, 1, 1))
    return base * (1 + np.array([0, *off])[:, None] * rng.normal(1, 0.02, (6, len(ARMS), 1)))


def test_distances_are_relative_means():
    errors = np.array([[[1.0, 2.0], [1.1, 1.8]]])
    assert distances(errors)[0] == pytest.approx([0, 0.1])
    errors = np.array([[[1.0, 2.0], [9.0, 1.8]]])
    assert distances(errors, after=1)[0] == pytest.approx([0, 0.1])


def test_the_verdict_follows_the_numbers():
    near = {CASE: made_up([0.01, 0.03, 0.1, 0.2, 0.5])}
    lines = verdict(near, APART)
    assert "this holds" in lines[1]
    assert "Its distance is 0.05" in lines[1]
    assert "in 1 of 1 cases" in lines[2]
    assert "Outputs in the end, tanh" in lines[6]
    assert "in 0 of 1 cases" in lines[6]
    far = {CASE: made_up([0.3, 0.3, 0.3, 0.1, 0.5])}
    assert "this does not hold" in verdict(far, APART)[1]
    assert "in 0 of 1 cases" in verdict(far, APART)[2]
    assert "1.0 ± 0.0 %" in table(near, APART)[2]


def test_a_training_that_diverged_is_said_to_have():
    errors = made_up([0.01, 0.03, np.inf, 0.2, 0.5])
    kept = [[width.finite(curve) for curve in one] for one in errors.tolist()]
    assert kept[0][3] == [None] * 5
    found = {CASE: width.read(kept)}
    np.testing.assert_array_equal(found[CASE], errors)
    assert "no rule diverged in 6 of 6 seeds" in verdict(found, APART)[1]
    assert "| diverged in 6 of 6 seeds |" in table(found, APART)[2]
    assert width.drawing(found) is not None


def test_the_harmonic_is_what_it_says():
    r, theta = 0.5, 0.3
    at = np.array([[r * np.cos(theta), r * np.sin(theta)], [0.0, 0.0]])
    assert harmonic(at, 6, 20.0) == pytest.approx([jv(6, 10.0) * np.cos(1.8), 0.0], abs=1e-12)


@pytest.mark.parametrize("optimiser", ["SGD", "momentum", "Adam"])
def test_counts_and_the_rule_train_like_copies(optimiser):
    copies, few = 4, wide(5, "tanh", 0)
    many = wide(5 * copies, "tanh", 0)
    with torch.no_grad():
        for each, one in zip(many.parameters(), few.parameters(), strict=True):
            if each.ndim == 2 and each.shape[0] == 1:
                each.copy_(one.repeat_interleave(copies, 1))
            else:
                each.copy_(one.repeat_interleave(copies, 0) if each.numel() > 1 else one)
    on = task(2, 5.0, 50, 20, 0.1, 0)
    rule = Rule(optimiser, 0.02, 16, 30)
    counts = np.full(5, float(copies))
    with_rule, without = (
        learned(sub_network(few, np.arange(5), counts, rule=how), on, rule, 0, [30]) for how in (True, False)
    )
    full = learned(copy.deepcopy(many), on, rule, 0, [30])
    torch.testing.assert_close(with_rule.outputs, full.outputs, rtol=1e-4, atol=1e-4)
    if optimiser != "Adam":  # which divides gradients by their own size
        assert not torch.allclose(without.outputs, full.outputs, rtol=1e-2, atol=1e-2)


def test_arms_start_where_they_should():
    sizes = width.Sizes(before=300, after=140)
    model = wide(300, "tanh", 0)
    x = torch.rand(50, 2)
    outputs = dict(zip(ARMS, (arm(x).detach() for arm in width.arms(model, sizes, 0)), strict=True))
    off = {arm: float((out - outputs["wide"]).abs().mean()) for arm, out in outputs.items()}
    assert off["order 5"] == off["order 5, no rule"] < 0.01
    assert off["order 5"] < off["random rescaled"]
