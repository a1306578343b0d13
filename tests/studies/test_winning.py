"""The study of the default at tiny sizes: it runs, goes on where it stopped, and its tables say what they should."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import stats
from studies.winning import fold_limit_check, regression, sampling, tolerance_simulation, unlabelled, validity
from studies.winning.cells import ARMS, Ends, run_setting
from studies.winning.data import CONFIRMATION, DEVELOPMENT, FRESH, IMBALANCED, SETTINGS, opened
from studies.winning.publishing import HEADS, publish, published, summary, table

import winnow as wn
from winnow.artefacts import Study


@pytest.fixture(scope="module")
def digits():
    return dataclasses.replace(SETTINGS["digits"], epochs=4)


@pytest.fixture(scope="module")
def ran(digits, tmp_path_factory):
    out = tmp_path_factory.mktemp("winning")
    return run_setting(digits, out, 2, (0.5,), quick=True, engine=wn.Local(1)), out


def test_a_cell_holds_what_was_measured(ran):
    (cell,), out = ran
    assert (cell.data, cell.keep, cell.seeds) == ("digits", 0.5, 2)
    assert cell.candidate == "medoids"  # ten kept per class
    assert set(cell.means) == {"full", "random", *ARMS}
    assert cell.holds == (cell.veto > 0)
    study = Study.load(out / "digits" / "0.5" / "evaluate" / "study")
    gap = study.versus("soft selected" if cell.holds else "soft random@0.5", "random@0.5")
    assert cell.against_random[cell.auto] == Ends(gap.centre, gap.low, gap.high, gap.p_value)
    for arm in ARMS:
        assert cell.against_random[arm].centre == pytest.approx(cell.means[arm] - cell.means["random"])
    assert all(cell.seconds[stage] > 0 for stage in ("observe", "veto", "full", "subset"))


def test_the_same_again_trains_nothing(ran, digits):
    cells, out = ran
    before = {path: path.stat().st_mtime_ns for path in out.rglob("steps/**/seed-*.json")}
    assert run_setting(digits, out, 2, (0.5,), quick=True, engine=wn.Local(1)) == cells
    assert before == {path: path.stat().st_mtime_ns for path in out.rglob("steps/**/seed-*.json")}
    assert before


def test_table_and_summary_say_what_the_cells_hold(ran, tmp_path):
    cells, _ = ran
    lines = table(cells)
    heads = [word.strip() for word in lines[2].strip("|").split("|")]
    assert heads == ["data", "kept", "random, %", "candidate", "veto, points", *HEADS.values(), "full, %"]
    row = [word.strip() for word in lines[4].strip("|").split("|")]
    assert len(row) == len(heads)
    assert (row[0], row[1], row[3]) == ("digits*", "0.5", "medoids")
    assert [head for head, word in zip(heads, row, strict=True) if word.startswith("**")] == [HEADS[cells[0].auto]]
    said = "\n".join(summary(cells))
    assert said.startswith("- On the development data (1 cells), auto is above random by its interval in ")
    assert "5 seeds per arm (2 on digits); digits mlp." in said
    assert "confirmation" not in said
    publish(cells, tmp_path)
    assert (tmp_path / "winning-table.md").read_text().splitlines()[: len(lines)] == lines
    assert (tmp_path / "winning.png").read_bytes().startswith(b"\x89PNG")


def test_the_summary_counts_cells_against_everything_and_those_that_the_veto_turned_down(ran):
    cell = dataclasses.replace(ran[0][0], keep=0.5, holds=True)
    up, down = Ends(0.02, 0.01, 0.03, 0.001), Ends(-0.02, -0.03, -0.01, 0.001)
    won = dataclasses.replace(
        cell, against_random=dict.fromkeys(ARMS, up), auto_against_everything=up, auto_against_soft_random=up
    )
    arms = {**dict.fromkeys(ARMS, down), "soft random": Ends(0.01, -0.01, 0.03, 0.3)}
    turned = dataclasses.replace(cell, keep=0.1, holds=False, against_random=arms, auto_against_everything=down)
    said = "\n".join(summary([won, turned]))
    assert "Over all 2 cells, auto is above random by its interval in 1: 1 of 1 at 0.5, 0 of 1 at 0.1." in said
    assert "ahead of it by its interval in 1 cells and behind in 1 (digits 0.5)." in said
    assert "worse than random + soft in 1 of 1 cells (by 3.0 points at most) and better in 0 (by 0.0 at most)" in said


def test_cells_of_later_runs_join_those_of_earlier_ones(ran, tmp_path):
    (cell,), _ = ran
    publish([cell], tmp_path)
    other = dataclasses.replace(cell, data="mnist", candidate="tilted")
    again = dataclasses.replace(cell, candidate="beta")
    publish([other, again], tmp_path)
    assert published(tmp_path) == [again, other]


def test_the_two_lists_share_nothing_and_name_every_setting(digits):
    assert not set(DEVELOPMENT) & set(CONFIRMATION)
    assert not {*DEVELOPMENT, *CONFIRMATION} & set(FRESH)
    assert not {*DEVELOPMENT, *CONFIRMATION, *FRESH} & set(IMBALANCED)
    assert {*DEVELOPMENT, *CONFIRMATION, *FRESH, *IMBALANCED} == set(SETTINGS)
    source, test = opened(digits, quick=True)
    assert len(source) == 200
    assert not set(source.ids.tolist()) & set(test.ids.tolist())


def test_sampling_trains_every_arm_and_keeps_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "EPOCHS", 2)
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{y:.3f},{'up' if x + y > 0 else 'down'}" for x, y in rng.normal(size=(200, 2))]
    (tmp_path / "plane.dat").write_text("@relation plane\n" + "\n".join(rows))
    given = tmp_path / "kept.json", {"plane": tmp_path / "plane.dat"}, [], 2, [0.5]
    found = sampling.run(*given)
    assert list(found) == ["plane|0.50", "plane, 20 % wrong labels|0.50"]
    assert all(list(cell) == list(sampling.arms()) for cell in found.values())
    assert len(sampling.table(found)) == 2 + 2 * len(sampling.arms())
    monkeypatch.setattr(sampling, "score", None)
    assert sampling.run(*given) == json.loads(given[0].read_text()) == found


def test_sampling_makes_a_fifth_of_the_labels_wrong():
    source = wn.open("digits")
    noisy = sampling.with_wrong_labels(source)
    same = np.asarray(noisy.labels)[noisy.order] == np.asarray(source.labels)[source.order]
    assert 0.17 < 1 - same.mean() < 0.23


def test_a_simulated_search_keeps_its_promise_in_an_easy_world():
    flat = dataclasses.replace(tolerance_simulation.SETTINGS[0], a=1e-6, luck=0.0, step=None)
    found = tolerance_simulation.simulated(flat, 2)
    assert (found["trials"], found["kept"]) == (2, 1.0)
    assert found["median_keep"] < 1
    assert tolerance_simulation.table([found]).splitlines()[-1].startswith(f"| {flat.name} | {flat.tolerance:g} |")


def test_the_limit_of_folds_is_seldom_too_low():
    assert 0 < fold_limit_check.too_low(0.5, 0.0, 1.0, 200) < 0.15


def test_what_could_be_shown_is_never_smaller_than_what_would_do():
    setting = dataclasses.replace(tolerance_simulation.SETTINGS[4], validation=2000)
    assert setting.smallest < tolerance_simulation.could_be_shown(setting) < 1


@pytest.mark.parametrize("per_seed", [False, True])
def test_validity_counts_shares_of_studies(per_seed):
    row = validity.modelled(validity.LUCKS[0], 0.9, 5, 300, 10, per_seed)
    shares = row.false_claims, row.false_by_seeds_alone, row.found, row.findable, row.inside
    assert all(0 <= share <= 1 for share in shares)
    assert row.inside > 0.5
    assert validity.table([row])[-1].startswith(
        f"| {row.kind} | {'one per seed' if per_seed else 'one'} | 0.90 | 5 | 300 |"
    )


def test_the_power_of_a_t_interval_is_that_of_simulated_ones():
    rng = np.random.default_rng(0)
    seeds, effect = 5, 3.0
    runs = rng.normal(effect / np.sqrt(seeds), 1, (20_000, seeds))
    found = np.abs(runs.mean(1)) > stats.t.ppf(0.975, seeds - 1) * runs.std(1, ddof=1) / np.sqrt(seeds)
    assert validity.power_of_student(effect, seeds) == pytest.approx(found.mean(), abs=0.01)
    assert validity.power_of_student(0.0, seeds) == pytest.approx(0.05)


def test_the_table_of_regression_marks_auto_and_counts_cells(ran):
    cell = dataclasses.replace(ran[0][0], data="friedman0", holds=False)
    up, down = Ends(0.02, 0.01, 0.03, 0.001), Ends(-0.02, -0.03, -0.01, 0.001)
    won = dataclasses.replace(cell, against_random={**dict.fromkeys(ARMS, down), "soft random": up})
    lost = dataclasses.replace(cell, against_random=dict.fromkeys(ARMS, down))
    lines = regression.table([won, lost])
    assert "**+2.00 ▲**" in lines[4]
    assert "**-2.00 ▼**" in lines[5]
    assert "2 cells: auto is above random by its interval in 1, below in 1 (1 after Holm's correction)" in lines[7]
    assert "The veto fell back in 2 cells" in lines[8]


def test_the_computed_table_of_regression_is_opened_without_any_package():
    train, test = regression.opened(regression.COMPUTED)
    assert (train.task, len(train), len(test)) == ("regression", 4500, 1500)


def test_the_study_without_labels_hides_them_from_the_choice(monkeypatch):
    seen = []
    prune = wn.prune
    monkeypatch.setattr(
        wn, "prune", lambda source, *rest, **named: seen.append(source) or prune(source, *rest, **named)
    )
    monkeypatch.setattr(unlabelled, "KEEPS", (0.1,))
    monkeypatch.setattr(unlabelled, "METHODS", ("random", "auto"))
    rows = wn.open((np.random.default_rng(0).normal(size=(300, 3)).astype("f4"), np.arange(300) % 2))
    monkeypatch.setattr(
        unlabelled, "opened", lambda setting, quick: (rows.at(range(200), "a"), rows.at(range(200, 300), "b"))
    )
    cells = unlabelled.run_set("digits", 2, quick=True)
    assert {source.task for source in seen} == {"unlabelled"}
    assert all(source.labels is None for source in seen)
    assert [cell["judge"] for cell in cells] == ["network", "forest"]
    assert {cell["kept"] for cell in cells} == {20}
    (row, _) = unlabelled.rows_of(cells)
    assert (row["data"], row["kept"]) == ("digits*", "0.1 (20)")
    centre, low, high, _ = cells[0]["gaps"]["auto"]
    assert low <= centre <= high
    assert row["auto"].startswith(f"{100 * centre:+.1f}")
    assert unlabelled.summary(cells)[-1].startswith("| development, 2 cells |")


def test_the_lists_without_labels_do_not_meet():
    assert not set(unlabelled.DEVELOPMENT) & set(unlabelled.CHECKED)
    assert {*unlabelled.DEVELOPMENT, *unlabelled.CHECKED} <= set(SETTINGS)
