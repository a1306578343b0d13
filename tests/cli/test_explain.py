"""winnow explain: what it prints, what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import winnow as wn
from tests.cli.conftest import Said

Winnow = Callable[..., Said]
SHORT = ("--model", "mlp", "--epochs", 2, "--batch", 32, "--limit", 120)


@pytest.fixture(scope="module")
def someone() -> str:
    return str(wn.open("digits").ids[0])


def test_people_and_programs_read_the_same(winnow: Winnow, someone: str) -> None:
    said = winnow("explain", "digits", someone, *SHORT, "--neighbours", 3)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Example {someone} of digits, label 0. mlp, trained on ")
    assert "Learned together with it" in said.out
    assert "Learned against it" in said.out
    assert "Its label looks" in said.out
    found = winnow("explain", "digits", someone, *SHORT, "--neighbours", 3, "--json").json
    assert found["id"] == someone
    assert len(found["same_way"]) == 3
    for one in found["same_way"]:
        assert f"{one['id']}  {one['label']:<5}  {one['cosine']:>6.3f}" in said.out
    assert found["provenance"]["parameters"]["recipe"]["epochs"] == 2


def test_an_unknown_id_is_one_sentence(winnow: Winnow, someone: str) -> None:
    said = winnow("explain", "digits", "nobody", *SHORT)
    assert (said.code, said.out) == (2, "")
    assert said.err == f"winnow: source 'digits' has no example with id nobody; its ids look like {someone}.\n"


def test_bad_options_are_one_line(winnow: Winnow, someone: str) -> None:
    said = winnow("explain", "digits", someone, "--limit", 1)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert "limit of explain" in said.err
