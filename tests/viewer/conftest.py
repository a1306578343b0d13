"""Runs of every kind, made once by the verbs themselves, and ways to ask the viewer about them."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

import winnow as wn
from winnow.artefacts import Source
from winnow.viewer.answers import Answers
from winnow.viewer.prepared_run import opened_data, stored_map
from winnow.viewer.run_contents import read_contents
from winnow.viewer.server import make_app

SIZE = 160
TURNED = 12  # labels that are wrong on purpose
QUICK = wn.Recipe(epochs=3)
TOKEN = "the-token"


@pytest.fixture(scope="session")
def digits() -> Source:
    """Some digits, a few of them with the next digit as their label."""
    whole = wn.open("digits", limit=SIZE)
    labels = np.array(whole.labels)
    turned = np.random.default_rng(0).choice(SIZE, TURNED, replace=False)
    labels[turned] = (labels[turned] + 1) % 10
    return wn.open((whole.fetch(whole.ids), labels), name="turned digits")


@pytest.fixture(scope="session")
def runs(digits: Source, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One run per verb; tests read them, and copy them before they write."""
    here = tmp_path_factory.mktemp("runs")
    where = {
        name: here / name for name in ("prune", "proof", "check", "observe", "evaluate", "explain", "plan", "medoids")
    }
    quick = {"model": "mlp", "recipe": QUICK}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such small sets make the verbs talk
        subset = wn.prune(digits, keep=0.3, method="el2n", out=where["prune"], **quick)
        wn.prune(digits, keep=0.3, method="medoids", targets="soft", out=where["medoids"], **quick)
        wn.prune_with_proof(digits, keep=0.4, method="el2n", seeds=2, out=where["proof"], **quick)
        wn.check(digits, out=where["check"], **quick)
        wn.observe(digits, seeds=2, want=("dynamics", "embeddings"), out=where["observe"], **quick)
        wn.evaluate(digits, {"ours": subset}, test=digits.at(np.arange(40)), seeds=2, out=where["evaluate"], **quick)
        wn.explain(digits, out=where["explain"], model="mlp", recipe=wn.Recipe(epochs=20))  # fewer judge no labels
        wn.plan("digits", limit=600, out=where["plan"])
    return where


@pytest.fixture
def own(runs: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a run that a test may change."""

    def copied(name: str) -> Path:
        return Path(shutil.copytree(runs[name], tmp_path / name))

    return copied


@pytest.fixture
def asked(digits: Source) -> Callable[..., Answers]:
    """What the viewer knows about a run."""

    def read(run: Path, data: Source | None = None) -> Answers:
        held = read_contents(run)
        source = opened_data(held, digits if data is None else data)
        return Answers(held, source, stored_map(held, source, "pca"))

    return read


@pytest.fixture
def client_of() -> Callable[[Answers], TestClient]:
    """A browser's side of the server: the right host and origin, and the token."""

    def made(answers: Answers) -> TestClient:
        headers = {"origin": "http://127.0.0.1", "x-winnow-token": TOKEN}
        return TestClient(make_app(answers, TOKEN), base_url="http://127.0.0.1", headers=headers)

    return made
