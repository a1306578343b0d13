"""Method names as people write them."""

from __future__ import annotations

import pytest

from winnow.core.errors import InputError, UnknownNameError
from winnow.selectors.method_string import MethodParts, method_names, needs_of, parse_method, with_parameters


@pytest.mark.parametrize(
    ("name", "plan", "needs"),
    [
        ("el2n", ("el2n", "rank", {"policy": "hard"}), {"errors"}),
        ("strata", ("aum", "strata", {}), {"losses", "margins"}),
        ("aum+strata", ("aum", "strata", {}), {"losses", "margins"}),
        ("prototype + strata", ("prototype", "strata", {}), {"embeddings"}),
        ("el2n+rank", ("el2n", "rank", {"policy": "hard"}), {"errors"}),
        ("difficulty+graph", ("difficulty", "graph", {}), {"losses", "embeddings"}),
        ("beta", ("dual", "beta", {}), {"probabilities"}),
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
        ("el2n+kcenter", InputError, "pass 'kcenter'"),
        (None, UnknownNameError, "unknown method None"),
    ],
)
def test_refusals(name, error, fragment):
    with pytest.raises(error) as caught:
        parse_method(name)
    assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("name", "score", "selector"),
    [
        ("el2n(epoch=3)+strata(drop=0.1)", {"epoch": 3}, {"drop": 0.1}),
        ("el2n(epoch=3)", {"epoch": 3}, {"policy": "hard"}),
        ("el2n( epoch = early )+rank(policy=easy)", {"epoch": "early"}, {"policy": "easy"}),
        ("strata(drop=0.1, bins=-1)", {}, {"drop": 0.1, "bins": -1}),
        ("aum(on='a+b)')+strata(drop=None)", {"on": "a+b)"}, {"drop": None}),
        ("el2n()+strata()", {}, {}),
        ("prototype(seed=2)", {"seed": 2}, {"policy": "hard"}),
    ],
)
def test_parameters_of_both_halves(name, score, selector):
    parts = parse_method(name)
    assert (parts.score_parameters, parts.parameters) == (score, selector)


@pytest.mark.parametrize(
    ("name", "error", "fragment"),
    [
        ("el2n(epok=3)+strata", UnknownNameError, "parameter of score 'el2n': 'epok' (nearest: 'epoch')"),
        ("el2n+strata(drpo=1)", UnknownNameError, "parameter of selector 'strata': 'drpo' (nearest: 'drop')"),
        ("el2m(epoch=3)", UnknownNameError, "unknown method 'el2m' (nearest: 'el2n')"),
        ("el2n(epoch=3", InputError, "cannot be read; write parameters by name in brackets, as in 'el2n(epoch=3)+"),
        ("el2n(3)", InputError, "cannot be read"),
        ("el2n(epoch=open('x'))", InputError, "cannot be read"),
        ("el2n(**{'epoch': 3})", InputError, "cannot be read"),
        ("el2n(epoch=3) strata", InputError, "cannot be read"),
        ("el2n+", InputError, "cannot be read"),
        ("el2n+rank+strata", InputError, "cannot be read"),
        ("strata(seed=1)", InputError, "seed of selector 'strata'"),
    ],
)
def test_parameters_that_cannot_be_read(name, error, fragment):
    with pytest.raises(error) as caught:
        parse_method(name)
    assert fragment in str(caught.value)


def test_keywords_go_to_the_half_that_has_them():
    parts = with_parameters(parse_method("el2n+strata(drop=0.2)"), {"epoch": 3, "bins": 5})
    assert parts.score_parameters == {"epoch": 3}
    assert parts.parameters == {"drop": 0.2, "bins": 5}
    assert parts.stated() == {"parameters": {"score": {"epoch": 3}, "selector": {"drop": 0.2, "bins": 5}}}
    assert parse_method("el2n").stated() == {}
    with pytest.raises(InputError, match=r"'epochs' belongs to both score 'dual' and selector 'beta'"):
        with_parameters(parse_method("beta"), {"epochs": 20})
    with pytest.raises(UnknownNameError, match=r"parameter of score 'el2n' and selector 'rank': 'epohc' \(nearest"):
        with_parameters(parse_method("el2n"), {"epohc": 3})
