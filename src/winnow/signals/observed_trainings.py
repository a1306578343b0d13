"""The trainings of an observation, one job each: per seed, per model of an ensemble, per fold; and the data alone.

Each job calls the registered signals at their moment.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Signals, Source
from ..core import registry
from ..core.files import atomic
from ..core.run import Run
from ..core.seeds import number as seed_number
from ..engines import Engine, Job, Needs, run_jobs
from ..models.identity import is_estimator
from ..training import Feed, train
from .continued_training import checkpoint_epoch, checkpoint_file, save_checkpoint
from .ensemble import memberships
from .estimator_signals import entries_for, joined_by_estimator
from .fold_trainings import observe_folds
from .observation import Entries, Look, Observation, Watcher, new_network, signals_for, watched

__all__ = ["observed"]

NETWORK = "the network's file"


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
    key = [*key, [entry.code for entry in entries]]
    parts, needs = [], Needs.to_train(source, what.model, what.recipe)
    if seen:  # only the first two seeds give arrays without an axis for seeds
        ends = {} if all(e.stacked for e in seen) else dict(zip(numbers, ("", registry.AGAIN), strict=False))
        jobs = [
            Job(
                f"observe/seed-{number}",
                (number, ends.get(number)),
                [*key, number, ends.get(number)],
                f"signals/seed-{number}.safetensors",
            )
            for number in (numbers if any(e.stacked for e in seen) else ends)
        ]
        common = (source, what, seen, networks)
        made = run_jobs(run, engine, _observe_seed, jobs, Signals, "observing", shared=common, needs=needs)
        parts.append(Signals.stack(made, {}))
    if asked:
        parts.append(_observe_ensemble(source, what, asked, run, engine, key))
    if folded:  # first, so that the dynamics of a training on everything replace theirs
        parts.insert(0, observe_folds(source, what, folded, numbers, run, engine, key, groups))
    if given:
        job = Job("observe/data", None, [*key, "data"], "signals/data.safetensors")
        parts.extend(run_jobs(run, engine, _observe_data, [job], Signals, "observing", shared=(source, what, given)))
    found = functools.reduce(Signals.merge, parts)
    return joined_by_estimator(found, what.want, what.model) if fits else found


def _observe_seed(
    source: Source, what: Observation, entries: Entries, networks: str | None, job: tuple[int, str | None]
) -> Signals:
    """Run and record one training.

    `networks` is the folder for its checkpoint. A job has the seed and the suffix of arrays without seeds, which None
    leaves out.
    """
    which, ending = job
    feed = Feed(source)
    model = new_network(source, what, which)
    look = Look(feed, what, model)
    at = {when: [entry for entry in entries if entry.when == when] for when in ("training", "epoch", "trained")}
    watchers: list[tuple[registry.Signal, Watcher]] = [(entry, entry.function(look)) for entry in at["training"]]
    kept = _Kept(entries, ending, None if networks is None else checkpoint_file(networks, which))

    def then(epoch: int, trained: torch.nn.Module) -> None:
        if networks is not None and epoch == checkpoint_epoch(what.recipe.epochs):
            save_checkpoint(trained, feed, what, epoch, networks, which)
            kept.saved = True
        for entry in at["epoch"] if epoch == what.gradient_epoch else ():
            kept.add(entry, entry.function(Look(feed, what, trained)))

    if checkpoint_epoch(what.recipe.epochs) == 0:
        then(0, model)
    watched(watchers, model, feed, what, seed_number(what.seed, "training", which), then, beside=(kept,))
    for entry in at["trained"]:
        if entry.stacked or ending is not None:
            kept.add(entry, entry.function(look))
    for entry, watcher in watchers:
        kept.add(entry, watcher.arrays())
    epochs = next((watcher.epochs for _, watcher in watchers), ())
    labels = None if source.labels is None else source.labels[feed.order]
    found = kept.arrays
    return Signals(feed.ids, found, source.task, labels, source.classes, epochs, what.recipe.epochs, axes=kept.axes)


class _Kept:
    """The arrays of one training, as they come, and the file of its network if that is kept.

    Parameters
    ----------
    entries
        The signals.
    ending
        Suffix of arrays without an axis for seeds; None leaves them out.
    file
        Where the network is kept; None if it is not.
    """

    def __init__(self, entries: Entries, ending: str | None, file: Path | None) -> None:
        self._entries, self._ending, self._file = entries, ending, file
        self.arrays: dict[str, NDArray[Any]] = {}
        self.saved = False

    @property
    def axes(self) -> dict[str, tuple[str | int, ...]]:
        """The axes of each array."""
        known = {
            self._full(entry, name): layout.axes
            for entry in self._entries
            for name, layout in {**entry.packed, **entry.arrays}.items()
        }
        return {name: known[name] for name in self.arrays}

    def _full(self, entry: registry.Signal, name: str) -> str:
        return name if entry.layout(name).stacked else f"{name}{self._ending}"

    def add(self, entry: registry.Signal, found: Mapping[str, NDArray[Any]]) -> None:
        """Add the arrays of a signal."""
        for name, values in found.items():
            stacked = entry.layout(name).stacked
            if stacked or self._ending is not None:
                self.arrays[self._full(entry, name)] = values[None] if stacked else values

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return what came so far, for a checkpoint, with the bytes of the network's file."""
        file = self._file if self.saved else None
        network = {} if file is None else {NETWORK: np.frombuffer(file.read_bytes(), dtype=np.uint8).copy()}
        return {**self.arrays, **network}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from there; the file is written again, because it may have been damaged since."""
        self.arrays = {name: np.array(values) for name, values in state.items() if name != NETWORK}
        self.saved = NETWORK in state
        if self.saved and self._file is not None:
            with atomic(self._file) as part:
                part.write_bytes(state[NETWORK].tobytes())


def _observe_ensemble(
    source: Source, what: Observation, entries: Entries, run: Run, engine: Engine, key: list[Any]
) -> Signals:
    """Run the trainings of a subset ensemble and stack what they give."""
    member = memberships(source.ids[source.order], what.ensemble, what.seed)
    jobs = [
        Job(
            f"observe/ensemble-{index}",
            (index, member[index]),
            [*key, "ensemble", index],
            f"signals/ensemble-{index}.safetensors",
        )
        for index in range(what.ensemble)
    ]
    needs, common = Needs.to_train(source, what.model, what.recipe), (source, what, entries)
    return Signals.stack(
        run_jobs(run, engine, _observe_member, jobs, Signals, "ensemble", shared=common, needs=needs), {}
    )


def _observe_member(source: Source, what: Observation, entries: Entries, job: tuple[int, NDArray[np.uint8]]) -> Signals:
    """Train one model of the ensemble on its part, and record all examples."""
    index, member = job
    inside = Feed(source.at(source.order[member.astype(bool)]))
    everyone = Feed(source, inside.scaling)
    model = new_network(source, what, "ensemble", index)
    train(model, inside, what.recipe, seed_number(what.seed, "training", "ensemble", index))
    return _looked(Look(everyone, what, model, member), entries)


def _observe_data(source: Source, what: Observation, entries: Entries, _: None) -> Signals:
    """Compute the signals of the data alone, without a network."""
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
