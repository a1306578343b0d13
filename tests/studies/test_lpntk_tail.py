import numpy as np
import pytest
from studies.lpntk import tail
from studies.parts import Asked
from studies.shelf import Shelf

import winnow as wn


def asked(folder) -> Asked:
    return Asked(Shelf(folder, "lpntk tail"), folder, ("mnist",), 1, quick=True)


@pytest.mark.usefixtures("mnist")
def test_a_second_run_reads_the_shelf(tmp_path):
    first = tail.run(asked(tmp_path))
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.json")}
    assert len(kept) == 1
    again = tail.run(asked(tmp_path))
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.json")} == kept
    assert first == again
    assert len(first.table) == 2 + len(tail.KINDS)


def test_on_a_kernel_of_like_cosines_lengths_choose_every_centre():
    lengths = np.random.default_rng(0).permutation(np.linspace(1.0, 3.0, 40))
    kernel = np.outer(lengths, lengths) * (0.6 + 0.4 * np.eye(40))
    found = tail.described(kernel, wn.lpntk.farthest_points(kernel, 0.1))
    assert found["head"] == found["alike"] == 37 / 40
    assert found["by_length"] == 1.0
    assert found["several"] == 0
    assert found["single"] == 3 / 4
    assert found["correlation"] < 0


def made_up(head: float, single: float, by_length: float) -> dict:
    names = {"head": head, "single": single, "by_length": by_length, "several": 1, "alike": 0.9, "correlation": -0.1}
    return {name: [value] * 10 for name, value in names.items()} | {"sizes": [[head, 0.1]] * 10}


@pytest.mark.parametrize(
    ("head", "single", "said"),
    [(0.8, 0.9, "holds"), (0.3, 0.9, "does not hold"), (0.8, 0.2, "does not hold"), (0.5, 0.9, "not decided")],
)
def test_a_claim_that_fails_is_said_to_fail(head, single, said):
    runs = [{kind: made_up(head + e, single + e, 0.8 + e) for kind in tail.KINDS} for e in (-0.01, 0.0, 0.01)]
    lines = tail.verdict({"made up": runs})
    assert len(lines) == 1 + len(tail.KINDS)
    assert lines[1].startswith(f"made up, raw kernel: {said}. ")
    assert "mostly those that lengths alone would choose" in lines[1]
    assert f"{head:.3f} ± 0.025" in tail.table({"made up": runs})[2]


def test_what_lengths_choose_is_judged_against_chance():
    from winnow.artefacts.intervals import mean

    assert "are not those" in tail.explained(mean([0.01, 0.02, 0.015]))
    assert "not decided" in tail.explained(mean([0.05, 0.15, 0.2]))
    assert "in part" in tail.explained(mean([0.3, 0.31, 0.32]))
