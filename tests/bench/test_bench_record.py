"""The record: its ranking, its corrections and its files."""

from __future__ import annotations

import math

import numpy as np
import pytest

import winnow as wn
from winnow.artefacts.bench_record import BenchCell, BenchOutcome, BenchRecord, LeftOut
from winnow.core.errors import InputError
from winnow.report.bench_page import render_bench


def cell(data="a", keep=0.5, method="m", soft=False, free=False, gap=0.01, reach=0.005, p=0.001, **more):
    ends = {"gap": gap, "gap_low": gap - reach, "gap_high": gap + reach, "p_value": p}
    rest = {"everything_gap": -0.01, "everything_low": -0.02, "everything_high": 0.0}
    sizes = {"seeds": 3, "steps": 10, "value": 0.9, "low": 0.88, "high": 0.92}
    cost = {"find_seconds": 2.0, "full_seconds": 1.0}
    return BenchCell(data=data, keep=keep, method=method, soft=soft, free=free, metric="accuracy",
                     **{**sizes, **ends, **rest, **cost, **more})  # fmt: skip


def record(*cells, left=()):
    rows = tuple(BenchOutcome(c.data, c.keep, c.method, c.soft, 0, c.value, 0.3, 10, 1.0) for c in cells)
    return BenchRecord(cells, rows, tuple(left), {"a": {"seeds": [0]}}, {"a": {"step": "open"}})


def test_methods_are_ranked_by_their_mean_difference_to_random():
    made = record(cell(method="low", gap=-0.02), cell(method="high", gap=0.03), cell(method="middle", gap=0.0))
    assert [row.name for row in made.ranking()] == ["high", "middle", "low"]


def test_fractions_of_one_data_set_go_together_and_data_sets_are_independent():
    one = record(cell(keep=0.5, reach=0.02), cell(keep=0.1, reach=0.04))
    two = record(cell(data="a", reach=0.03), cell(data="b", reach=0.04))
    (row,), (other,) = one.ranking(), two.ranking()
    assert row.high - row.gap == pytest.approx(0.03)
    assert other.high - other.gap == pytest.approx(0.05 / 2)


def test_p_value_of_a_standing_is_that_of_its_interval():
    (row,) = record(cell(gap=0.02, reach=0.02)).ranking()
    assert row.p_value == pytest.approx(0.05)


def test_cells_count_as_above_only_after_holms_correction():
    # .03 alone would pass; beside .001 it must be below .05 / 1, and beside two others it must be below .05 / 2
    made = record(
        cell(method="sure", p=0.001), cell(method="perhaps", p=0.03), cell(method="no", p=0.2, gap=-0.01), cell(p=0.9)
    )
    above = {row.name: (row.above, row.below) for row in made.ranking()}
    assert above == {"sure": (1, 0), "perhaps": (0, 0), "no": (0, 0), "m": (0, 0)}


def test_a_method_that_was_not_run_everywhere_comes_last():
    cells = [cell(method="part", gap=0.5), cell(method="whole", gap=0.1), cell(method="whole", gap=0.1, keep=0.1)]
    assert [row.name for row in record(*cells).ranking()] == ["whole", "part"]


def test_random_and_full_have_no_standing():
    nan = {"gap": math.nan, "reach": math.nan, "p": math.nan, "free": True}
    made = record(cell(), cell(method="random", **nan), cell(method="full", keep=1.0, **nan))
    assert [row.name for row in made.ranking()] == ["m"]
    assert made.columns == (("a", 0.5),)


def test_soft_targets_make_another_method():
    made = record(cell(), cell(soft=True, gap=0.02))
    assert made.methods == ("m", "m + soft")
    assert next(iter(made.of("m + soft").values())).gap == 0.02


def test_saved_and_loaded(tmp_path):
    made = record(cell(), cell(method="random", gap=math.nan, p=math.nan, free=True), left=[LeftOut("a", "x", "why")])
    back = BenchRecord.load(made.save(tmp_path / "record"))
    assert back.left_out == made.left_out
    assert str(back.summary()) == str(made.summary())
    assert back.outcomes == made.outcomes
    assert np.isnan(back.cells[1].gap)
    assert wn.BenchRecord is BenchRecord


def test_records_are_joined_by_data_set():
    first, second = record(cell(data="a")), record(cell(data="b"))
    both = BenchRecord.join([first, second])
    assert both.data == ("a", "b")
    with pytest.raises(InputError, match="different data sets"):
        BenchRecord.join([first, first])
    with pytest.raises(InputError, match="got none"):
        BenchRecord.join([])


def test_page_says_the_best_and_escapes_names():
    made = record(cell(method="<script>x</script>", gap=0.03), cell(method="everything", free=True, gap=0.01))
    page = render_bench(made)
    assert "<script>x" not in page
    assert "Best of what is free: everything, +1.00 points" in page
    assert "holds after correction" in page


def test_grid_has_one_column_per_cell():
    made = record(cell(keep=0.5), cell(keep=0.1, gap=-0.02, p=0.0001))
    (row,) = made.grid()
    assert row == {"method": "m", "a 0.5": "+1.00 ▲", "a 0.1": "-2.00 ▼"}
