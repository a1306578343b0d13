"""winnow explain: what it prints, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

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
    assert "Its label was not judged: training learned too little to tell" in said.out  # two epochs
    found = winnow("explain", "digits", someone, *SHORT, "--neighbours", 3, "--json").json
    assert found["id"] == someone
    assert len(found["same_way"]) == 3
    for one in found["same_way"]:
        assert f"{one['id']}  {one['label']:>5}  {one['projection']:>10.3f}  {one['cosine']:>6.3f}" in said.out
    assert found["provenance"]["parameters"]["recipe"]["epochs"] == 2


def test_an_unknown_id_is_one_sentence(winnow: Winnow, someone: str) -> None:
    said = winnow("explain", "digits", "nobody", *SHORT)
    assert (said.code, said.out) == (2, "")
    assert said.err == f"winnow: source 'digits' has no example with id nobody; its ids look like {someone}.\n"


def test_bad_options_are_one_line(winnow: Winnow, someone: str) -> None:
    said = winnow("explain", "digits", someone, "--limit", 1)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert "--limit must be" in said.err


def test_without_an_id_it_explains_the_data_set(winnow: Winnow, tmp_path: Path) -> None:
    given = ("explain", "digits", *SHORT, "--errors", 4, "--out", tmp_path / "run")
    said = winnow(*given)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("digits: mlp, trained on 120 examples of 10 classes.")
    assert "Mean cosine between classes:" in said.out
    assert said.out.endswith(f"page  {tmp_path / 'run' / 'explanation.html'}\n")
    found = winnow(*given, "--json").json
    assert found["winnow"] == "explanation of a data set"
    assert len(found["errors"]) <= 4
    assert len(found["relations"]) == 55
    assert all(str(one["id"]) in said.out for one in found["errors"])
    assert json.loads((tmp_path / "run" / "explanation.json").read_text()) == found
