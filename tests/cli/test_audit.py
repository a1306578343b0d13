"""winnow audit: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from tests.cli.conftest import Said

Winnow = Callable[..., Said]
SHORT = ("--model", "mlp", "--epochs", 2, "--batch", 32, "--limit", 150, "--draws", 3)


@pytest.fixture
def chosen(tmp_path: Path) -> Path:
    """Another tool's choice, as a CSV file of ids."""
    path = tmp_path / "chosen.csv"
    path.write_text("image_id,rank\n" + "".join(f"{id},{i}\n" for i, id in enumerate(ids()[:40])))
    return path


def ids() -> list[str]:
    return wn.open("digits", limit=150).ids.tolist()


def test_people_and_programs_read_the_same(winnow: Winnow, chosen: Path, tmp_path: Path) -> None:
    given = ("audit", chosen, "digits", *SHORT, "--out", tmp_path / "run")
    said = winnow(*given)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("chosen.csv: 40 of 150 examples of digits")
    assert said.out.endswith(f"page  {tmp_path / 'run' / 'audit.html'}\n")
    found = winnow(*given, "--json").json
    assert found["size"] == 40
    assert found["page"] == str(tmp_path / "run" / "audit.html")
    for one in found["measures"]:
        assert f"{one['name']}" in said.out
        assert f"{one['value']:.3g}" in said.out
        assert len(one["random"]) == 3
    assert json.loads((tmp_path / "run" / "audit.json").read_text())["size"] == 40
    assert (tmp_path / "run" / "audit.html").exists()


def test_positions_and_embeddings(winnow: Winnow, tmp_path: Path) -> None:
    np.save(tmp_path / "kept.npy", np.arange(0, 150, 3))
    found = winnow(
        "audit", tmp_path / "kept.npy", "digits", "--limit", 150, "--embeddings", "raw", "--draws", 2,
        "--out", tmp_path / "run", "--json",
    ).json  # fmt: skip
    assert (found["size"], found["features"]) == (50, "scaled inputs")
    assert found["deciles"] == []


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("id\nnobody\n", (), "winnow: subset of audit must hold ids of the data, or positions from 0 to 149"),
        ("", (), "winnow: subset of audit must have at least one example; chosen.csv has none."),
        ("id\n1\n1\n", (), "winnow: subset of audit must name each example once"),
        ("id\n1\n2\n", ("--draws", -1), "--draws"),
        ("id\n1\n2\n", ("--embeddings", "raw", "--test", "digits"), "winnow: --test"),
    ],
)
def test_refusals_are_one_line(
    winnow: Winnow, chosen: Path, tmp_path: Path, text: str, more: tuple[object, ...], words: str
) -> None:
    chosen.write_text(text)
    said = winnow("audit", chosen, "digits", "--limit", 150, *more, "--out", tmp_path / "run")
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert words in said.err


def test_a_missing_file(winnow: Winnow, tmp_path: Path) -> None:
    said = winnow("audit", tmp_path / "nowhere.csv", "digits", "--out", tmp_path / "run")
    assert said.code == 2
    assert "does not exist" in said.err
