"""What a training minimises: the loss of each example of a batch, with soft targets if there are any."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from ..core.errors import InputError
from .feed import Feed
from .recipe import Recipe
from .soft_loss import example_losses, soft_loss

__all__ = ["Measure", "training_loss"]

Measure = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # from outputs and positions to losses


def training_loss(feed: Feed, soft: NDArray[np.float32] | None, weight: float, recipe: Recipe) -> Measure:
    """Return the function from outputs and canonical positions to the loss of each example.

    Parameters
    ----------
    feed
        The training set, which has targets.
    soft
        Soft targets, one row per example in the feed's canonical order; None if there are none.
    weight
        Their share in the loss.
    recipe
        Gives the label smoothing.

    Raises
    ------
    InputError
        If soft targets do not fit the feed.
    """
    targets = cast(torch.Tensor, feed.targets)
    taught = None if soft is None else _soft_targets(feed, soft)

    def measure(output: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        labels = targets[index].to(output.device)
        if taught is None:
            return example_losses(output, labels, recipe.label_smoothing)
        return soft_loss(output, labels, taught[index], weight, "none", label_smoothing=recipe.label_smoothing)

    return measure


def _soft_targets(feed: Feed, soft: NDArray[np.float32]) -> torch.Tensor:
    """Check that soft targets fit the feed; return them as a tensor, those of a regression scaled as its target is."""
    named = bool(feed.source.classes)  # classes or labels, whose soft targets are probabilities
    targets = cast(torch.Tensor, feed.targets)
    wanted = (len(feed), len(feed.source.classes) if named else targets.shape[1])
    if soft.shape != wanted:
        column = {"classification": "class", "multilabel": "label"}.get(feed.source.task, "output")
        raise InputError(
            f"soft of train must have one row per example and one column per {column}, {wanted} for source "
            f"{feed.source.name!r}; got {soft.shape}."
        )
    made = torch.from_numpy(np.array(soft, dtype=np.float32))  # a copy, since the array may be read-only
    return made if named else (made - feed.scaling.target_mean) / feed.scaling.target_std
