"""winnow why: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Said

Winnow = Callable[..., Said]
SHORT = ("--model", "mlp", "--epochs", 2, "--batch", 32, "--limit", 120, "--teachers", 3, "--draws", 1)


def test_people_and_programs_read_the_same(winnow: Winnow, tmp_path: Path) -> None:
    given = ("why", "digits", *SHORT, "--worst", 2, "--out", tmp_path / "run")
    said = winnow(*given)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("mlp, trained on 120 examples of digits:120: ")
    assert said.out.endswith(f"page  {tmp_path / 'run' / 'why.html'}\n")
    found = winnow(*given, "--json").json
    assert found["page"] == str(tmp_path / "run" / "why.html")
    assert len(found["mistakes"]) == 2
    for one in found["mistakes"]:
        assert f"{one['id']}: {one['label']}, predicted {one['predicted']}, loss {one['loss']:.2f}" in said.out
        assert len(one["teachers"]) == 3
        for teacher in one["teachers"]:
            assert f"{teacher['id']}  {teacher['label']}  {teacher['influence']:+.4f}" in said.out
    held = json.loads((tmp_path / "run" / "why.json").read_text())
    assert held["mistakes"] == found["mistakes"]
    asked = winnow("why", "digits", found["mistakes"][1]["id"], *SHORT, "--out", tmp_path / "other", "--json").json
    assert [one["id"] for one in asked["mistakes"]] == [found["mistakes"][1]["id"]]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("digits", "nobody", *SHORT), "'nobody' is not among its 359"),
        (("digits", *SHORT[:-4], "--teachers", 61), "--teachers must be at most half of the 120 training examples"),
        (("digits", "--worst", 0), "--worst"),
        (("digits", "--damping", 0), "--damping"),
    ],
)
def test_refusals_are_one_line(winnow: Winnow, tmp_path: Path, given: tuple[object, ...], words: str) -> None:
    said = winnow("why", *given, "--out", tmp_path / "run")
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert words in said.err
