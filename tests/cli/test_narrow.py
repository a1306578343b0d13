"""winnow narrow: weights in, narrower weights out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import winnow as wn
from tests.cli.conftest import Said
from winnow.methods.narrowing import restore

Winnow = Callable[..., Said]
HOW = ["--model", "mlp", "--shape", "64", "--classes", 10, "--set", "hidden=[60,40]"]


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """Weights of a small network for the digits."""
    net = wn.models.build("mlp", classes=10, shape=(64,), hidden=(60, 40))
    save_file(net.state_dict(), tmp_path / "wide.safetensors")
    return tmp_path / "wide.safetensors"


def test_narrow_writes_what_the_library_makes(winnow: Winnow, wide: Path, tmp_path: Path) -> None:
    out = tmp_path / "narrow.safetensors"
    typed = ["narrow", wide, *HOW, "--width", "linear1=20", "--width", "linear2=0.5", "--dims", 3, "--out", out]
    said = winnow(*typed, "--data", "digits")
    assert (said.code, said.err) == (0, "")
    assert "random" in said.out
    assert said.out.endswith(f"weights  {out}\n")
    net = wn.models.build("mlp", classes=10, shape=(64,), hidden=(60, 40), weights=wide)
    mine = wn.narrow(net, {"linear1": 20, "linear2": 0.5}, dims=3)
    again = restore(net, load_file(out))
    x = torch.randn(5, 64)
    torch.testing.assert_close(again(x), mine(x), rtol=0, atol=0)
    with safe_open(out, "pt") as file:
        about = json.loads(file.metadata()["narrowed"])
    assert [pair["after"] for pair in about["pairs"]] == [20, 20]

    simple = winnow("narrow", wide, *HOW, "--width", 0.25, "--out", out, "--json").json
    assert [pair["after"] for pair in simple["pairs"]] == [15, 10]
    assert all(0 < pair["spread_kept"] < 1 for pair in simple["pairs"])
    found = winnow(*typed, "--json", "--fold").json
    assert (found["weights"], found["folded"], found["output_change"]) == (str(out), True, None)
    assert found["parameters_after"] == 64 * 20 + 20 + 20 * 20 + 20 + 20 * 10 + 10
    plain = wn.models.build("mlp", classes=10, shape=(64,), hidden=(20, 20), weights=out)
    torch.testing.assert_close(plain(x), mine(x))


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("WIDE --model mlp --width 20", "weights of network 'mlp' do not fit it"),
        ("nowhere.safetensors --model mlp --width 20", "there is no file"),
        ("WIDE HOW --width 20 --dims all", "at least 60 (all that differ) for layer 'linear1'"),
        ("WIDE HOW --width many --dims 3", "--width must be a count, a fraction, or LAYER=value; got 'many'"),
        ("WIDE HOW --width linear1=20 --width 30", "--width must be one number, or LAYER=number each time"),
        ("WIDE HOW --width linaer1=20", "nearest: 'linear1'"),
        ("WIDE HOW --width 20 --dims most", "dims of narrow"),
        ("WIDE HOW --width 20 --out narrow.pt", "--out must end in .safetensors"),
        ("WIDE --model mlp --shape 8x8 --width 20", "--shape must be whole numbers"),
    ],
)
def test_a_mistake_is_one_line(typed: str, words: str, winnow: Winnow, wide: Path) -> None:
    parts = [
        part for word in typed.split() for part in (HOW if word == "HOW" else [str(wide) if word == "WIDE" else word])
    ]
    said = winnow("narrow", *parts)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("winnow: ")
    assert said.err.count("\n") == 1
    assert words in said.err
