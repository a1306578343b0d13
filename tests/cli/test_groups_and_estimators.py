"""Groups, times, metrics and estimators on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from tests.cli.conftest import Said

Winnow = Callable[..., Said]


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["a,b,patient,day,label"]
    for k in range(240):
        a, b = rng.normal(size=2)
        day, label = f"2026-{1 + k // 20:02d}-{1 + k % 20:02d}", "ill" if a > 0.8 else "well"
        lines.append(f"{a:.4f},{b:.4f},p{k // 6},{day},{label}")
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize("command", ["prune", "check", "train", "observe", "evaluate", "plan", "explain", "proxy"])
def test_every_command_that_opens_data_has_the_options(command: str, winnow: Winnow) -> None:
    said = winnow(command, "--help").out
    assert "--group" in said
    assert "--time" in said


@pytest.mark.filterwarnings("ignore:.*are in neither part", "ignore:.*of test set 'visits'")
def test_prune_for_an_estimator_by_group_and_evaluate_by_another_metric(visits: Path, winnow: Winnow) -> None:
    data, out = str(visits / "visits.csv"), visits / "run"
    model = ["--model", "sklearn:LogisticRegression:C=0.5", "--workers", "1", "--time", "day", "--group", "patient"]
    proof = ["--metric", "macro_f1", "--proof-seeds", "3", "--out", str(out), "--json"]
    said = winnow("prune", data, "--keep", "0.5", *model, *proof)
    assert said.code == 0, said.err
    rows = {row["arm"]: row for row in said.json["table"]}
    assert {"macro_f1", "accuracy", "balanced_accuracy_low", "auroc_high"} <= set(rows["full"])
    source = wn.open(visits / "visits.csv", group="patient", time="day")
    kept = source.take(wn.Subset.load(out / "subset.parquet").ids)
    assert kept.times.max() < np.datetime64("2026-11-01")  # the last fifth is held out
    more = ["--test", data, "--metric", "auroc", "--seeds", "2", "--out", str(visits / "study"), "--json"]
    again = winnow("evaluate", data, "--subset", f"mine={out / 'subset.parquet'}", *model, *more)
    assert again.code == 0, again.err
    assert "auroc" in again.json["table"][0]
    wrong = winnow("prune", data, "--keep", "0.5", "--group", "patiant")
    assert wrong.code == 2
    assert "column in --group" in wrong.err
