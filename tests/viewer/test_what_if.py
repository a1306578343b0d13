"""What if: the quick answers are those of `wn.select` itself."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import winnow as wn
from winnow.artefacts import Scores, Signals
from winnow.viewer.example_table import ExampleTable
from winnow.viewer.run_contents import CHOSEN, read_contents
from winnow.viewer.what_if import Choice, Orders, WhatIf


@pytest.fixture(scope="module")
def pruned(runs, digits):
    return ExampleTable(digits, read_contents(runs["prune"]))


@pytest.fixture(scope="module")
def orders(pruned):
    return Orders(pruned, seed=0)


def kept(orders, method, keep, balance):
    asked = Choice(method, keep, balance)
    mask = orders.mask(asked)
    labels = orders.table.labels
    assert orders.counts(asked).tolist() == np.bincount(labels[mask], minlength=10).tolist()
    return set(orders.table.source.ids[mask].tolist())


@pytest.mark.parametrize("balance", [None, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("keep", [0.02, 0.1, 0.33, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("policy", ["hard", "easy"])
def test_ranks_are_those_of_select(orders, runs, policy, keep, balance):
    scores = Scores.load(runs["prune"] / "scores" / "el2n.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small subsets lack classes, and select says so
        expected = wn.select("rank", scores, keep=keep, policy=policy, balance=balance, seed=0)
    assert kept(orders, f"el2n+{policy}", keep, balance) == set(expected.ids.tolist())


@pytest.mark.parametrize("balance", [None, 0.5, 1.0])
@pytest.mark.parametrize("keep", [0.05, 0.4, 0.9])
def test_random_draws_are_those_of_select(orders, runs, keep, balance):
    signals = Signals.load(next((runs["prune"] / "signals").glob("*.safetensors")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = wn.select("random", signals, keep=keep, balance=balance, seed=0)
    assert kept(orders, "random", keep, balance) == set(expected.ids.tolist())


def test_the_order_of_the_run_gives_the_subset_of_the_run(orders, own, asked):
    run = orders.table.run
    share = len(run.subsets[CHOSEN]) / orders.total
    assert kept(orders, CHOSEN, share, run.order.balance) == set(run.subsets[CHOSEN].ids.tolist())
    assert asked(own("prune")).exact == ""


def test_smaller_answers_are_part_of_larger_ones(orders):
    for method in ("random", "el2n+hard", CHOSEN):
        sets = [kept(orders, method, keep, None) for keep in (0.1, 0.3, 0.7)]
        assert sets[0] < sets[1] < sets[2]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Choice("el2n+hard", 0.5, 0.5), Choice("random", 0.3)),
        (Choice("random", 0.2), Choice("random", 0.6, 1.0)),
        (Choice(f"subset:{CHOSEN}"), Choice("el2n+easy", 0.4)),
        (Choice(f"subset:{CHOSEN}"), Choice(f"subset:{CHOSEN}")),
    ],
)
def test_two_choices_side_by_side(orders, a, b):
    found = WhatIf(orders, a, b)
    rows = {name: set(np.flatnonzero(found.mask(name)).tolist()) for name in ("a", "b", "both", "enters", "leaves")}
    assert rows["both"] == rows["a"] & rows["b"]
    assert rows["enters"] == rows["b"] - rows["a"]
    assert rows["leaves"] == rows["a"] - rows["b"]
    counts = found.counts()
    assert counts["only_a"] == len(rows["leaves"])
    assert counts["only_b"] == len(rows["enters"])
    assert counts["both"] == len(rows["both"])
    labels = orders.table.labels
    for name in ("a", "b"):
        by_class = [sum(labels[row] == k for row in rows[name]) for k in range(10)]
        assert counts["per_class"][name] == by_class


def test_what_has_no_order_is_computed_anew(orders):
    with pytest.raises(wn.errors.InputError, match="computed anew"):
        orders.mask(Choice("medoids", 0.5))
    with pytest.raises(wn.errors.InputError, match="there is no subset"):
        orders.mask(Choice("subset:x", 0.5))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"method": "random", "keep": 0}',
        '{"method": "random", "keep": 2}',
        '{"method": "random", "keep": NaN}',
        '{"method": "random", "balance": 7}',
        '{"method": "random", "keep": 1' + "0" * 400 + "}",
        '{"method": "random", "keep": []}',
    ],
)
def test_bad_choices_are_refused(text):
    with pytest.raises(wn.errors.InputError, match="choice"):
        Choice.read(text)


def test_a_view_of_what_enters(own, asked):
    answers = asked(own("prune"))
    given = {"a": json.dumps({"method": "random", "keep": 0.2}), "b": json.dumps({"method": "random", "keep": 0.5})}
    enters = answers.rows({**given, "filter": json.dumps({"show": "enters"})})
    leaves = answers.rows({**given, "filter": json.dumps({"show": "leaves"})})
    assert enters["total"] == answers.compared(given)["only_b"] > 0
    assert leaves["total"] == 0
