"""Method names as people write them."""

from __future__ import annotations

import pytest

from winnow.core.errors import InputError, UnknownNameError
from winnow.selectors.method_string import MethodParts, method_names, needs_of, parse_method


@pytest.mark.parametrize(
    ("name", "plan", "needs"),
    [
        ("el2n", ("el2n", "rank", {"policy": "hard"}), {"logits"}),
        ("strata", ("aum", "strata", {}), {"logits"}),
        ("aum+strata", ("aum", "strata", {}), {"logits"}),
        ("prototype + strata", ("prototype", "strata", {}), {"embeddings"}),
        ("el2n+rank", ("el2n", "rank", {"policy": "hard"}), {"logits"}),
        ("difficulty+graph", ("difficulty", "graph", {}), {"losses", "embeddings"}),
        ("beta", ("dual", "beta", {}), {"logits"}),
        ("kcenter", (None, "kcenter", {}), {"embeddings"}),
        ("random", (None, "random", {}), set()),
        ("lpntk_redundancy", (None, "lpntk_redundancy", {}), {"lpntk"}),
        ("contradiction", ("contradiction", "rank", {"policy": "hard"}), {"lpntk"}),
        ("memorization", ("memorization", "rank", {"policy": "hard"}), {"ensemble_member", "ensemble_correct"}),
    ],
)
def test_names(name, plan, needs):
    assert parse_method(name) == MethodParts(*plan)
    assert needs_of(name) == needs


def test_every_name_is_understood():
    assert {"random", "el2n", "strata", "graph"} <= set(method_names())
    for name in method_names():
        assert parse_method(name).selector


@pytest.mark.parametrize(
    ("name", "error", "fragment"),
    [
        ("el2m", UnknownNameError, "unknown method 'el2m' (nearest: 'el2n')"),
        ("stratta", UnknownNameError, "nearest: 'strata'"),
        ("aumm+strata", UnknownNameError, "nearest: 'aum'"),
        ("aum+straita", UnknownNameError, "nearest: 'strata'"),
        ("el2n+kcenter", InputError, "say 'kcenter'"),
        (None, UnknownNameError, "unknown method None"),
    ],
)
def test_refusals(name, error, fragment):
    with pytest.raises(error) as caught:
        parse_method(name)
    assert fragment in str(caught.value)
