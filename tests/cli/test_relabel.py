"""winnow relabel: targets in a file, or a comparison of priors with advice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import save_file

import winnow as wn
from tests.cli.conftest import Said

Winnow = Callable[..., Said]


def test_it_writes_what_the_library_makes(winnow: Winnow, tmp_path: Path) -> None:
    out = tmp_path / "targets.parquet"
    typed = ["relabel", "digits", "--limit", 60, "--prior", "random", "--dim", 5, "--seed", 3, "--out", out]
    said = winnow(*typed)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("60 targets of 5 numbers, ")
    assert said.out.endswith(f"taken    64 numbers per example: the input of layer 'head', the head\ntargets  {out}\n")
    found = wn.relabel.Targets.load(out)
    source = wn.open("digits", limit=60)
    np.testing.assert_array_equal(found.values, wn.relabel.targets(source, "random", 5, seed=3).values)
    told = winnow(*typed, "--json").json
    assert told == {
        "targets": str(out),
        "examples": 60,
        "dim": 5,
        "seconds": json.loads(out.with_suffix(".cost.json").read_text())["seconds"],
        **found.provenance["measured"],
        "taken": {"layer": "head", "side": "input", "width": 64, "pooling": "none"},
    }
    again = out.with_name("again.parquet")
    assert winnow(*typed[:-1], again).code == 0
    assert again.read_bytes() == out.read_bytes()  # the same work, other seconds
    plain = winnow(*typed, "--scale", "none", "--mean", "0.5", "--std", "0.5", "--size", 12)
    assert plain.code == 0
    wanted = wn.relabel.targets(source, "random", 5, None, seed=3, mean=[0.5], std=[0.5], size=12)
    np.testing.assert_array_equal(wn.relabel.Targets.load(out).values, wanted.values)


def test_comparing_prints_the_matrix_and_the_advice(winnow: Winnow, tmp_path: Path) -> None:
    source = wn.open("digits", limit=120)
    weights, rows = tmp_path / "mlp.safetensors", tmp_path / "mine.npy"
    save_file(wn.models.build("mlp", classes=4, shape=(1, 8, 8), seed=9).state_dict(), weights)
    np.save(rows, np.random.default_rng(0).normal(size=(120, 3)))
    typed = ["relabel", "digits", "--limit", 120, "--compare", "random", f"mlp={weights}", rows]
    told = winnow(*typed, "--json").json
    assert told["names"] == ["random", "mlp", str(rows)]
    assert told["widths"] == [64, 128, 3]
    by_hand = wn.relabel.compare(
        {
            "random": wn.relabel.priors.represent(source, "random"),
            "mlp": wn.relabel.priors.represent(source, "mlp", weights=weights),
            "mine": wn.relabel.priors.represent(source, rows),
        }
    )
    np.testing.assert_allclose(told["matrix"], by_hand.matrix)
    assert told["labels"] is None
    assert told["best"] != str(rows)
    text = winnow(*typed)
    assert text.out.count("\n") == 6
    assert text.out.endswith(f"{by_hand.advice}\n")
    labelled = winnow(*typed, "--by-labels", "--form", "neighbour", "--json").json
    assert labelled["form"] == "neighbour"
    assert labelled["means"] == labelled["labels"]
    assert labelled["best"] != str(rows)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("digits", "exactly one of --prior (with --dim) and --compare"),
        ("digits --prior random --compare", "exactly one of --prior"),
        (
            "digits random --prior random --dim 3",
            "a list of priors of winnow relabel is for --compare, not for --prior",
        ),
        ("digits --prior random --dim 3 --by-labels", "--by-labels of winnow relabel is for --compare"),
        ("digits --prior random --dim 3 --form neighbour", "--form of winnow relabel is for --compare"),
        ("digits --prior random", "needs --dim"),
        ("digits --prior random --dim 3000", "dim of relabel.targets must be at most 64"),
        ("digits --prior rnadom --dim 3", "unknown network 'rnadom'"),
        ("digits --prior random --dim 3 --scale whitn", "nearest: 'whiten'"),
        ("digits --prior random --dim 3 --out targets.csv", "must be a path that ends in .parquet"),
        ("digits --prior random --dim 3 --mean a,b", "--mean must be numbers with commas between"),
        ("digits --prior nowhere.npy --dim 3", "there is no file nowhere.npy"),
        ("digits --compare random", "--compare needs two or more different priors; got random"),
        (
            "digits --compare random raw --weights w.pt",
            "is for --prior, not for --compare; give each prior its own as NAME=FILE",
        ),
        ("digits --compare random raw --dim 3", "--dim of winnow relabel is for --prior"),
        ("digits --compare random raw --out targets.parquet", "--out of winnow relabel is for --prior"),
        ("digits --task unlabelled --compare random raw --by-labels", "--by-labels needs classes"),
        ("digits --compare random raw --form cosine", "form of relabel.compare"),
    ],
)
def test_a_mistake_is_one_line(
    typed: str, words: str, winnow: Winnow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = winnow("relabel", *typed.split(), "--limit", 40)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("winnow: ")
    assert said.err.count("\n") == 1
    assert words in said.err
    assert not list(tmp_path.iterdir())
