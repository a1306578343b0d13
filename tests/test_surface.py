"""The public surface: names, docstrings whose examples run, and verbs that take anything that can be opened."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import winnow as wn

ROOMS = ("theory", "moments", "lpntk", "influence", "relabel", "models", "narrowing")
HARMLESS = ("models.eval_mode",)  # takes any module and refuses nothing
METHODS = {  # of the classes that are public by name; what they inherit included
    "Source": ("fetch",),
    "Signals": ("save", "load"),
    "Scores": ("save", "load"),
    "Subset": ("save", "load", "indices", "filter", "export", "to_torch", "to_arrays", "sampler"),
    "Study": ("save", "load", "table", "summary", "report"),
    "Recorder": ("log", "end_epoch", "signals"),
    "Accelerator": ("loss", "update"),
    "relabel.SoftLabels": ("at", "take", "with_classes", "agreement"),
    "relabel.Targets": ("save", "load", "at", "source", "shuffled"),
}
SHORT = wn.Recipe(epochs=2, batch=16)
HERE = wn.Local(workers=1)  # a pool of processes takes longer to start than these trainings


def public() -> dict[str, Any]:
    """Everything that can be called: of winnow, and of the rooms that are public by name."""
    found = {name: getattr(wn, name) for name in wn.__all__}
    for room in ROOMS:
        found |= {f"{room}.{name}": getattr(getattr(wn, room), name) for name in getattr(wn, room).__all__}
    return {name: value for name, value in found.items() if callable(value) and not inspect.ismodule(value)}


def functions() -> dict[str, Callable[..., Any]]:
    return {name: value for name, value in public().items() if inspect.isfunction(value)}


def once() -> dict[str, Any]:
    """What is public under two names only under the first."""
    first = {value: name for name, value in reversed(public().items())}
    return {name: value for name, value in public().items() if first[value] == name}


def missing(function: Callable[..., Any], *wanted: str) -> list[str]:
    """The sections that the docstring lacks: those wanted, and Returns if the function returns something."""
    text = inspect.getdoc(function) or ""
    returns = inspect.signature(function).return_annotation not in ("None", None)
    sections = [*wanted, *(["Returns"] if returns else [])]
    return [section for section in sections if f"\n{section}\n{'-' * len(section)}\n" not in text]


@pytest.mark.parametrize("name", functions())
def test_a_public_function_says_what_it_returns_and_raises_and_shows_it(name: str) -> None:
    function = functions()[name]
    refuses = bool(inspect.signature(function).parameters) and name not in HARMLESS
    assert missing(function, "Examples", *(["Raises"] if refuses else [])) == []


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in METHODS.items() for name in names])
def test_a_public_method_says_what_it_returns_and_raises_and_is_shown(owner: str, name: str) -> None:
    kind = public()[owner]
    method = getattr(kind, name)
    refuses = set(inspect.signature(method).parameters) - {"self"}
    assert missing(method, *(["Raises"] if refuses else [])) == []
    shown = [f"{inspect.getdoc(one)}\n" for one in (kind, method)]  # the class may show its methods together
    assert any(f".{name}(" in line.source for text in shown for line in doctest.DocTestParser().get_examples(text))


@pytest.mark.parametrize("name", once())
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value = public()[name]
    module = inspect.getmodule(value)
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in doctest.DocTestFinder(recurse=inspect.isclass(value)).find(value, name, module=module):
        runner.run(test)
    assert runner.failures == 0


def test_dir_shows_the_surface_only() -> None:
    assert set(dir(wn)) == {*wn.__all__, "__version__"}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return pd.DataFrame({"a": rng.normal(size=60) + y, "b": rng.normal(size=60), "y": y})


def test_every_verb_takes_what_open_takes(table: pd.DataFrame) -> None:
    assert len(wn.prune(table, labels="y", keep=0.5, recipe=SHORT, engine=HERE)) == 30
    assert len(wn.prune("digits", keep=0.4, limit=50, recipe=SHORT, engine=HERE)) == 20
    x, y = table[["a", "b"]].to_numpy(), table["y"].to_numpy()
    assert wn.observe((x, y), recipe=SHORT, engine=HERE).losses.shape == (1, 2, 60)
    assert wn.embed(x).embeddings.shape == (60, 2)
    subsets = {"few": wn.Subset(wn.open((x, y)).ids[:30])}
    study = wn.evaluate((x, y), subsets, test=(x + 0.1, y), recipe=SHORT, seeds=1, engine=HERE)
    assert [arm.name for arm in study.arms] == ["full", "everything@0.5", "random@0.5", "few"]
    assert wn.plan(table, labels="y", recipe=SHORT).method == "auto"
    assert len(wn.explain(table, labels="y", recipe=SHORT).relations) == 3
    assert wn.relabel.targets(table, "raw", 1, labels="y").values.shape == (60, 1)


def test_relabelling_takes_what_open_takes(table: pd.DataFrame) -> None:
    prior = torch.nn.Linear(2, 2)
    soft = wn.relabel.soft_labels(table, prior, labels="y")
    assert soft.fingerprint == wn.relabel.soft_labels(wn.open(table, labels="y"), prior).fingerprint
    target = wn.relabel.targets("digits", "raw", 2, limit=32)
    how = {"recipe": wn.Recipe(batch=16), "backbone": "mlp", "steps": 1}
    made = wn.relabel.accelerate(None, "digits", target, limit=32, **how)
    same = wn.relabel.accelerate(None, wn.open("digits", limit=32), target, **how)
    assert made.losses.tolist() == same.losses.tolist()
    assert made.provenance["inputs"]["source"] == same.provenance["inputs"]["source"]
    with pytest.raises(wn.errors.UnknownNameError, match="parameter of soft_labels 'labls'"):
        wn.relabel.soft_labels(table, prior, labls="y")
    with pytest.raises(wn.errors.UnknownNameError, match="parameter of accelerate 'limt'"):
        wn.relabel.accelerate(None, "digits", target, limt=32)


def test_data_with_a_test_split_are_tested_on_it() -> None:
    ids = wn.open("digits", limit=60).ids
    study = wn.evaluate("digits", {"half": wn.Subset(ids[:30])}, limit=60, recipe=SHORT, seeds=1, engine=HERE)
    assert study.provenance["inputs"]["tests"]["test"]["size"] == len(wn.open("digits", split="test"))
    with pytest.raises(wn.errors.InputError, match="test of evaluate must be a Source"):
        wn.evaluate(wn.open("digits", limit=60), {"half": wn.Subset(ids[:30])}, recipe=SHORT)


def test_test_data_are_opened_as_the_training_data_are(table: pd.DataFrame) -> None:
    other = table.iloc[::3].assign(a=lambda rows: rows["a"] + 0.1)
    proof = wn.prune_with_proof(table, keep=0.5, labels="y", test=other, recipe=SHORT, proof_seeds=1, engine=HERE)
    assert len(proof.subset) == 30
    assert proof.report is None
    assert proof.study is not None
    assert proof.study.tests == ("frame",)
    assert (proof.candidates, proof.held_out) == (60, 0)
