"""A plan from sizes alone: what grows how, what remains, and what the command says."""

from __future__ import annotations

import pytest

import winnow as wn
from tests.cli.conftest import Said, winnow
from winnow.core.comparisons import MOST
from winnow.core.errors import InputError

__all__ = ["Said", "winnow"]


def needs(rows, dim=512, classes=1000, **options):
    return {one.step: one for one in wn.plan_rows(rows, dim, classes, **options).steps}


def test_time_and_disk_grow_with_the_rows_and_memory_of_workers_does_not():
    small, large = needs(10**7), needs(10**9)
    for step in ("open", "embed", "dynamics", "score", "export"):
        assert large[step].hours == pytest.approx(100 * small[step].hours)
        assert large[step].disk == pytest.approx(100 * small[step].disk)
        assert large[step].memory == small[step].memory
    assert large["near-duplicates"].hours >= 100 * small["near-duplicates"].hours
    assert large["select"].memory > small["select"].memory  # flags and kept ids, in one process


def test_workers_share_all_but_the_choice():
    one, many = needs(10**8), needs(10**8, engine=wn.Local(workers=8))
    assert many["embed"].hours == pytest.approx(one["embed"].hours / 8)
    assert many["select"] == one["select"]


def test_selection_of_a_hundred_million_is_planned_as_it_was_measured():
    """12 CPU seconds and 1 GB are what a check allows; benchmarks/scale.py stays below."""
    found = needs(10**8, 16)["select"]
    assert 5 <= 3600 * found.hours <= 15
    assert 0.5e9 <= found.memory <= 1.5e9


def test_the_pace_of_a_network_is_the_time_of_embedding():
    assert needs(3_600_000, pace=100)["embed"].hours == pytest.approx(10)


def test_what_compares_pairs_is_named_where_it_is_refused():
    assert "kcenter" not in str(wn.plan_rows(100_000, 64, 10))
    rows = int((10 * MOST) ** 0.5) + 1
    assert "kcenter, herding" in str(wn.plan_rows(rows, 64, 10))
    assert "lpntk" in str(wn.plan_rows(rows, 64, 1))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rows": 0, "dim": 1}, "rows of plan_rows must be"),
        ({"rows": 1.5, "dim": 1}, "rows of plan_rows must be"),
        ({"rows": 10, "dim": 0}, "dim of plan_rows must be"),
        ({"rows": 10, "dim": 1, "classes": 0}, "classes of plan_rows must be"),
        ({"rows": 10, "dim": 1, "pace": 0}, "pace of plan_rows must be"),
    ],
)
def test_refused_in_one_sentence(arguments, words):
    with pytest.raises(InputError, match=words):
        wn.plan_rows(**arguments)


def test_the_command_takes_sizes_instead_of_data(winnow):
    said = winnow("plan", "--rows", "1e9", "--dim", 512, "--classes", 1000, "--workers", 16)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("1,000,000,000 rows of 512 numbers, 1,000 classes, 16 worker(s)")
    assert said.out == f"{wn.plan_rows(10**9, 512, 1000, engine=wn.Local(workers=16))}\n"
    found = winnow("plan", "--rows", "1e7", "--dim", 64, "--json").json
    assert [one["step"] for one in found["steps"]][:2] == ["open", "embed"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "plan needs DATA, or --rows and --dim."),
        (("digits", "--rows", 10, "--dim", 2), "plan takes DATA, or --rows and --dim without DATA."),
        (("--rows", 10), "plan takes DATA, or --rows and --dim without DATA."),
        (("--rows", 10, "--dim", 0), "--dim must be"),
    ],
)
def test_the_command_refuses_halves(winnow, words, message):
    said = winnow("plan", *words)
    assert said.code == 2
    assert message in said.err
