"""Several labels per example on the command line: --labels, once per column."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import winnow as wn
from winnow.cli import app


def rows(path: Path, n: int = 60) -> Path:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 2))
    lines = [f"{a:.4f},{b:.4f},{int(a > 0)},{str(b > 0.5).lower()}" for a, b in points]
    path.write_text("u,v,right,up\n" + "\n".join(lines))
    return path


def test_several_label_columns(tmp_path: Path) -> None:
    data = str(rows(tmp_path / "rows.csv"))
    run, how = tmp_path / "run", ["--model", "mlp", "--epochs", "2"]
    done = CliRunner().invoke(app, ["observe", data, "--labels", "right", "--labels", "up", "--out", str(run), *how])
    assert done.exit_code == 0, done.output
    signals = wn.Signals.load(run / "signals.safetensors")
    assert (signals.task, signals.classes) == ("multilabel", ("right", "up"))
    done = CliRunner().invoke(app, ["plan", data, "--labels", "right", "--labels", "up", *how, "--json"])
    assert done.exit_code == 0, done.output
    assert "--labels right --labels up" in json.loads(done.output)["command"]


def test_one_label_column_is_classes(tmp_path: Path) -> None:
    data = str(rows(tmp_path / "rows.csv"))
    words = ["observe", data, "--labels", "right", "--out", str(tmp_path / "run"), "--model", "mlp", "--epochs", "1"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert wn.Signals.load(tmp_path / "run" / "signals.safetensors").task == "classification"
