"""The trainings of an observation, one job each: per seed, per model of an ensemble, per fold; and the data alone.

Each job calls the registered signals at their moment.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Signals, Source
from ..core import registry
from ..core.run import Run
from ..core.seeds import number as seed_number
from ..engines import Engine, Job, run_jobs
from ..models.identity import is_estimator
from ..training import Feed, train
from .continued_training import checkpoint_epoch, save_checkpoint
from .ensemble import memberships
from .estimator_signals import entries_for, joined_by_estimator
from .fold_trainings import observe_folds
from .observation import Entries, Look, Observation, Watcher, new_network, signals_for, watched

__all__ = ["observed"]


def observed(
    source: Source,
    what: Observation,
    numbers: Sequence[int],
    run: Run,
    engine: Engine,
    key: list[Any],
    groups: NDArray[Any] | None = None,
    networks: str | None = None,
) -> Signals:
    """Record everything: in one training per seed, in those of an ensemble or of folds, and from the data alone."""
    fits = is_estimator(what.model)
    entries = entries_for(what.want, what.model, source.task) if fits else signals_for(what.want)
    seen, asked, folded, given = (
        [entry for entry in entries if entry.when in moments]
        for moments in (("training", "epoch", "trained"), ("ensemble",), ("fold",), ("data",))
    )
    parts = []
    if seen:  # only the first two seeds give arrays without an axis for seeds
        ends = {} if all(e.stacked for e in seen) else dict(zip(numbers, ("", registry.AGAIN), strict=False))
        jobs = [
            Job(
                f"observe/seed-{number}",
                (source, what, seen, number, ends.get(number), networks),
                [*key, number, ends.get(number)],
                f"signals/seed-{number}.safetensors",
            )
            for number in (numbers if any(e.stacked for e in seen) else ends)
        ]
        parts.append(Signals.stack(run_jobs(run, engine, _observe_seed, jobs, Signals, "observing"), {}))
    if asked:
        parts.append(_observe_ensemble(source, what, asked, run, engine, key))
    if folded:  # first, so that the dynamics of a training on everything replace theirs
        parts.insert(0, observe_folds(source, what, folded, numbers, run, engine, key, groups))
    if given:
        job = Job("observe/data", (source, what, given), [*key, "data"], "signals/data.safetensors")
        parts.extend(run_jobs(run, engine, _observe_data, [job], Signals, "observing"))
    found = functools.reduce(Signals.merge, parts)
    return joined_by_estimator(found, what.want, what.model) if fits else found


def _observe_seed(job: tuple[Source, Observation, Entries, int, str | None, str | None]) -> Signals:
    """Run and record one training.

    The last items are the suffix of arrays without seeds, None leaves them out, and the folder for its checkpoint.
    """
    source, what, entries, which, ending, networks = job
    feed = Feed(source)
    model = new_network(source, what, which)
    look = Look(feed, what, model)
    at = {when: [entry for entry in entries if entry.when == when] for when in ("training", "epoch", "trained")}
    watchers: list[tuple[registry.Signal, Watcher]] = [(entry, entry.function(look)) for entry in at["training"]]
    arrays: dict[str, NDArray[Any]] = {}
    axes: dict[str, tuple[str | int, ...]] = {}

    def keep(entry: registry.Signal, found: Mapping[str, NDArray[Any]]) -> None:
        for name, values in found.items():
            layout = entry.arrays[name]
            if layout.stacked or ending is not None:
                full = name if layout.stacked else f"{name}{ending}"
                arrays[full], axes[full] = (values[None] if layout.stacked else values), layout.axes

    def then(epoch: int, trained: torch.nn.Module) -> None:
        if networks is not None and epoch == checkpoint_epoch(what.recipe.epochs):
            save_checkpoint(trained, feed, what, epoch, networks, which)
        for entry in at["epoch"] if epoch == what.gradient_epoch else ():
            keep(entry, entry.function(Look(feed, what, trained)))

    if checkpoint_epoch(what.recipe.epochs) == 0:
        then(0, model)
    watched(watchers, model, feed, what, seed_number(what.seed, "training", which), then)
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
    model = new_network(source, what, "ensemble", index)
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
