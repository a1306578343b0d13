"""The record's tables from made-up numbers, its kept results, and the bridge between two studies in small."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from studies.record import bridge, sizes
from studies.record.publishing import counted, finished, keep, publish, told

import winnow as wn
from winnow.artefacts.bench_record import BenchCell, BenchOutcome, BenchRecord
from winnow.report.method_pairs import method_pairs

NAN = math.nan


def cell(method, gap, *, data="a:1000", share=0.5, soft=False, free=False, p=0.0001, value=0.8, find=2.0):
    ends = {"gap": gap, "gap_low": gap - 0.01, "gap_high": gap + 0.01, "p_value": p if gap == gap else NAN}
    rest = {"everything_gap": gap, "everything_low": NAN, "everything_high": NAN}
    cost = {"find_seconds": find, "full_seconds": 1.0}
    return BenchCell(data, share, method, soft, free, "accuracy", 3, 10, value, value, value, **ends, **rest, **cost)


def record(*cells):
    rows = tuple(
        BenchOutcome(c.data, c.keep, c.method, c.soft, s, c.value, 0.3, 10, 1.0) for c in cells for s in (0, 1)
    )
    return BenchRecord(tuple(cells), rows, (), {c.data: {} for c in cells}, {c.data: {} for c in cells})


@pytest.fixture
def made():
    return record(
        cell("full", NAN, share=1.0, free=True, find=0.0, value=0.9),
        cell("random", NAN, free=True, find=0.0),
        cell("random", 0.02, soft=True, free=True, find=1.5),
        cell("good", 0.03),
        cell("good", 0.05, soft=True),
        cell("bad", -0.2),
        cell("bad", 0.001, soft=True, p=0.9),
        cell("auto", 0.04, soft=True),
    )


def test_every_method_has_one_row_sorted_with_labels_first(made):
    pairs = method_pairs(made)
    assert [pair.method for pair in pairs] == ["auto", "good", "random", "bad"]
    by_name = {pair.method: pair for pair in pairs}
    assert by_name["random"].labels is None
    assert by_name["random"].cost == "free; soft 1.5"
    assert (by_name["good"].labels.gap, by_name["good"].soft.gap) == (0.03, 0.05)
    assert by_name["good"].cost == "2"


def test_tables_count_and_mark_only_what_holds_after_correction(made):
    assert counted(made)[2:] == [
        "| methods, labels | 2 | 1 | 1 |",
        "| methods, soft targets | 3 | 2 | 0 |",
        "| free, soft targets | 1 | 1 | 0 |",
    ]
    text = told(made)
    assert "| `bad` | -20.00 ± 1.00 ▼ | +0.10 ± 1.00 |" in text
    assert "everything in full 90.00; random 0.5 80.00 % accuracy" in text
    assert "| `bad` | -20.00 ▼ | +0.10 |" in text


def test_results_are_kept_and_joined_by_data_set(tmp_path, made):
    made.save(tmp_path / "out" / "a" / "record")
    keep(tmp_path / "out", "methods", tmp_path / "kept")
    record(cell("good", 0.01, data="b:5")).save(tmp_path / "other" / "b" / "record")
    both = keep(tmp_path / "other", "methods", tmp_path / "kept")
    assert both.data == ("a:1000", "b:5")
    publish(both, "methods", tmp_path / "docs")
    assert {file.name for file in (tmp_path / "docs").iterdir()} == {"record-methods.md", "record-methods.png"}


def test_fractions_join_those_kept_before_and_only_whole_data_sets_are_published(tmp_path):
    half = record(cell("random", NAN, free=True), cell("good", 0.01), cell("full", NAN, share=1.0, free=True))
    tenth = record(cell("random", NAN, share=0.1, free=True), cell("good", 0.02, share=0.1))
    for name, one in {"first": half, "second": tenth}.items():
        one.save(tmp_path / name / "a" / "record")
        found = keep(tmp_path / name, "methods", tmp_path / "kept")
    assert found.columns == (("a:1000", 0.5), ("a:1000", 0.1))
    assert len(found.outcomes) == len(half.outcomes) + len(tenth.outcomes)
    assert finished(found, (0.5, 0.1)).data == ("a:1000",)
    assert finished(found, (0.5, 0.3, 0.1)).data == ()
    again = record(cell("random", NAN, free=True), cell("good", 0.05))
    again.save(tmp_path / "third" / "a" / "record")
    found = keep(tmp_path / "third", "methods", tmp_path / "kept")
    assert [one.gap for one in found.cells if one.method == "good"] == [0.05, 0.02]


def test_fractions_of_another_protocol_are_not_joined(tmp_path):
    half, tenth = record(cell("good", 0.01)), record(cell("good", 0.02, share=0.1))
    half.save(tmp_path / "first" / "a" / "record")
    keep(tmp_path / "first", "methods", tmp_path / "kept")
    other = replace(tenth, protocol={"a:1000": {"model": "mlp"}})
    other.save(tmp_path / "second" / "a" / "record")
    assert keep(tmp_path / "second", "methods", tmp_path / "kept").columns == (("a:1000", 0.1),)


def test_grid_stands_beside_the_theory(tmp_path):
    cells = []
    for size in (1000, 4000, 16000):
        for share in (0.5, 0.1):
            right = 1 - 0.9 * (share * size / 50) ** -0.5 / 2
            cells.append(cell("random", NAN, data=f"a:{size}", share=share, free=True, value=right))
            cells.append(cell("el2n", 0.01, data=f"a:{size}", share=share, value=right + 0.01))
    text = "\n".join(sizes.grid_told(record(*cells)))
    assert text.count("| 16,000 |") == 4  # two fractions in two tables
    assert "agree on whether the hardest gain in" in text


def test_theory_says_that_the_hardest_pay_only_where_examples_abound():
    assert sizes.theory_ratio(10.0, 0.5, 0.0) < 1 < sizes.theory_ratio(0.5, 0.1, 0.0)


def test_each_row_of_the_bridge_changes_one_thing_and_the_last_is_the_other_study():
    steps = list(bridge.ROWS.values())
    told_rows = [sum(vars(a)[k] != vars(b)[k] for k in vars(a)) for a, b in itertools.pairwise(steps)]
    assert told_rows == [1, 1, 3, 1, 1, 1]  # epochs, batch and rate are one recipe
    from studies.influence import arms

    last = steps[-1]
    assert (last.images, last.epochs, last.observed[1]) == (
        arms.FASHION.images,
        arms.FASHION.epochs,
        arms.FASHION.observed,
    )
    assert (last.batch, last.rate, last.matched, last.keep) == (arms.BATCH, arms.RATE, arms.MATCHED, arms.KEPT[0])


def test_bridge_runs_and_goes_on(tmp_path, mnist):
    rows = {"first": bridge.Step(100, (1, 1), 1, 32), "second": bridge.Step(60, (1, 1), 1, 32)}
    seen = []
    lines = bridge.bridge_told(tmp_path, 2, rows, "mnist", seen.append)
    assert [table[2].endswith("not run |") for table in seen] == [True, False]
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| first", "| second"]
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("evaluate-*/study/trainings/**/seed*")}
    assert before
    assert bridge.bridge_told(tmp_path, 2, rows, "mnist") == lines
    assert before == {file: file.stat().st_mtime_ns for file in before}  # nothing was trained again
    assert np.unique(bridge.drawn(wn.open("mnist"), 60, 0)).size == 60
