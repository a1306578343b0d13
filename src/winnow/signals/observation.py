"""One observation: its settings, the `Look` that every signal is computed from, and a training that is watched."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Source
from ..artefacts.labelled_logits import AVERAGED
from ..core import registry
from ..core.seeds import number as seed_number
from ..models import build
from ..models.identity import describe, is_estimator
from ..training import Feed, Recipe, train
from ..training.staged_estimators import staged

__all__ = ["Entries", "Look", "Observation", "Watcher", "new_network", "signals_for", "watched"]

Entries = list[registry.Signal]  # part of the jobs, so that signals registered in a script reach the workers


@dataclass(frozen=True)
class Observation:
    """What to record and how: everything that decides the numbers, except the source."""

    model: Any
    recipe: Recipe
    want: tuple[str, ...]
    mode: str
    gradient_epoch: int
    gradient_dim: int
    ensemble: int
    layer: str | None
    seed: int
    folds: int = 5

    def settings(self) -> dict[str, Any]:
        """Return plain values, for provenance and keys."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {**plain, "model": describe(self.model), "recipe": self.recipe.settings(), "want": list(self.want)}


@dataclass(frozen=True)
class Look:
    """What a signal is computed from.

    Parameters
    ----------
    feed
        The examples, sorted by id and scaled for the network; `feed.source` is their source.
    what
        The settings of `observe`: recipe, seed, layer and so on.
    model
        The network; the identity for a signal of the data alone.
    member
        For a model of an ensemble or a fold: 1 for the examples it was trained on, among all in canonical order.
    outside
        For a model of a fold, whose `feed` is what it is trained on: the examples of the fold.
    shared
        What the signals of one training share, by name.
    averaged
        Share of the epochs, counted from the last, over which predictions are averaged.
    packed
        Whether dynamics may be stored in half precision. Not if those of several networks are averaged, or if they are
        joined with others in single precision.
    """

    feed: Feed
    what: Observation
    model: torch.nn.Module
    member: NDArray[np.uint8] | None = None
    outside: Feed | None = None
    shared: dict[str, Any] = field(default_factory=dict)
    averaged: float = AVERAGED
    packed: bool = True


class Watcher(Protocol):
    """Records a signal during training; the function of a signal with `when="training"` returns one.

    With `state_dict` and `load_state_dict`, of arrays by name, its training can go on from a checkpoint.
    """

    epochs: tuple[int, ...]  # after which epochs it recorded
    after_batch: Callable[[NDArray[np.int64], torch.Tensor], None] | None

    def after_epoch(self, epoch: int, model: torch.nn.Module) -> None:
        """Record the network after an epoch, counted from 1."""
        ...

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return what was recorded, without the axis `seeds`."""
        ...


def signals_for(want: tuple[str, ...]) -> list[registry.Signal]:
    """Return the signals to compute for these names, without those whose arrays another one gives too."""
    found: list[registry.Signal] = []
    words = list(dict.fromkeys(want))
    for entry in sorted((registry.get("signal", word) for word in words), key=lambda entry: -len(entry.arrays)):
        if not any(entry.arrays.keys() <= other.arrays.keys() for other in found):
            found.append(entry)
    return found


def watched(
    watchers: Sequence[tuple[registry.Signal, Watcher]],
    model: torch.nn.Module,
    feed: Feed,
    what: Observation,
    seed: int,
    then: Callable[[int, torch.nn.Module], None] | None = None,
    before: int = 0,
    beside: Sequence[Any] = (),
) -> None:
    """Train while every watcher records; `then` is called after each epoch too, or after each stage of an estimator.

    `before` is as in `train`; `beside` is what `then` keeps.
    """
    batches = [watcher.after_batch for _, watcher in watchers if watcher.after_batch is not None]

    def after_batch(positions: NDArray[np.int64], output: torch.Tensor) -> None:
        for watch in batches:
            watch(positions, output)

    def after_epoch(epoch: int, trained: Any) -> None:
        for _, watcher in watchers:
            watcher.after_epoch(epoch, trained)
        if then is not None:
            then(epoch, trained)

    if is_estimator(what.model):
        for stage, answer in enumerate(staged(what.model, feed, seed), 1):
            after_epoch(stage, answer)
        return
    each = after_batch if batches else None
    saved = [*(watcher for _, watcher in watchers), *beside]
    train(model, feed, what.recipe, seed, before=before, after_batch=each, after_epoch=after_epoch, beside=saved)


def new_network(source: Source, what: Observation, *names: str | int) -> torch.nn.Module:
    """Build a new network, initialised by the seed and these names; nothing if an estimator is fitted instead."""
    if is_estimator(what.model):
        return torch.nn.Identity()
    return build(
        what.model,
        classes=source.outputs,
        shape=source.shape,
        kind=source.kind,
        seed=seed_number(what.seed, "init", *names),
    )
