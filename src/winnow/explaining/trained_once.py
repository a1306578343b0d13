"""One training, recorded and kept in the run: the network that explain, why and audit look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Signals, Source
from ..artefacts.network_weights import Weights
from ..core.run import Run
from ..core.seeds import number as seed_number
from ..methods.lpntk import FeatureRows, features, gram
from ..models import build
from ..models.identity import describe, network_code
from ..models.text_transformers import needs_example_gradients
from ..training import Feed, Recipe, train
from ..training.recorder import Recorder
from .class_relations import Examples

__all__ = ["EXACT", "PROJECTED", "Trained"]

EXACT = 4096  # most examples whose whole kernel is held in memory
PROJECTED = 2048  # length of the features beyond that; the standard deviation of a cosine is then at most 0.03


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network and its training data."""

    net: torch.nn.Module
    name: str
    feed: Feed
    recipe: Recipe
    labels: NDArray[np.int64]
    seed: int
    signals: Signals

    @classmethod
    def by(
        cls, run: Run, part: Source, network: Any, how: Recipe, seed: int, verb: str = "explain", gradients: bool = True
    ) -> Trained:
        """Train on this part of the source, or load the network if the run has trained it before.

        `gradients` says that gradients per example are needed, which not every network gives.
        """
        net = build(network, classes=part.outputs, shape=part.shape, kind=part.kind, seed=seed_number(seed, "init", 0))
        if gradients:
            needs_example_gradients(verb, net)
        feed, recorded = Feed(part), list[Signals]()

        def make() -> Weights:
            recorded.append(_recorded(net, feed, how, seed_number(seed, "training", 0)))
            return Weights.of(net)

        def signals() -> Signals:
            if not recorded:  # the run was stopped between the two steps, or is of a winnow that recorded nothing
                make()
            return recorded[0]

        word, code = part.fingerprint, network_code(network)
        weights = run.step(f"{verb}/train/{word}", Weights, make, key=code, file=f"networks/{word}.safetensors")
        seen = run.step(f"{verb}/record/{word}", Signals, signals, key=code, file=f"recordings/{word}.safetensors")
        weights.into(net)
        return cls(net, _name(describe(network)), feed, how, _labels(part)[feed.order], seed, seen)

    def examples(self, where: NDArray[np.int64]) -> Examples:
        """The kernel of some of the training examples."""
        x, labels = self.feed.inputs(where), self.labels[where]
        kernel = (
            gram(self.net, x, labels)
            if where.size <= EXACT
            else FeatureRows(features(self.net, x, labels, project=PROJECTED, seed=self.seed))
        )
        return Examples(kernel, labels, self.feed.ids[where], self.feed.source.classes)


def _recorded(net: torch.nn.Module, feed: Feed, how: Recipe, seed: int) -> Signals:
    """Train the network, and return its dynamics and predictions, which cost nothing more."""
    recorder = Recorder(
        len(feed),
        feed.source.outputs,
        ids=feed.ids,
        class_names=feed.source.classes,
        planned_epochs=how.epochs,
        keep=("dynamics", "predictions"),
    )
    recorder.expect(_labels(feed.source)[feed.order])
    train(
        net,
        feed,
        how,
        seed,
        after_batch=recorder.log_outputs,
        after_epoch=lambda epoch, model: recorder.end_epoch(),
        beside=(recorder,),
    )
    return recorder.signals()


def _labels(source: Source) -> NDArray[np.int64]:
    return np.asarray(source.labels)


def _name(model: Any) -> str:
    """The display name of a described network."""
    return str(model.get("module") or model.get("factory")) if isinstance(model, Mapping) else str(model)
