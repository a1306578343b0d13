import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from studies.perceptron import __main__ as study
from studies.perceptron.simulations import AGREEMENT, AT_CROSSOVER, CROSSOVER, Plan, Point, Shelf

import winnow as wn


def test_quick_study_writes_every_figure_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["perceptron", "--quick", "--out", str(tmp_path), "--workers", "1"])
    study.main()
    names = {file.name for file in tmp_path.iterdir() if file.is_file()}
    assert names == {"perceptron-table.md", *(f"perceptron-{n}.png" for n in ("1a", "1f", "2", "7", "8a", "11a"))}
    assert "chi-square" in capsys.readouterr().out
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.json")}
    assert len(kept) == len(Plan.of(100, True).everything()) + 1  # and one count
    dropped = next(iter(kept))
    before = json.loads(dropped.read_text())["values"]
    dropped.unlink()
    monkeypatch.setattr(study, "publish", lambda *_: None)
    study.main()
    assert json.loads(dropped.read_text())["values"] == before
    assert all(file.stat().st_mtime_ns == when for file, when in kept.items() if file != dropped)


def test_the_shelf_returns_what_was_simulated(tmp_path):
    shelf = Shelf(tmp_path, 1)
    for point in (Point(2, 0.5, 10), Point(1, policy=wn.theory.window(1.0, np.inf))):
        first, again = shelf.simulate(point, 12, 4), shelf.simulate(point, 12, 4)
        direct = wn.theory.simulate(
            point.alpha, point.keep, point.angle, 12, 4, first.simulation.seed, point.policy, workers=1
        )
        assert first.simulation == again.simulation == direct
        assert first.simulation.errors.tolist() == direct.errors.tolist()
        assert first.seconds == again.seconds > 0
    whole, decimal = (shelf.simulate(point, 12, 4).simulation for point in (Point(2, 0.5), Point(2.0, 0.5)))
    assert whole == decimal


def test_points_have_seeds_of_their_own(tmp_path):
    shelf = Shelf(tmp_path, 1)
    seeds = {shelf.simulate(Point(1, keep), 8, 2).simulation.seed for keep in (0.5, 0.6, 1.0)}
    assert len(seeds) == 3


@pytest.mark.parametrize("point", AGREEMENT)
def test_agreement_is_claimed_only_away_from_the_crossover(point):
    assert point.steepness < CROSSOVER


@pytest.mark.parametrize("point", AT_CROSSOVER)
def test_the_crossover_is_steep(point):
    assert point.steepness > CROSSOVER


def test_the_published_agreement_is_what_it_says() -> None:
    """The table of the docs, read back: theory, misses and chi-square recomputed, at 12 points or more."""
    from scipy.stats import chi2

    text = (Path(__file__).parents[2] / "docs/studies/perceptron-table.md").read_text()
    section = text.split("[start:agreement]")[1].split("[end:agreement]")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "°" in line]
    assert len(rows) >= 12
    total = 0.0
    for policy, keep, angle, alpha, *_, limit, theory, miss, _ in rows:
        found = re.fullmatch(r"window ([\d.]+) to ([\d.]+)", policy)
        chosen = wn.theory.window(*map(float, found.groups())) if found else policy
        point = wn.theory.solve(float(alpha), 1.0 if found else float(keep), float(angle.rstrip("°")), chosen)
        assert float(theory) == pytest.approx(point.error, abs=6e-6)
        value, error = (float(part) for part in limit.split("±"))
        assert float(miss) == pytest.approx(
            (value - point.error) / error, abs=0.1
        )  # the printed limit and its error are rounded
        total += ((value - point.error) / error) ** 2
    assert chi2.sf(total, len(rows)) > 0.01
