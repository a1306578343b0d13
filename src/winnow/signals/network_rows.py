"""Rows that a network makes of examples: its representation of each, in eval mode, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ..core.errors import InputError
from ..core.progress import track
from ..core.scratch_rows import filled_rows
from ..models.modes import eval_mode
from ..models.representation import Representation, representation
from ..training import Feed, Recipe
from ..training.loop import device_of
from .kept_batches import kept_batches

__all__ = ["Rows", "embedding_batches", "embeddings_of", "taken_from"]

Rows = np.ndarray[Any, np.dtype[np.float32]]


def embeddings_of(
    model: torch.nn.Module, feed: Feed, recipe: Recipe, layer: str | None, batch: int = 512
) -> tuple[Rows, Representation]:
    """Return features of every example of a feed, sorted by id, in eval mode; and which they are."""
    device, given = device_of(recipe), feed
    feed = feed.read_by(model)
    taken = taken_from(model, feed, device, layer)

    def batches(start: int) -> Iterator[tuple[Rows]]:
        for rows in embedding_batches(model, lambda x: taken(model, x), feed, device, batch, start):
            yield (rows,)

    found = kept_batches(("embeddings", taken.about()), model, given, batches, batch, recipe.checkpoint)
    return filled_rows((rows for (rows,) in track(found, "embedding", -(-len(feed) // batch))), len(feed)), taken


def taken_from(model: torch.nn.Module, feed: Feed, device: torch.device, layer: str | None) -> Representation:
    """Return what represents examples in a network, by its first two examples."""
    few = feed.read_by(model).inputs(np.arange(min(2, len(feed)))).to(device)
    with _taking(model, few):
        return representation(model.to(device), few, layer)


@contextmanager
def _taking(model: torch.nn.Module, x: torch.Tensor) -> Iterator[None]:
    """Turn errors of a network about its input into one sentence."""
    try:
        yield
    except (RuntimeError, IndexError) as error:
        raise InputError(
            f"model of type {type(model).__name__} does not take examples of shape {tuple(x.shape[1:])}: "
            f"{' '.join(str(error).split()).rstrip('.')}."
        ) from None


def embedding_batches(
    model: torch.nn.Module,
    features: Callable[[torch.Tensor], torch.Tensor],
    feed: Feed,
    device: torch.device,
    batch: int,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[Rows]:
    """Yield features of the examples at positions `start` to `stop` (sorted by id), batch by batch, in eval mode.

    `features` computes them from a batch of inputs.
    """
    model.to(device)
    feed = feed.read_by(model)
    end = len(feed) if stop is None else stop
    with eval_mode(model):
        for first in range(start, end, batch):
            x = feed.inputs(np.arange(first, min(first + batch, end))).to(device)
            with _taking(model, x), torch.no_grad():
                found = features(x)
            yield found.float().cpu().numpy()
