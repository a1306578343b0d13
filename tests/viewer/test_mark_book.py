"""Marks: saved at once, undone, read back, and honoured by prune and check."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from winnow.artefacts.decisions import Decision, Decisions, read_decisions
from winnow.artefacts.verdicts import read_marks
from winnow.viewer.example_table import ExampleTable
from winnow.viewer.mark_book import FILE, MOST, MarkBook
from winnow.viewer.run_contents import read_contents


@pytest.fixture
def table(runs, digits):
    return ExampleTable(digits, read_contents(runs["check"]))


@pytest.fixture
def book(table, tmp_path):
    return MarkBook(table, tmp_path)


def test_marks_are_saved_at_once_and_read_again(book, table, tmp_path):
    book.mark([2], {"verdict": "confirmed"})
    book.mark([3], {"correction": "4"})
    book.mark([4, 5], {"choice": "drop"})
    again = MarkBook(table, tmp_path)
    assert again.said == book.said
    assert again.of(3) == Decision("confirmed", "4")
    assert again.counts() == {"wrong": 2, "corrected": 1, "right": 0, "drop": 2, "keep": 0}
    ids = table.source.ids
    assert read_marks(tmp_path / FILE) == {str(ids[2]): "confirmed", str(ids[3]): "confirmed"}
    assert read_decisions(tmp_path / FILE)[str(ids[4])].choice == "drop"


def test_undo_goes_back_step_by_step(book, table, tmp_path):
    book.mark([1, 2], {"choice": "keep"})
    book.mark([2], {"choice": "drop"})
    book.mark([2], {"verdict": "refused"})
    assert book.steps == 3
    assert book.undo() == [2]
    assert book.of(2) == Decision(choice="drop")
    book.undo()
    assert book.of(2) == Decision(choice="keep")
    book.undo()
    assert not book.said
    assert not len(Decisions.load(tmp_path / FILE))
    assert book.undo() == []


def test_an_empty_word_takes_a_mark_back(book, tmp_path):
    book.mark([1], {"correction": "3"})
    book.mark([1], {"verdict": "refused"})  # a label that is right needs no correction
    assert book.of(1) == Decision("refused")
    book.mark([1], {"verdict": ""})
    assert book.said == {}


def test_each_row_can_have_its_own_correction(book):
    book.mark([1, 2, 3], {"correction": ["4", "5", "6"]})
    assert [book.of(row).correction for row in (1, 2, 3)] == ["4", "5", "6"]
    assert book.undo() == [1, 2, 3]
    assert book.said == {}


@pytest.mark.parametrize(
    ("rows", "change"),
    [
        ([], {"choice": "drop"}),
        ([-1], {"choice": "drop"}),
        ([10**9], {"choice": "drop"}),
        (list(range(MOST + 1)), {"choice": "drop"}),
        ([1], {}),
        ([1], {"self": "x"}),
        ([1], {"choice": "burn"}),
        ([1], {"verdict": "maybe"}),
        ([1], {"correction": "no such class"}),
        ([1, 2], {"correction": ["3", "no such class"]}),
        ([1, 2], {"correction": ["3"]}),
    ],
)
def test_bad_marks_are_refused_and_change_nothing(book, tmp_path, rows, change):
    with pytest.raises(wn.errors.WinnowError):
        book.mark(rows, change)
    assert not book.said
    assert book.steps == 0
    assert not (tmp_path / FILE).exists()


def test_marks_of_examples_that_are_elsewhere_are_kept(digits, runs, tmp_path):
    table = ExampleTable(digits.at(np.arange(100)), read_contents(runs["plan"]))
    whole = ExampleTable(digits, read_contents(runs["plan"]))
    MarkBook(whole, tmp_path).mark([150], {"choice": "drop"})
    MarkBook(table, tmp_path).mark([1], {"choice": "keep"})
    assert MarkBook(whole, tmp_path).of(150).choice == "drop"
    assert MarkBook(whole, tmp_path).of(1).choice == "keep"


def test_prune_honours_the_marks(book, digits, tmp_path):
    book.mark([10, 11], {"choice": "drop"})
    book.mark([12], {"verdict": "confirmed"})  # wrong, and nobody said what is right
    book.mark([13], {"correction": "9"})
    book.mark([14], {"choice": "keep"})
    ids = digits.ids
    made = wn.prune(digits, keep=0.5, method="random", marks=tmp_path / FILE, seed=3)
    assert not {str(ids[row]) for row in (10, 11, 12)} & set(made.ids.tolist())
    assert str(ids[14]) in made.ids.tolist()
    everything = wn.prune(digits, keep=1.0, method="random", marks=tmp_path / FILE)
    assert set(everything.ids.tolist()) == {str(ids[row]) for row in range(len(digits)) if row not in (10, 11, 12)}


def test_check_honours_the_marks(book, digits, tmp_path):
    book.mark([20], {"verdict": "confirmed"})
    book.mark([21], {"choice": "drop"})
    said = wn.check(digits, model="mlp", recipe=wn.Recipe(epochs=1), marks=tmp_path / FILE)
    clean = said.clean().ids.tolist()
    assert str(digits.ids[20]) not in clean
    assert str(digits.ids[21]) not in clean
    rows = {(str(id), kind) for id, kind, found in zip(said.ids, said.kinds, said.found, strict=True) if found}
    assert (str(digits.ids[20]), "label") in rows
    assert (str(digits.ids[21]), "dropped") in rows
