"""One observation: what was asked for, and the look at a network that every signal is computed from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from ..core import registry
from ..models.identity import describe
from ..training import Feed, Recipe

__all__ = ["Look", "Observation", "Watcher", "signals_for"]


@dataclass(frozen=True)
class Observation:
    """What to record, and how; everything but the source that decides the numbers."""

    model: Any
    recipe: Recipe
    want: tuple[str, ...]
    mode: str
    gradient_epoch: int
    gradient_dim: int
    ensemble: int
    layer: str | None
    seed: int

    def settings(self) -> dict[str, Any]:
        """Plain values, for provenance and keys."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {**plain, "model": describe(self.model), "recipe": self.recipe.settings(), "want": list(self.want)}


@dataclass(frozen=True)
class Look:
    """What a signal is computed from.

    Parameters
    ----------
    feed
        The examples in canonical order (by id), scaled as the network wants them; `feed.source` is their source.
    what
        What was asked of `observe`: recipe, seed, layer and the like.
    model
        The network; None for a signal of the data alone.
    member
        For a model of an ensemble: 1 where it trained on the example.
    """

    feed: Feed
    what: Observation
    model: torch.nn.Module
    member: NDArray[np.uint8] | None = None


class Watcher(Protocol):
    """What a signal that is recorded while a network trains returns before the training."""

    epochs: tuple[int, ...]  # after which epochs it recorded
    after_batch: Callable[[NDArray[np.int64], torch.Tensor], None] | None

    def after_epoch(self, epoch: int, model: torch.nn.Module) -> None:
        """Look at the network after an epoch, counted from 1."""
        ...

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """What was recorded, without the axis of seeds."""
        ...


def signals_for(want: tuple[str, ...]) -> list[registry.Signal]:
    """The signals to compute for these words; one whose arrays all come with another's is left out."""
    found: list[registry.Signal] = []
    words = list(dict.fromkeys(want))
    for entry in sorted((registry.get("signal", word) for word in words), key=lambda entry: -len(entry.arrays)):
        if not any(entry.arrays.keys() <= other.arrays.keys() for other in found):
            found.append(entry)
    return found
