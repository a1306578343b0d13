import pytest
from studies.influence import bound
from studies.influence.bound import table, verdict
from studies.parts import Asked
from studies.shelf import Shelf


def asked(out, seeds=2):
    return Asked(Shelf(out, "influence bound"), out, (), seeds, quick=True)


def test_quick_run_goes_on(tmp_path, monkeypatch):
    part = bound.run(asked(tmp_path))
    assert len(part.table) == 2 + 2
    assert part.figure is not None
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("problems/*.json")}
    assert len(kept) == 2
    monkeypatch.setattr(bound, "problem", None)  # nothing may be made again
    assert bound.run(asked(tmp_path)) == part
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("problems/*.json")} == kept


def made_up(actual, corrected=0.5, removed=50):
    problem = {"n": 100, "parameters": 20, "damping": 0.01, "epsilon": 1.0, "removed": removed, "linear": 0.5}
    return [problem | {"corrected": corrected, "actual": value, "random": 3.0} for value in actual]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (made_up([0.5] * 39 + [1.1]), "This holds: confirmed in 39 of 40"),
        (made_up([0.5] * 37 + [1.1] * 3), "This does not hold: confirmed in 37 of 40"),
        (made_up([0.5] * 40, corrected=1.1), "This does not hold: confirmed in 40 of 40"),
        (made_up([0.5] * 40, removed=99), "all but one example removed in 40, nothing removed in 0"),
    ],
)
def test_the_verdict_follows_the_numbers(found, words):
    assert words in verdict(found)[1]
    assert "stays within the bound in 0 of the 40" in verdict(found)[2]


def test_a_broken_bound_shows_in_the_table():
    lines = table(made_up([0.5, 1.1]))
    assert lines[2].endswith("yes |")
    assert lines[3].endswith("NO |")
