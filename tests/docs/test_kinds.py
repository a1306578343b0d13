"""Every cell of the table of kinds (docs/kinds.md) is run, and the page holds that table."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import winnow as wn
from winnow.core.errors import NotDefinedError
from winnow.pruning.proof import Proof

kinds = importlib.import_module("docs.kinds")  # not found by the type checker, which does not read docs/
SHORT: dict[str, Any] = {"recipe": wn.Recipe(epochs=2, batch=32)}
ONE = wn.Local(workers=1)

pytestmark = pytest.mark.filterwarnings("ignore:score .* is unreliable here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kinds")


@cache
def given(name: str, folder: Path) -> Any:
    kind = next(kind for kind in kinds.KINDS if kind.name == name)
    (folder / name).mkdir()
    return kind.make(folder / name)


@cache
def opened(name: str, folder: Path) -> wn.Source:
    kind = next(kind for kind in kinds.KINDS if kind.name == name)
    return wn.open(given(name, folder), **kind.options)


@cache
def proven(name: str, folder: Path) -> Proof:
    run = folder / f"run of {name}"
    return wn.prune_with_proof(opened(name, folder), keep=0.5, veto=0, proof_seeds=2, out=run, engine=ONE, **SHORT)


def run_open(kind: Any, folder: Path) -> None:
    source = opened(kind.name, folder)
    assert len(source) == kinds.N
    assert len(source.fetch(source.ids[:3])) == 3


def run_check(kind: Any, folder: Path) -> None:
    issues = wn.check(opened(kind.name, folder), folds=2, engine=ONE, **SHORT)
    assert issues.examples == kinds.N
    assert len(issues.clean()) <= kinds.N


def run_proof(kind: Any, folder: Path) -> None:
    proof = proven(kind.name, folder)
    assert proof.report is not None
    assert proof.report.exists()
    assert (proof.study is None) == ("prune with proof" in kind.without)
    if proof.study is not None:
        assert {"full", proof.name} <= {arm.name for arm in proof.study.arms}


def run_explain(kind: Any, folder: Path) -> None:
    source = opened(kind.name, folder)
    if "explain" in kind.without:
        with pytest.raises(NotDefinedError):
            wn.explain(source, **SHORT)
        return
    assert "interchangeable" in str(wn.explain(source, source.ids[0], **SHORT))


def run_export(kind: Any, folder: Path) -> None:
    subset, source, what = proven(kind.name, folder).subset, opened(kind.name, folder), given(kind.name, folder)
    path = subset.export(folder / kind.name / kind.export, what)
    like = {} if source.raw is None else {"like": source}  # fewer rows would be encoded in another way
    again = wn.open(path, **kind.options, **like)
    assert len(again) == len(subset)
    assert again.kind == source.kind
    assert again.task == source.task
    same = sorted(row.tobytes() for row in source.fetch(subset.ids))
    if source.kind == "text":  # rows of token ids may be shorter
        assert sorted(again.texts()) == sorted(source.texts(subset.ids))
    else:
        assert sorted(row.tobytes() for row in again.fetch(again.ids)) == same


RUN = {
    "open": run_open,
    "check": run_check,
    "prune with proof": run_proof,
    "explain": run_explain,
    "export": run_export,
}


@pytest.mark.parametrize("verb", kinds.VERBS)
@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.name)
def test_every_cell(kind: Any, verb: str, folder: Path) -> None:
    RUN[verb](kind, folder)


def test_the_page_holds_the_table() -> None:
    assert kinds.PAGE.read_text() == kinds.page(), "run python docs/kinds.py"
