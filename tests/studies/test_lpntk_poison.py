import numpy as np
import pytest
from studies.lpntk import confident, poison, poison_tables
from studies.parts import Asked
from studies.shelf import Shelf


def asked(folder) -> Asked:
    return Asked(Shelf(folder, "lpntk poison"), folder, ("mnist",), 1, quick=True)


@pytest.mark.usefixtures("mnist")
def test_a_second_run_reads_the_shelf(tmp_path):
    first = poison.run(asked(tmp_path))
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.json")}
    assert len(kept) == 1
    assert poison.run(asked(tmp_path)) == first
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.json")} == kept
    assert len(first.table) == 2 + len(poison_tables.MEASURES) + len(poison_tables.SETS)


def test_flips_are_exact_in_number_and_never_keep_the_label():
    labels = np.arange(4000) % 10
    given, wrong = poison.flipped(labels, 0.05, np.random.default_rng(0))
    assert wrong.sum() == 200
    assert ((given != labels) == wrong).all()
    moved = np.bincount((given - labels)[wrong] % 10, minlength=10)
    assert moved[0] == 0
    # Nine cells of 200 / 9: chi-square with 8 degrees of freedom, below its 99.9 % point.
    assert np.square(moved[1:] - 200 / 9).sum() / (200 / 9) < 26.1


def test_rankings():
    wrong = np.array([True, True, False, False, False, False])
    perfect = poison.ranked(np.array([6.0, 5.0, 4.0, 3.0, 2.0, 1.0]), wrong)
    assert perfect == {"auroc": 1.0, "average": 1.0, "at_k": 1.0}
    nothing = poison.ranked(np.zeros(6), wrong)  # all equal: what chance finds
    assert nothing["at_k"] == pytest.approx(1 / 3)
    assert nothing["auroc"] == 0.5
    tied = poison.ranked(np.array([5.0, 1.0, 1.0, 0.0, 0.0, 0.0]), wrong)
    assert tied["at_k"] == pytest.approx((1 + 0.5) / 2)


def test_sets():
    wrong = np.array([True, True, False, False])
    assert poison.compared(np.array([True, False, True, False]), wrong) == {"found": 2, "precision": 0.5, "recall": 0.5}
    assert poison.compared(np.zeros(4, dtype=bool), wrong) == {"found": 0, "precision": 0.5, "recall": 0.0}
    scores = np.r_[np.linspace(0.1, 0.2, 20), 0.9, np.linspace(0.5, 0.9, 20)]
    assert np.flatnonzero(poison.looks_wrong(scores, np.repeat([0, 1], [21, 20]))).tolist() == [20]


def test_confident_learning_by_hand():
    """Two classes, thresholds .675 and .7: one example labelled 0 is sure of class 1, so one is marked."""
    first = np.array([0.9, 0.9, 0.8, 0.1])
    second = np.array([0.7, 0.8, 0.6])
    probabilities = np.r_[np.c_[first, 1 - first], np.c_[1 - second, second]]
    labels = np.array([0, 0, 0, 0, 1, 1, 1])
    assert confident.confident_joint(probabilities, labels).tolist() == [[3, 1], [0, 3]]
    assert np.flatnonzero(confident.marked(probabilities, labels)).tolist() == [3]
    assert confident.self_confidence(probabilities, labels)[3] == 0.1
    assert confident.normalised_margin(probabilities, labels)[3] == pytest.approx(0.1)


def test_the_joint_keeps_the_sizes_of_classes():
    rng = np.random.default_rng(1)
    for _ in range(20):
        labels = np.r_[np.arange(4), rng.integers(0, 4, 60)]
        raw = rng.random((64, 4)) ** 3
        joint = confident.confident_joint(raw / raw.sum(axis=1, keepdims=True), labels)
        assert joint.sum(axis=1).tolist() == np.bincount(labels).tolist()
        assert (joint >= 0).all()


def made_up(contradiction: float, best: float, pairs: int = 0) -> dict:
    found = dict.fromkeys(poison_tables.MEASURES, 0.4) | {"contradiction": contradiction, "loss": best, "random": 0.05}
    return {
        "measures": {n: {"auroc": v, "average": v, "at_k": v, "seconds": 1.0} for n, v in found.items()},
        "sets": {name: {"found": 10, "precision": 0.5, "recall": 0.25} for name in poison_tables.SETS},
        "facts": {"contradictory": pairs, "pairs": 100, "lowest": -0.2, "fitted": 0.9, "learned_wrong": 0.1},
    }


def test_the_verdict_says_who_finds_most():
    runs = [made_up(0.6 + e, 0.8 + 2 * e) for e in (-0.01, 0.0, 0.01)]
    line = poison_tables.verdict({("made up", 3): runs})[1]
    assert "it does not hold for pairs: 0 of 300" in line
    assert "Most is found by training loss, 80.0%, then contradiction score, 60.0%" in line
    assert "less (-20.0 ± 2.5 points) than training loss" in line
    assert "more (+20.0 ± 2.5 points) than cleanlab: self-confidence" in line
    close = poison_tables.verdict({("made up", 3): [made_up(0.6 + e, 0.6 - e, 2) for e in (-0.1, 0.02, 0.1)]})[1]
    assert "wrong labels do make contradictory pairs: 6 of 300" in close
    assert "not told apart" in close


def test_each_measure_is_also_taken_at_the_length_that_suits_it():
    short = [made_up(0.7 + e, 0.2) for e in (-0.01, 0.0, 0.01)]
    long = [made_up(0.1, 0.9 + e / 2) for e in (-0.01, 0.0, 0.01)]
    line = poison_tables.verdict({("made up", 3): short, ("made up", 30): long})[-1]
    assert "the contradiction score after 3 epochs finds 70.0%" in line
    assert "less (-20.0 ± 1.2 points) than training loss after 30, 90.0%" in line
