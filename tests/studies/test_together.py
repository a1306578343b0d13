"""The parts of the study of methods together: small runs go on, and what tables and verdicts say of made-up numbers."""

import numpy as np
import pytest
from studies.parts import Asked
from studies.shelf import Shelf
from studies.together import exact, narrowed, why


def asked(out, data=("digits",), seeds=2):
    return Asked(Shelf(out, "together"), out, data, seeds, quick=True)


@pytest.mark.parametrize(
    ("part", "making", "rows"),
    [(exact, "drawn", 1 + len(exact.ARMS)), (why, "by_head", 4 + 3), (narrowed, "compared", 2 * 3)],
)
def test_quick_run_goes_on(tmp_path, monkeypatch, part, making, rows):
    found = part.run(asked(tmp_path))
    assert len(found.table) == 2 + rows
    monkeypatch.setattr(part, making, None)  # nothing may be made again
    assert part.run(asked(tmp_path)) == found


def test_represented_examples_are_counted_within_the_class():
    x = np.array([[0.0], [0.1], [5.0], [5.1], [5.2], [9.0]])
    y = np.array([0, 0, 0, 0, 1, 1])
    points, labels = x[[0, 2, 4]], y[[0, 2, 4]]
    assert exact.represented(x, y, points, labels).tolist() == [2, 2, 2]


def case(found, foretold=-1.0, random=(0.1, -0.2)):
    right = found * foretold > 0 and abs(found) > 0.2
    return {
        "id": "a", "loss": 2.0, "teachers": ["t"], "alike": ["u"], "foretold": foretold, "found": found,
        "found_alike": 0.5, "random": list(random), "matched": [0.0], "confirmed": right,
    }  # fmt: skip


def test_the_verdict_on_heads_follows_the_share_that_was_confirmed():
    network = [[{"everything": 2.0, "teachers": 1.5, "alike": 2.0, "random": 2.25}]] * 3
    good = {"digits": {"head": [case(-1.5)] * 9 + [case(-0.1, -0.9)], "network": network}}
    assert "9 of 10 mistakes confirmed: holds (only 10 mistakes)" in why.verdict(good)[1]
    assert "1.50 times the predicted one" in why.verdict(good)[1]
    bad = {"digits": {"head": [case(-1.5)] * 8 + [case(0.3, -0.9)] * 2, "network": network}}
    assert "8 of 10 mistakes confirmed: does not hold" in why.verdict(bad)[1]
    assert "-0.75 ± 0.00" in why.verdict(good)[2]  # -0.5 against +0.25
    lines = why.table(good)
    assert "| the named | -1.360 ± 0.317 | 10 of 10 | 9 of 10 |" in lines[2]
    assert "| network, 3 seeds | 1 | the named | -0.500" in lines[6]


def test_narrowed_probes_are_compared_by_seed():
    own = {"el2n": np.arange(40.0), "aum": np.arange(40.0)}
    turned = {"el2n": -np.arange(40.0), "aum": np.arange(40.0)}
    told = narrowed.told(own, turned, 1.0, 4.0)
    assert told == {"rank el2n": pytest.approx(-1), "rank aum": pytest.approx(1), "hardest": 0.0, "cost": 0.25}
    assert narrowed.told(own, own, 1.0, 4.0)["hardest"] == 1.0
    runs = [
        {"narrowed 8": {"rank el2n": 0.9, "rank aum": 0.5}, "small 8": {"rank el2n": 0.8 - 0.01 * i, "rank aum": 0.5}}
        for i in range(3)
    ]
    assert "8 neurons: el2n +0.11 ± 0.02 ▲, aum +0.00 ± 0.00" in narrowed.verdict({("digits", "relu"): runs})[1]
