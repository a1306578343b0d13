"""The cost of a network that is trained on the spot, without labels: a few real steps, timed before the real training.

`prune` trains one if images have no labels and no network is given (`pruning.unlabelled_features`). Its number of steps
is fixed, so its cost depends on the size of an image and of a batch, not on how many images there are.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..artefacts import Source
from ..core.errors import MissingDependencyError
from ..methods.relabel.acceleration import accelerate
from ..pruning.unlabelled_features import METHOD, STEPS, Shrunk, network_without_labels

__all__ = ["PretrainingCost", "pretraining_cost"]

WARM, TIMED = 1, 3  # steps


@dataclass(frozen=True)
class PretrainingCost:
    """What training a network without labels costs.

    Parameters
    ----------
    backbone
        The network, untrained.
    seconds
        Seconds of the whole training.
    images
        Images in one step, both views counted.
    disk
        Bytes of its state in the run directory.
    """

    backbone: Shrunk
    seconds: float
    images: int
    disk: int

    @property
    def said(self) -> str:
        """What is trained, in words."""
        return f"a small network trained without labels ({METHOD}, {STEPS} steps)"


def pretraining_cost(item: tuple[Source, Any]) -> PretrainingCost | None:
    """Time a few steps of the training on real images; None if `prune` trains no such network.

    Parameters
    ----------
    item
        The source, and the network that was asked for.
    """
    source, network = item
    planned = network_without_labels(source, network)
    if planned is None:
        return None
    backbone, recipe = planned
    part = source.at(np.arange(min(len(source), 2 * recipe.batch)))
    with tempfile.TemporaryDirectory() as folder:
        try:
            accelerate(METHOD, part, recipe=recipe, backbone=backbone, steps=WARM, out=Path(folder, "warm"))
        except MissingDependencyError:
            return None
        made = accelerate(METHOD, part, recipe=recipe, backbone=backbone, steps=TIMED, out=Path(folder, "timed"))
        disk = sum(file.stat().st_size for file in Path(folder, "timed").rglob("*.safetensors"))
    return PretrainingCost(backbone, sum(made.seconds.values()) / TIMED * STEPS, 2 * recipe.batch, disk)
