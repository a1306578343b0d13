"""benchmark: the entrants, the protocol, the budget, and what is done again."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from winnow.bench.budget import expected_seconds, fitting
from winnow.bench.entrants import BASE, Entrant, entrants, observations
from winnow.cli import main
from winnow.core.errors import InputError, UnknownNameError

QUICK = {"seeds": 2, "limit": 150, "recipe": wn.Recipe(epochs=1), "engine": wn.Local(workers=1), "model": "linear"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("bench")
    return wn.benchmark("digits", [0.2, 0.4], methods=["el2n", "tilted", "kcenter"], out=out, **QUICK), out


def test_every_registered_method_enters_once():
    found, left = entrants(wn.open("digits", limit=50))
    names = [one.name for one in found] + [row.method for row in left]
    known = {m.name for m in (*wn.list_scores(), *wn.list_selectors())} - {"rank", "random", "mislabelled"}
    assert sorted(names) == sorted({"auto", *known})
    assert {"token_loss", "instruction_difficulty"} <= {row.method for row in left}


def test_what_is_not_defined_for_the_task_is_left_out_with_a_reason():
    source = wn.open((np.random.default_rng(0).normal(size=(40, 3)), np.linspace(0, 1, 40)))
    found, left = entrants(source)
    assert "difficulty" in [one.name for one in found]
    assert next(row.why for row in left if row.method == "el2n") == (
        "score 'el2n' is defined for classification and multilabel"
    )


def test_what_needs_a_language_model_enters_with_one_only():
    source = wn.open((["a fine film", "dull", "a fine cast", "so dull"], [1, 0, 1, 0]))
    assert "token_loss" in [one.name for one in entrants(source, model="hf:some-folder")[0]]
    left = {row.method: row.why for row in entrants(source, model="textbag")[1]}
    assert left["token_loss"] == left["instruction_difficulty"] == "signal 'token_losses' is for models called hf:NAME"


def test_unknown_methods_are_refused():
    with pytest.raises(UnknownNameError, match="el2m"):
        entrants(wn.open("digits", limit=50), ["el2m"])


def test_cheap_signals_share_one_observation():
    found = [Entrant("a", None, ("dynamics",)), Entrant("b", None, ("lpntk",)), Entrant("c", None, ("lpntk", *BASE))]
    assert observations(found) == [BASE, ("lpntk",)]


def test_what_is_free_is_always_there(made):
    record, _ = made
    free = {cell.method for cell in record.cells if cell.free}
    assert free == {"random", "everything", "repeated random", "dynamic sampling", "full"}
    assert {cell.method for cell in record.cells if not cell.free} == {"el2n", "tilted", "kcenter"}
    for cell in record.cells:
        assert cell.soft in (True, False)
    assert {(c.method, c.soft) for c in record.cells if c.method == "everything"} == {
        ("everything", False), ("everything", True)}  # fmt: skip


def test_all_arms_of_a_fraction_take_the_same_steps_and_seeds(made):
    record, _ = made
    for keep in (0.2, 0.4):
        assert len({cell.steps for cell in record.cells if cell.keep == keep}) == 1
    assert {row.seed for row in record.outcomes} == {0, 1}


def test_a_random_method_is_drawn_anew_per_seed_and_a_fixed_one_is_not(made):
    _, out = made
    subsets = next(path.parent for path in out.glob("*/subsets-0.2"))

    def ids(name, place):
        return set(wn.Subset.load(subsets / "subsets-0.2" / "subset" / name / f"{place}.parquet").ids.tolist())

    assert ids("tilted", 0) != ids("tilted", 1)
    assert ids("el2n", 0) == ids("el2n", 1)


def test_nothing_is_trained_twice_and_a_second_data_set_joins(made):
    record, out = made

    def written():
        return {path: path.stat().st_mtime_ns for path in out.rglob("steps/**/seed-*.json")}

    before = written()
    again = wn.benchmark("digits", [0.2, 0.4], methods=["el2n", "tilted", "kcenter"], out=out, **QUICK)
    assert written() == before
    assert [cell.value for cell in again.cells] == [cell.value for cell in record.cells]
    more = {**QUICK, "limit": 120}
    wn.benchmark("digits", 0.4, methods=["el2n"], labels_only=True, out=out, **more)
    assert len(wn.BenchRecord.load(out / "record").data) == 2


def test_the_cost_of_a_method_holds_observing_and_choosing(made):
    record, _ = made
    by = {cell.name: cell for cell in record.cells if cell.keep == 0.2}
    assert by["el2n"].find_seconds > 0
    assert by["random"].find_seconds == 0
    assert by["random + soft"].find_seconds > 0  # soft targets come from the observed training


def test_budget_keeps_the_first_methods_and_says_what_is_left_out():
    found = [Entrant(name, None, BASE) for name in "abcd"]
    kept, left = fitting(found, "data", 1.0, spent=600, free=1000, each=900)
    assert [one.name for one in kept] == ["a", "b"]
    assert [row.method for row in left] == ["c", "d"]
    assert "budget of 1 hours" in left[0].why
    assert fitting(found, "data", None, 1e9, 1e9, 1e9) == (found, [])


def test_expected_seconds_count_every_training():
    assert expected_seconds({0.5: 100, 0.1: 20}, 3, True, 0.01, 2) == pytest.approx(120 * 3 * 2 * 0.01 / 2)


def test_a_tiny_budget_trains_only_what_is_free():
    record = wn.benchmark("digits", 0.3, methods=["el2n"], budget=1e-6, labels_only=True, **QUICK)
    assert [row.method for row in record.left_out] == ["el2n"]
    assert "random" in record.methods
    assert "el2n" not in record.methods


@pytest.mark.parametrize("keeps", [0, 1, [], [0.5, 1.2]])
def test_fractions_must_be_between_0_and_1(keeps):
    with pytest.raises(InputError, match="keep"):
        wn.benchmark("digits", keeps, **QUICK)


def test_command_writes_record_and_page(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["bench", "digits", "--limit", "120", "--keep", "0.4", "--method", "el2n", "--seeds", "2", "--epochs", "1",
              "--model", "linear", "--labels-only", "--workers", "1", "--out", str(tmp_path)])  # fmt: skip
    assert end.value.code == 0
    assert "el2n" in capsys.readouterr().out
    assert (tmp_path / "bench.html").exists()
    assert (tmp_path / "record" / "outcomes.parquet").exists()
