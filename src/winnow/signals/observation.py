"""One observation: its settings, the `Look` that every signal is computed from, and its trainings, one job each.

Each job calls the registered signals at their moment.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Signals, Source
from ..core import registry
from ..core.run import Run
from ..core.seeds import number as seed_number
from ..engines import Engine, Job, run_jobs
from ..models import build
from ..models.identity import describe
from ..training import Feed, Recipe, train
from .ensemble import memberships

__all__ = ["Look", "Observation", "Watcher", "observed", "signals_for"]

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
        For a model of an ensemble: 1 for the examples it was trained on.
    shared
        What the signals of one training share, by name.
    """

    feed: Feed
    what: Observation
    model: torch.nn.Module
    member: NDArray[np.uint8] | None = None
    shared: dict[str, Any] = field(default_factory=dict)


class Watcher(Protocol):
    """Records a signal during training; the function of a signal with `when="training"` returns one."""

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


def observed(
    source: Source, what: Observation, numbers: Sequence[int], run: Run, engine: Engine, key: list[Any]
) -> Signals:
    """Record everything: in one training per seed, in the trainings of an ensemble, and from the data alone."""
    entries = signals_for(what.want)
    seen, asked, given = (
        [entry for entry in entries if entry.when in moments]
        for moments in (("training", "epoch", "trained"), ("ensemble",), ("data",))
    )
    parts = []
    if seen:  # only the first two seeds give arrays without an axis for seeds
        ends = {} if all(e.stacked for e in seen) else dict(zip(numbers, ("", registry.AGAIN), strict=False))
        jobs = [
            Job(
                f"observe/seed-{number}",
                (source, what, seen, number, ends.get(number)),
                [*key, number, ends.get(number)],
                f"signals/seed-{number}.safetensors",
            )
            for number in (numbers if any(e.stacked for e in seen) else ends)
        ]
        parts.append(Signals.stack(run_jobs(run, engine, _observe_seed, jobs, Signals, "observing"), {}))
    if asked:
        parts.append(_observe_ensemble(source, what, asked, run, engine, key))
    if given:
        job = Job("observe/data", (source, what, given), [*key, "data"], "signals/data.safetensors")
        parts.extend(run_jobs(run, engine, _observe_data, [job], Signals, "observing"))
    return functools.reduce(Signals.merge, parts)


def _observe_seed(job: tuple[Source, Observation, Entries, int, str | None]) -> Signals:
    """Run and record one training; the last item is the suffix of arrays without seeds, None leaves them out."""
    source, what, entries, which, ending = job
    feed = Feed(source)
    model = _network(source, what, which)
    look = Look(feed, what, model)
    at = {when: [entry for entry in entries if entry.when == when] for when in ("training", "epoch", "trained")}
    watchers: list[tuple[registry.Signal, Watcher]] = [(entry, entry.function(look)) for entry in at["training"]]
    batches = [watcher.after_batch for _, watcher in watchers if watcher.after_batch is not None]
    arrays: dict[str, NDArray[Any]] = {}
    axes: dict[str, tuple[str | int, ...]] = {}

    def keep(entry: registry.Signal, found: Mapping[str, NDArray[Any]]) -> None:
        for name, values in found.items():
            layout = entry.arrays[name]
            if layout.stacked or ending is not None:
                full = name if layout.stacked else f"{name}{ending}"
                arrays[full], axes[full] = (values[None] if layout.stacked else values), layout.axes

    def after_batch(positions: NDArray[np.int64], output: torch.Tensor) -> None:
        for watch in batches:
            watch(positions, output)

    def after_epoch(epoch: int, trained: torch.nn.Module) -> None:
        for _, watcher in watchers:
            watcher.after_epoch(epoch, trained)
        for entry in at["epoch"] if epoch == what.gradient_epoch else ():
            keep(entry, entry.function(Look(feed, what, trained)))

    seed = seed_number(what.seed, "training", which)
    train(model, feed, what.recipe, seed, after_batch=after_batch if batches else None, after_epoch=after_epoch)
    for entry in at["trained"]:
        if entry.stacked or ending is not None:
            keep(entry, entry.function(look))
    for entry, watcher in watchers:
        keep(entry, watcher.arrays())
    epochs = next((watcher.epochs for _, watcher in watchers), ())
    labels = None if source.labels is None else source.labels[feed.order]
    return Signals(feed.ids, arrays, source.task, labels, source.classes, epochs, what.recipe.epochs, axes=axes)


def _observe_ensemble(
    source: Source, what: Observation, entries: Entries, run: Run, engine: Engine, key: list[Any]
) -> Signals:
    """Run the trainings of a subset ensemble and stack what they give."""
    member = memberships(source.ids[source.order], what.ensemble, what.seed)
    jobs = [
        Job(
            f"observe/ensemble-{index}",
            (source, what, entries, index, member[index]),
            [*key, "ensemble", index],
            f"signals/ensemble-{index}.safetensors",
        )
        for index in range(what.ensemble)
    ]
    return Signals.stack(run_jobs(run, engine, _observe_member, jobs, Signals, "ensemble"), {})


def _observe_member(job: tuple[Source, Observation, Entries, int, NDArray[np.uint8]]) -> Signals:
    """Train one model of the ensemble on its part, and record all examples."""
    source, what, entries, index, member = job
    inside = Feed(source.at(source.order[member.astype(bool)]))
    everyone = Feed(source, inside.scaling)
    model = _network(source, what, "ensemble", index)
    train(model, inside, what.recipe, seed_number(what.seed, "training", "ensemble", index))
    return _looked(Look(everyone, what, model, member), entries)


def _observe_data(job: tuple[Source, Observation, Entries]) -> Signals:
    """Compute the signals of the data alone, without a network."""
    source, what, entries = job
    return _looked(Look(Feed(source), what, torch.nn.Identity()), entries)


def _looked(look: Look, entries: Entries) -> Signals:
    """Compute the arrays of one Look."""
    source = look.feed.source
    arrays, axes = {}, {}
    for entry in entries:
        for name, values in entry.function(look).items():
            layout = entry.arrays[name]
            arrays[name], axes[name] = (values[None] if layout.stacked else values), layout.axes
    labels = None if source.labels is None else source.labels[look.feed.order]
    return Signals(look.feed.ids, arrays, source.task, labels, source.classes, axes=axes)


def _network(source: Source, what: Observation, *names: str | int) -> torch.nn.Module:
    """Build a new network, initialised by the seed and these names."""
    return build(what.model, classes=source.outputs, shape=source.shape, seed=seed_number(what.seed, "init", *names))
