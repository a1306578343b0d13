"""What plan says about images without labels: the network that is trained on them is counted."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow.core.errors import MissingDependencyError
from winnow.core.seeds import stream
from winnow.planning import pretraining_cost as costs
from winnow.planning.resources import Resources, estimate
from winnow.pruning import unlabelled_features

ONE = wn.Local(workers=1)

pytestmark = pytest.mark.filterwarnings("ignore:score .* is unreliable here")  # few images, two steps


@pytest.fixture
def images() -> wn.Source:
    return wn.open(stream(0, "images without labels").integers(0, 256, (40, 3, 8, 8), dtype=np.uint8))


def planned(source: wn.Source, **given: Any) -> Resources:
    return estimate(source, method="auto", keep=0.5, engine=ONE, **given)


def test_the_network_trained_without_labels_is_in_time_memory_and_disk(
    images: wn.Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlabelled_features, "STEPS", 2)
    wn.prune(images, 0.5, out=tmp_path, engine=ONE)
    (state,) = (tmp_path / "pretrain").rglob("*.safetensors")
    found = planned(images)
    parts = dict(found.parts)
    assert parts["disk: networks"] == pytest.approx(state.stat().st_size, rel=0.05)
    assert 0 < parts["time: training without labels, all jobs"] < found.seconds_observe
    assert parts["memory: training without labels"] > 0
    assert "a small network trained without labels (vicreg, 300 steps): about" in found.sentences()[0]
    written = (tmp_path / "signals.safetensors").stat().st_size
    assert parts["disk: signals"] == pytest.approx(written, rel=0.1)  # 64 features, not 192 pixels


def test_seconds_are_those_of_all_steps(images: wn.Source, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    class Made:
        seconds = MappingProxyType({"method": 0.6})

    def accelerate(*_: Any, steps: int, out: Path, **__: Any) -> Made:
        taken.append(steps)
        out.mkdir()
        (out / "state.safetensors").write_bytes(b"12345")
        return Made()

    monkeypatch.setattr(costs, "accelerate", accelerate)
    found = costs.pretraining_cost((images, "auto"))
    assert found is not None
    assert taken == [costs.WARM, costs.TIMED]
    assert found.seconds == pytest.approx(0.6 / costs.TIMED * costs.STEPS)
    assert (found.images, found.disk) == (80, 5)


def test_nothing_is_trained_if_a_network_is_given_or_there_are_labels_or_no_library(
    images: wn.Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert costs.pretraining_cost((images, "raw")) is None
    assert costs.pretraining_cost((wn.open(np.ones((20, 3), dtype=np.float32)), "auto")) is None
    assert costs.pretraining_cost((wn.open("digits", limit=20), "auto")) is None
    assert "needs no training" in planned(images, model="raw").sentences()[0]

    def missing(*_: Any, **__: Any) -> None:
        raise MissingDependencyError("no lightly")

    monkeypatch.setattr(costs, "accelerate", missing)
    assert costs.pretraining_cost((images, "auto")) is None
    assert "needs no training" in planned(images).sentences()[0]
