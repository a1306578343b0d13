from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

import winnow as wn
from winnow.artefacts import Source
from winnow.methods.relabel import pretrain_loop
from winnow.models import FineTune, Frozen
from winnow.pruning import unlabelled_features

pytestmark = pytest.mark.filterwarnings("ignore:score 'prototype' is unreliable here:UserWarning")


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlabelled_features, "STEPS", 6)


@pytest.fixture
def no_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no open encoder were installed."""
    monkeypatch.setattr(unlabelled_features, "open_encoder", lambda kind, shape: None)


def test_an_open_encoder_is_taken_if_there_is_one() -> None:
    source = images(side=16)
    subset = wn.prune(source, 0.5)
    assert subset.certificate["features"].startswith("imagenet:efficientnet-lite0, an open encoder: 1280 numbers")
    by_hand = wn.select("medoids", wn.embed(source, "encoder"), keep=0.5, balance=0.5)
    assert set(wn.prune(source, 0.5, balance=0.5).ids) == set(by_hand.ids)


def images(n: int = 24, side: int = 8) -> Source:
    """Images of two kinds: a bright left half, or a bright upper half."""
    rng = np.random.default_rng(0)
    made = rng.integers(0, 90, (n, 3, side, side), dtype=np.uint8)
    made[::2, :, :, : side // 2] += 150
    made[1::2, :, : side // 2] += 150
    return wn.open(made)


def test_images_are_pruned_by_a_network_trained_on_them() -> None:
    subset = wn.prune(images(), 0.5)
    said = subset.certificate["features"]
    assert len(subset) == 12
    assert "trained on these images without labels (vicreg, 6 steps): 64 numbers per example" in said
    assert set(wn.prune(images(), 0.5).ids) == set(subset.ids)
    raw = wn.prune(images(), 0.5, model="raw")
    assert raw.certificate["features"] == "raw: the inputs themselves"


@pytest.mark.usefixtures("no_encoder")
def test_the_features_are_those_of_the_trained_backbone() -> None:
    source = images(side=64)  # larger than the network looks at
    run = wn.relabel.accelerate(
        "vicreg", source, recipe=wn.Recipe(epochs=100, batch=24, lr=1e-3, weight_decay=0.01, schedule="constant"),
        backbone=unlabelled_features.Shrunk(3, 48), steps=6, seed=3,
    )  # fmt: skip
    signals = wn.embed(source, run.backbone, "")
    by_hand = wn.select("medoids", signals, keep=0.5, balance=0.5, seed=3)
    subset = wn.prune(source, 0.5, seed=3, balance=0.5)
    assert set(subset.ids) == set(by_hand.ids)


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(192, 5), nn.ReLU()), "a Sequential with its weights: 5 numbers"),
        (Frozen(nn.Sequential(nn.Flatten(), nn.Linear(192, 5))), "a Sequential with its weights: 5 numbers"),
        (FineTune(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())), "Sequential with given weights: 4 numbers"),
        ("convnet", "convnet, untrained: 64 numbers per example: the input of layer 'head', the head"),
    ],
    ids=["module", "frozen", "fine-tune", "name"],
)
def test_a_given_network_gives_the_features(network: Any, words: str) -> None:
    assert words in wn.prune(images(), 0.5, model=network).certificate["features"]


def test_without_lightly_the_certificate_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "winnow.methods.relabel.lightly_methods", None)
    monkeypatch.delattr("winnow.methods.relabel.lightly_methods", raising=False)
    said = wn.prune(images(), 0.5).certificate["features"]
    assert said.startswith("raw pixels, because lightly")
    assert "winnow-data[vision]" in said


@pytest.mark.usefixtures("no_encoder")
def test_tables_and_text_are_taken_as_they_are() -> None:
    table = wn.open(np.random.default_rng(0).normal(size=(20, 3)))
    assert wn.prune(table, 0.5).certificate["features"] == "the columns, scaled"
    texts = wn.open([f"a fine film number {place}" for place in range(20)])
    assert "tf-idf" in wn.prune(texts, 0.5).certificate["features"]
    assert "features" not in wn.prune("digits", 0.5, method="random", limit=40).certificate


def test_a_stopped_run_continues_its_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from winnow.methods.relabel import checkpoints

    monkeypatch.setattr(checkpoints, "SAVE_EVERY", 2)
    whole, taken = pretrain_loop.Pretraining.step, 0

    def stopped(self: Any) -> None:
        nonlocal taken
        taken += 1
        if taken == 5:
            raise KeyboardInterrupt
        whole(self)

    monkeypatch.setattr(pretrain_loop.Pretraining, "step", stopped)
    with pytest.raises(KeyboardInterrupt):
        wn.prune(images(), 0.5, out=tmp_path / "run")
    taken = 10
    subset = wn.prune(images(), 0.5, out=tmp_path / "run")
    assert taken == 12  # two steps were left
    assert set(subset.ids) == set(wn.prune(images(), 0.5).ids)
