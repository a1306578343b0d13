"""Features of examples without labels: by a given network, an open encoder, one trained on the spot, or the inputs.

Distances between raw pixels say little about what images show. So if no network is given, the open encoder for such
data is taken if it is installed (`winnow.models.open_encoders`). Otherwise a small network is trained on the images by
a self-supervised method (`wn.relabel.accelerate`), for a fixed number of steps and on images of at most `SIDE` pixels
per side, which bounds the time. Tables, and text if no encoder is there, are taken as `wn.embed` gives them without a
network.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import nn

from ..artefacts import Signals, Source
from ..core.errors import MissingDependencyError
from ..core.run import Run
from ..methods.relabel.acceleration import RECIPE, accelerate
from ..models import FineTune, Frozen, build
from ..models.identity import FOLDERS, IMAGENET
from ..models.open_encoders import open_encoder
from ..models.representation import Representation
from ..signals.embed import embed
from ..training import Recipe

__all__ = ["METHOD", "STEPS", "Shrunk", "features_said", "network_without_labels", "unlabelled_features"]

METHOD = "vicreg"  # it needs neither negatives nor a second network, and does not collapse on small data
STEPS = 300
SIDE = 48  # pixels; larger images are shrunk
WIDTH = 16


class Shrunk(nn.Module):
    """A small convolutional network without a head, on images that are shrunk first."""

    def __init__(self, channels: int, side: int) -> None:
        super().__init__()
        self.side = side
        self.network = build("convnet", classes=2, shape=(channels, side, side), width=WIDTH)
        self.network.set_submodule("head", nn.Identity())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one row of features per image."""
        if max(x.shape[2:]) > self.side:
            x = nn.functional.interpolate(x, (self.side, self.side), mode="bilinear", antialias=True)
        features: torch.Tensor = self.network(x)
        return features


def unlabelled_features(source: Source, network: Any, seed: int, run: Run) -> Signals:
    """Return embeddings of all examples, with what they are in their provenance, under `features`.

    Parameters
    ----------
    source
        Examples without labels.
    network
        The network that was asked for, or `auto`.
    seed
        Seed of everything random.
    run
        Where finished work is kept: a training that was stopped continues.
    """
    if not _chosen_here(network):
        made = embed(source, network, seed=seed)
        return _with(made, f"{_called(network)}: {_taken(made)}")
    encoder = open_encoder(source.kind, source.shape)
    if encoder is not None:
        made = embed(source, encoder, seed=seed)
        return _with(made, f"{encoder}, an open encoder: {_taken(made)}")
    planned = network_without_labels(source, network)
    if planned is None:
        what = "hashed tf-idf of words and letter sequences" if source.kind == "text" else "the columns, scaled"
        return _with(embed(source, seed=seed), what)
    backbone, recipe = planned
    try:
        trained = accelerate(METHOD, source, recipe=recipe, backbone=backbone, steps=STEPS, seed=seed, out=run)
    except MissingDependencyError:
        return _with(
            embed(source, seed=seed),
            "raw pixels, because lightly, which trains a network without labels, is not installed "
            "(pip install 'winnow-data[vision]')",
        )
    made = embed(source, trained.backbone, "", seed=seed)
    return _with(
        made,
        f"a network of {sum(p.numel() for p in backbone.parameters()):,} weights trained on these images without "
        f"labels ({METHOD}, {STEPS} steps): {_taken(made)}",
    )


def network_without_labels(source: Source, network: Any) -> tuple[Shrunk, Recipe] | None:
    """Return the network that is trained on examples without labels, and how; None if none is.

    Parameters
    ----------
    source
        The examples.
    network
        The network that was asked for, or `auto`.
    """
    if source.task != "unlabelled" or source.kind != "image" or not _chosen_here(network):
        return None
    if open_encoder(source.kind, source.shape) is not None:
        return None
    recipe = dataclasses.replace(RECIPE, batch=min(RECIPE.batch, len(source)))
    return Shrunk(source.shape[0], min(SIDE, *source.shape[1:])), recipe


def features_said(signals: Signals | None) -> dict[str, str]:
    """Return what a certificate says about features; nothing if the examples have labels."""
    said = None if signals is None else signals.provenance.get("features")
    return {} if said is None else {"features": str(said)}


def _chosen_here(network: Any) -> bool:
    return isinstance(network, str) and network == "auto"


def _with(signals: Signals, features: str) -> Signals:
    return dataclasses.replace(signals, provenance={**signals.provenance, "features": features})


def _taken(signals: Signals) -> str:
    taken = signals.provenance["parameters"].get("taken")
    return "the inputs themselves" if taken is None else Representation(**taken).sentence()


def _called(network: Any) -> str:
    if isinstance(network, FineTune):
        name = network.model if isinstance(network.model, str) else type(network.model).__name__
        return f"{name} with given weights"
    if isinstance(network, Frozen):
        return f"a {type(network.backbone).__name__} with its weights"
    if isinstance(network, str):
        return network if network == "raw" or network.startswith((*FOLDERS, IMAGENET)) else f"{network}, untrained"
    return f"a {type(network).__name__} with its weights"
