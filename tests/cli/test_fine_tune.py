"""--weights, --head and --freeze of the commands that train a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import save_file

import winnow as wn
from tests.cli.conftest import Said
from winnow.artefacts import Signals
from winnow.models import FineTune, build

Winnow = Callable[..., Said]


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    save_file(build("mlp", classes=10, shape=(1, 8, 8), seed=4).state_dict(), tmp_path / "mlp.safetensors")
    return tmp_path / "mlp.safetensors"


def test_the_options_are_the_value_of_the_library(winnow: Winnow, weights: Path, tmp_path: Path) -> None:
    how = ["--model", "mlp", "--weights", weights, "--freeze", "linear1", "--freeze", "linear2", "--head", "keep"]
    said = winnow("observe", "digits", "--limit", 60, *how, "--epochs", 2, "--out", tmp_path / "run")
    assert (said.code, said.err) == (0, "")
    found = Signals.load(tmp_path / "run" / "signals.safetensors")
    tuned = FineTune("mlp", weights, "keep", ("linear1", "linear2"))
    wanted = wn.observe("digits", tuned, wn.Recipe(epochs=2), limit=60)
    assert found.array("margins").tobytes() == wanted.array("margins").tobytes()
    assert found.provenance["parameters"]["model"]["freeze"] == ["linear1", "linear2"]


@pytest.mark.parametrize("command", ["prune", "evaluate", "observe", "check", "train", "plan"])
def test_every_command_that_trains_has_them(winnow: Winnow, command: str) -> None:
    said = winnow(command, "--help")
    assert said.code == 0
    assert all(option in said.out for option in ("--weights", "--freeze", "--head"))


def test_weights_that_are_not_there_are_refused(winnow: Winnow, tmp_path: Path) -> None:
    said = winnow("observe", "digits", "--model", "mlp", "--weights", tmp_path / "no.pt", "--out", tmp_path / "run")
    assert said.code == 2
    assert "there is no file" in said.err
    said = winnow("observe", "digits", "--model", "mlp", "--freeze", "backbone", "--out", tmp_path / "run")
    assert said.code == 2
    assert "weights of FineTune must be a file for network 'mlp'" in said.err
