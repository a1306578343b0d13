"""`winnow.testing` over every registered selector; a newcomer inherits it by being registered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from winnow import testing
from winnow.core import registry
from winnow.selectors.select import list_selectors
from winnow.testing.planted import planted
from winnow.testing.selector_checks import selected

SELECTORS = {method.name: method for method in list_selectors() if method.package == "winnow"}
CHECKS = dict(testing.conformance(*SELECTORS, kinds=("selector",)))

DRAWS = {
    "random",
    "strata",
    "beta",
    "lpntk_head",
    "lpntk_head_only",
    "head_exact",
    "influence",
    "influence_bound",
    "medoids",
    "tilted",
}  # must change with the seed
# must not, where no two examples tie
SEEDLESS = {
    "rank",
    "class_centre",
    "graph",
    "kcenter",
    "herding",
    "facility_location",
    "moderate",
    "lpntk_redundancy",
    "moments",
}


@pytest.mark.parametrize("check", CHECKS)
def test_conformance(check):
    CHECKS[check]()


@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_seed_changes_only_what_is_drawn(name):
    # not much smaller: two searches for the best set of few may well find the same
    first, second = (selected(name, size=24, seed=seed).ids.tolist() for seed in (0, 1))
    assert (first != second) == (name in DRAWS)
    assert (name in DRAWS) != (name in SEEDLESS)


@pytest.mark.parametrize("balance", [None, 0.7])
@pytest.mark.parametrize("name", ["random", "rank", "strata", "beta"])
def test_an_example_that_was_not_drawn_plays_no_part(name, balance):
    """If all examples are alike, and nothing is dropped beforehand, only their random numbers decide."""
    made = planted(n=40, seeds=1, epochs=12, seed=2).signals
    alike = replace(made, arrays={key: np.zeros_like(values) for key, values in made.arrays.items()})
    first = selected(name, alike, size=24, balance=balance, seed=5).ids
    for gone in np.setdiff1d(alike.ids, first):
        fewer = alike.take(alike.ids[alike.ids != gone])
        assert np.array_equal(selected(name, fewer, size=24, balance=balance, seed=5).ids, first)


@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_has_a_file_of_its_own(name):
    assert SELECTORS[name].function.__module__ == f"winnow.selectors.{name}"
    assert registry.get("selector", name) is SELECTORS[name]
