"""One frozen request per verb: what its signature declares is checked, opened, stated and called by the right name."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import numpy as np
import pytest

import winnow as wn
from winnow.core import checks, parameter_names
from winnow.core.errors import InputError, UnknownNameError
from winnow.core.request import Parameter, Seed, choice, declared, flag, number, request, requested, whole
from winnow.sources.openable import Data

ROWS = np.arange(40.0).reshape(20, 2)


def verb(
    source: Data,
    share: Annotated[float | None, number("A share.", low=0, high=1)] = None,
    *,
    count: Annotated[int, whole("A count.", low=1)] = 3,
    word: Annotated[str, choice("A word", ("one", "two", "three"))] = "one",
    loud: Annotated[bool, flag("Whether.")] = False,
    note: Annotated[str, Parameter("", plain=None)] = "",
    seed: Seed = 0,
    **opening: Any,
) -> Any:
    return request(verb, locals())


def test_values_are_checked_frozen_and_stated() -> None:
    asked = verb(ROWS, 1, count=2, word="two", note="kept out", labels=np.arange(20) % 2)
    assert (asked.share, asked.count, asked.word, asked.loud) == (1.0, 2, "two", False)
    assert isinstance(asked.source, wn.Source)
    assert asked.source.task == "classification"
    assert asked.settings() == {
        "source": asked.source.fingerprint,
        "share": 1.0,
        "count": 2,
        "word": "two",
        "loud": False,
        "seed": 0,
    }
    assert type(asked).__name__ == "VerbRequest"
    with pytest.raises(dataclasses.FrozenInstanceError):
        asked.count = 5
    with pytest.raises(AttributeError, match="has no parameter 'cuont'"):
        asked.cuont  # noqa: B018


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"share": 2}, "share of verb must be a number in [0, 1]; got 2"),
        ({"count": 0}, "count of verb must be a whole number of at least 1; got 0"),
        ({"count": None}, "count of verb must be a whole number"),
        ({"word": "tow"}, "unknown word of verb 'tow' (nearest: 'two')"),
        ({"loud": 1}, "loud of verb must be True or False; got 1"),
        ({"seed": -1}, "seed of verb"),
        ({"lables": "y"}, "unknown parameter of verb 'lables'"),
        ({"task": "clasification"}, "unknown task of wn.open 'clasification'"),
    ],
)
def test_what_is_not_declared_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises((InputError, UnknownNameError)) as refused:
        verb(ROWS, **given)
    assert words in str(refused.value)


def test_data_that_cannot_be_opened_are_named_by_their_parameter() -> None:
    with pytest.raises(InputError, match="source of verb must be a name, a path, arrays"):
        verb(3)
    with pytest.raises(InputError, match=r"labels of wn.open does not apply to a Source"):
        verb(wn.open(ROWS), labels="y")


def test_the_declaration_is_the_signature() -> None:
    assert list(declared(verb)) == ["source", "share", "count", "word", "loud", "note", "seed"]
    assert declared(verb)["count"].default == 3
    assert declared(verb)["word"].parameter == declared(verb)["word"].parameter
    assert declared(verb)["word"].parameter.help == "A word: one, two or three."  # type: ignore[union-attr]
    assert declared(verb)["source"].required


def test_a_request_can_be_made_without_a_call() -> None:
    asked = requested(wn.prune, wn.open("digits", limit=60), 0.5, method="strata", bins=7)
    assert (asked.keep, asked.method, asked.seeds, dict(asked.parameters)) == (0.5, "strata", 1, {"bins": 7})
    assert asked.settings()["recipe"] == wn.Recipe().settings()


def test_messages_call_a_parameter_as_the_door_does() -> None:
    with parameter_names.called({("prune", "keep"): "--keep"}), pytest.raises(InputError, match=r"^--keep must be"):
        checks.fraction("keep", "prune", 2)
    with pytest.raises(InputError, match=r"^keep of prune must be"):
        checks.fraction("keep", "prune", 2)


VERBS = [wn.prune, wn.prune_with_proof, wn.plan, wn.explain, wn.observe, wn.evaluate, wn.proxy, wn.probe]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_shared_parameters_mean_and_default_to_the_same(verb: Any) -> None:
    usual = declared(wn.prune_with_proof)
    found = declared(verb)
    for name in ("balance", "recipe", "seed", "engine", "match_iterations"):
        if name in found:
            assert (found[name].default, found[name].annotation) == (usual[name].default, usual[name].annotation)
    assert "model" not in found or found["model"].default == "auto"
    assert "seeds" not in found or found["seeds"].default == (5 if "test" in found and "keep" not in found else 1)
    assert found["source"].parameter is usual["source"].parameter


def test_selecting_balances_as_pruning_does() -> None:
    source = wn.open("digits", limit=80)
    assert declared(wn.select)["balance"] == declared(wn.prune)["balance"]
    signals = wn.observe(source, "mlp", wn.Recipe(epochs=2), engine=wn.Local(workers=1))
    scores = wn.score("el2n", signals)
    assert scores.reliability is None  # one seed: nothing to compare
    usual, half, free = (
        wn.select("rank", scores, keep=0.3, **how) for how in ({}, {"balance": 0.5}, {"balance": None})
    )
    np.testing.assert_array_equal(usual.ids, half.ids)
    assert usual.certificate["balance"] == 0.5
    assert "balance" not in free.certificate
