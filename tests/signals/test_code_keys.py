"""Changed code gives a fresh result: of a model and what it calls, of a method, of a step; a new version does not."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

import winnow as wn
from winnow.artefacts import provenance
from winnow.core import code_digest, registry
from winnow.core.errors import StoreError
from winnow.training import loop

RECIPE = wn.Recipe(epochs=1)
slope = 1.0


def bent(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * slope)


def also_bent(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x * slope)


class Mine(nn.Module):
    """A network whose forward calls a function of the file."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.outside = nn.Linear(64, 8), nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.outside(bent(self.inside(x.flatten(1))))


def observed(path: Path, model: Any = None) -> dict[str, int]:
    """Observe, and return when each file was written."""
    wn.observe("digits", Mine() if model is None else model, RECIPE, limit=60, out=path, engine=wn.Local(workers=1))
    return {str(file): file.stat().st_mtime_ns for file in path.glob("signals/*")}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    code_digest._kept.cache_clear()
    yield
    code_digest._kept.cache_clear()


@pytest.mark.parametrize(("name", "value"), [("bent", also_bent), ("slope", 2.0)])
def test_what_a_model_calls(name: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = observed(tmp_path)
    assert observed(tmp_path) == before
    monkeypatch.setitem(globals(), name, value)
    assert observed(tmp_path) != before


def test_a_network_known_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = observed(tmp_path, "mlp")
    assert observed(tmp_path, "mlp") == before
    entry = registry.get("network", "mlp")

    def mlp(*arguments: Any, **options: Any) -> nn.Module:
        return nn.Sequential(entry.function(*arguments, **options), nn.Tanh())

    mlp.__module__ = entry.function.__module__
    monkeypatch.setitem(registry._known["network"], "mlp", _with(entry, mlp))
    assert observed(tmp_path, "mlp") != before


def _with(entry: Any, function: Any) -> Any:
    import dataclasses

    return dataclasses.replace(entry, function=function)


def test_the_code_of_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = observed(tmp_path)
    inner = loop.train

    def train(*arguments: Any, **options: Any) -> Any:
        torch.zeros(1)
        return inner(*arguments, **options)

    train.__module__ = inner.__module__
    monkeypatch.setattr("winnow.signals.observation.train", train)
    code_digest._kept.cache_clear()
    assert observed(tmp_path) != before


def test_another_version_of_winnow_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = observed(tmp_path)
    real = importlib.metadata.version
    newer = lambda name: "99.0" if name == "winnow-data" else real(name)  # noqa: E731
    monkeypatch.setattr(importlib.metadata, "version", newer)
    monkeypatch.setattr(wn, "__version__", "99.0")
    provenance.versions.cache_clear()
    code_digest._kept.cache_clear()
    try:
        assert provenance.versions()["winnow-data"] == "99.0"
        assert observed(tmp_path) == before
    finally:
        provenance.versions.cache_clear()


def test_a_registered_score_and_what_was_chosen_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed score gives other scores and another subset in the same run; the trainings stay."""

    @registry.score(needs={"losses"}, paper="a test")
    def my_loss(signals: wn.Signals) -> NDArray[np.float64]:
        return np.asarray(signals.losses.mean(axis=(0, 1)), dtype=np.float64)

    def pruned() -> wn.Subset:
        return wn.prune("digits", 0.3, method="my_loss", model="mlp", recipe=RECIPE, limit=100, out=tmp_path)

    def stamps() -> dict[str, int]:
        return {file.name: file.stat().st_mtime_ns for file in tmp_path.rglob("*.*") if file.suffix != ".json"}

    first, before = pruned(), stamps()
    assert pruned().fingerprint == first.fingerprint
    assert stamps() == before

    def other(signals: wn.Signals) -> NDArray[np.float64]:
        return np.asarray(-signals.losses.mean(axis=(0, 1)), dtype=np.float64)

    other.__name__ = "my_loss"
    entry = registry.get("score", "my_loss")
    monkeypatch.setitem(registry._known["score"], "my_loss", _with(entry, other))
    try:
        second, after = pruned(), stamps()
    finally:
        monkeypatch.undo()
        del registry._known["score"]["my_loss"]
    assert second.fingerprint != first.fingerprint
    assert after["my_loss.parquet"] != before["my_loss.parquet"]
    assert after["seed-0.safetensors"] == before["seed-0.safetensors"]


def trained_by(verb: str, path: Path) -> dict[str, int]:
    """Let a verb train the network, and return when the file of each training was written."""
    source, how = wn.open("digits", limit=60), {"model": Mine(), "recipe": RECIPE, "engine": wn.Local(workers=1)}
    if verb == "evaluate":
        test = wn.open("digits", split="test", limit=40)
        wn.evaluate(source, {"half": wn.Subset(source.ids[:30])}, test=test, seeds=1, out=path, **how)
    elif verb == "check":
        wn.check(source, kinds="label", folds=2, out=path, **how)
    else:
        wn.explain(source, model=Mine(), recipe=RECIPE, out=path)
    folders = ("signals", "study/trainings", "networks")
    return {str(file): file.stat().st_mtime_ns for word in folders for file in (path / word).rglob("*.*")}


@pytest.mark.filterwarnings("ignore:model of")
@pytest.mark.parametrize("verb", ["evaluate", "check", "explain"])
def test_every_verb_that_trains(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is trained again for another version of winnow; a changed function that a model calls never meets it.

    A study grows, so its trainings are made again; the run of one question is refused to another.
    """
    before = trained_by(verb, tmp_path)
    assert before
    monkeypatch.setattr(wn, "__version__", "99.0")
    code_digest._kept.cache_clear()
    assert trained_by(verb, tmp_path) == before
    monkeypatch.setitem(globals(), "bent", also_bent)
    if verb != "evaluate":
        with pytest.raises(StoreError, match="holds a run with other settings"):
            trained_by(verb, tmp_path)
        return
    after = trained_by(verb, tmp_path)
    assert after.keys() == before.keys()
    assert all(after[name] != before[name] for name in before)
