"""A training that goes on from a checkpoint, to record examples that have come since.

The checkpoint is the network after a quarter of its epochs: it knows the data, and has learned little by heart. From
there, the last three quarters are trained once more, with the same learning rates, on the new examples and an equal
number of old ones, so that the network does not forget. What is recorded of the new examples then means what it means
for the old ones: the same epochs, the same part of the schedule, predictions averaged over the same last half. Epochs
before the checkpoint are left out for all examples.

Signals of the trained network, such as embeddings, are computed for all examples by the network that went on, because
those of two networks cannot be compared.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Signals, Source
from ..artefacts.labelled_logits import first_averaged
from ..core import registry
from ..core.errors import InputError
from ..core.seeds import number as seed_number
from ..training import Feed
from ..training.trained_network import TrainedNetwork
from .observation import Entries, Look, Observation, Watcher, watched

__all__ = ["NETWORKS", "Continuation", "checkpoint_epoch", "checkpoint_file", "continue_training", "save_checkpoint"]

NETWORKS = "networks"  # the folder of a run that holds checkpoints
KEPT_AFTER = 0.25  # of the epochs


def checkpoint_epoch(epochs: int) -> int:
    """The epoch after which the network is kept: a quarter of all, before the last."""
    return min(max(1, round(KEPT_AFTER * epochs)), epochs - 1)


def checkpoint_file(folder: str | Path, number: int) -> Path:
    """Where the checkpoint of a seed lies."""
    return Path(folder) / f"seed-{number}.safetensors"


def save_checkpoint(
    model: torch.nn.Module, feed: Feed, what: Observation, epoch: int, folder: str, number: int
) -> None:
    """Write the network of one training as it is after an epoch."""
    source = feed.source
    about = {
        "model": what.model if isinstance(what.model, str) else None,
        "outputs": source.outputs,
        "shape": list(source.shape),
        "kind": source.kind,
        "classes": list(source.classes),
        "task": source.task,
        "epoch": epoch,
    }
    TrainedNetwork(model, feed.scaling, 0, about).save(checkpoint_file(folder, number))


@dataclass(frozen=True, eq=False)
class Continuation:
    """One training that goes on.

    Parameters
    ----------
    part
        The new ones and those old ones that are trained on with them.
    new
        Ids of the new ones.
    before
        What was recorded of the old ones.
    checkpoint
        File of the network.
    number
        The seed.
    ending
        Suffix of arrays without seeds; None leaves them out.
    """

    part: Source
    new: NDArray[Any]
    before: Signals
    checkpoint: Path
    number: int
    ending: str | None


def continue_training(source: Source, what: Observation, entries: Entries, job: Continuation) -> Signals:
    """Train on from a checkpoint; return the signals of old and new examples together, sorted by id.

    The source has all examples, `what` the settings of the observation, and `entries` are the signals to record.
    """
    kept = TrainedNetwork.load(job.checkpoint, None if isinstance(what.model, str) else what.model)
    source, part = (_shaped(each, kept) for each in (source, job.part))
    start = int(kept.about["epoch"])
    epochs = tuple(range(start + 1, what.recipe.epochs + 1))
    feed = Feed(part, kept.scaling)
    shorter = dataclasses.replace(what.recipe, epochs=len(epochs))
    window = what.recipe.epochs - first_averaged(what.recipe.epochs) + 1
    look = Look(
        feed,
        dataclasses.replace(what, recipe=shorter),
        kept.module,
        averaged=min(1.0, window / len(epochs)),
        packed="losses" not in job.before.arrays,  # as the older ones are
    )
    during = [entry for entry in entries if entry.when == "training"]
    watchers: list[tuple[registry.Signal, Watcher]] = [(entry, entry.function(look)) for entry in during]
    seed = seed_number(what.seed, "training", job.number, "goes on")
    watched(watchers, kept.module, feed, look.what, seed, before=start * what.recipe.batches(len(feed)))
    seen: dict[str, NDArray[Any]] = {}
    axes: dict[str, tuple[str | int, ...]] = {}
    for entry, watcher in watchers:
        for name, values in watcher.arrays().items():
            seen[name], axes[name] = values[None], entry.layout(name).axes
    arrays: dict[str, NDArray[Any]] = {}
    if seen:
        labels = None if part.labels is None else part.labels[feed.order]
        recorded = Signals(feed.ids, seen, source.task, labels, source.classes, epochs, what.recipe.epochs, axes=axes)
        arrays = _joined(job.before, recorded.take(job.new), epochs)
    everyone = Look(Feed(source, kept.scaling), what, kept.module)
    for entry in entries:
        if entry.when == "trained" and (entry.stacked or job.ending is not None):
            for name, values in entry.function(everyone).items():
                layout = entry.arrays[name]
                full = name if layout.stacked else f"{name}{job.ending}"
                arrays[full], axes[full] = values[None] if layout.stacked else values, layout.axes
    whole = None if source.labels is None else source.labels[source.order]
    ids = source.ids[source.order]
    rows = epochs if seen else ()
    return Signals(ids, arrays, source.task, whole, source.classes, rows, what.recipe.epochs, axes=axes)


def _shaped(source: Source, kept: TrainedNetwork) -> Source:
    """The examples as the network takes them: texts of its length; anything else must have its shape."""
    shape = tuple(kept.about["shape"])
    if source.kind == "text":
        return source.with_length(shape[0])
    if source.shape != shape:
        raise InputError(
            f"the examples of source {source.name!r} must have the shape {shape} of those that the network has seen; "
            f"got {source.shape}."
        )
    return source


def _joined(old: Signals, new: Signals, epochs: tuple[int, ...]) -> dict[str, NDArray[Any]]:
    """The arrays of old and new examples, sorted by id, with only these epochs."""
    order = np.argsort(np.concatenate([old.ids, new.ids]), kind="stable")
    rows = [old.epochs.index(epoch) for epoch in epochs]
    joined = {}
    for name, values in new.arrays.items():
        before, axes = old.arrays[name], new.axes_of(name)
        if "epochs" in axes:
            before = np.take(before, rows, axis=axes.index("epochs"))
        axis = axes.index("examples")
        joined[name] = np.take(np.concatenate([before, values], axis=axis), order, axis=axis)
    return joined
