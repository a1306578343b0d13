"""The trainings of folds: one per seed and fold, each on all other folds, joined into one set of signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals, Source
from ..artefacts.label_sets import label_set_numbers
from ..core import registry
from ..core.files import fingerprint
from ..core.run import Run
from ..core.scratch_rows import let_go, scratch_rows
from ..core.seeds import number as seed_number
from ..engines import Engine, Job, Needs, run_jobs
from ..models.identity import is_estimator
from ..training import Feed
from ..training.estimators import fitted
from .dynamics import DYNAMICS, PREDICTIONS
from .folds import fold_numbers, joined_groups
from .observation import Entries, Look, Observation, Watcher, new_network, watched
from .out_of_fold import outside_only

__all__ = ["gathered", "observe_folds"]

NUMBERS = 1 << 20  # of an array that are joined at a time


def observe_folds(
    source: Source,
    what: Observation,
    entries: Entries,
    numbers: Sequence[int],
    run: Run,
    engine: Engine,
    key: list[Any],
    groups: NDArray[Any] | None,
) -> Signals:
    """Run one training per seed and fold, and join those of each seed."""
    order = source.order
    classes = None if source.labels is None or not source.classes else source.labels[order]
    if classes is not None and source.task == "multilabel":
        classes = label_set_numbers(classes)
    near = joined_groups(groups, source.groups)
    near = None if near is None else near[order]
    times = None if source.times is None else source.times[order]
    jobs = []
    for number in numbers:
        drawn = seed_number(what.seed, "folds", number)
        fold = fold_numbers(source.ids[order], what.folds, drawn, classes, near, times)
        jobs += [
            Job(
                f"observe/seed-{number}-fold-{index}",
                (number, index, (fold != index).astype(np.uint8)),
                [*key, number, "fold", index, None if near is None else fingerprint(fold.tobytes())],
                f"signals/seed-{number}-fold-{index}.safetensors",
            )
            for index in range(what.folds)
        ]
    needs = Needs.to_train(source, what.model, what.recipe)
    found = run_jobs(run, engine, _observe_fold, jobs, Signals, "folds", shared=(source, what, entries), needs=needs)
    return Signals.stack([gathered(found[k : k + what.folds]) for k in range(0, len(jobs), what.folds)], {})


def _observe_fold(
    source: Source, what: Observation, entries: Entries, job: tuple[int, int, NDArray[np.uint8]]
) -> Signals:
    """Train on all folds but one; record the examples inside, and predict those outside."""
    which, index, member = job
    inside = Feed(source.at(source.order[member.astype(bool)]))
    outside = Feed(source.at(source.order[~member.astype(bool)]), inside.scaling)
    seed = seed_number(what.seed, "training", which, "fold", index)
    if is_estimator(what.model):
        _, answer = fitted(what.model, inside, seed, None, "loss")
        seen: list[tuple[registry.Signal, Mapping[str, NDArray[Any]]]] = [
            (registry.get("signal", "oof"), outside_only(answer(outside), outside, member))
        ]
        epochs: tuple[int, ...] = ()
    else:
        model = new_network(source, what, which, "fold", index)
        look = Look(inside, what, model, member, outside, packed=False)
        watchers: list[tuple[registry.Signal, Watcher]] = [(entry, entry.function(look)) for entry in entries]
        watched(watchers, model, inside, what, seed)
        seen = [(entry, watcher.arrays()) for entry, watcher in watchers]
        epochs = watchers[0][1].epochs
    arrays = {name: values[None] for _, found in seen for name, values in found.items()}
    axes = {name: entry.arrays[name].axes for entry, found in seen for name in found}
    labels = None if source.labels is None else source.labels[source.order]
    ids = source.ids[source.order]
    return Signals(ids, arrays, source.task, labels, source.classes, epochs, what.recipe.epochs, axes=axes)


def gathered(parts: Sequence[Signals]) -> Signals:
    """Join what the networks of all folds gave: the mean of what is recorded inside, and each example's own prediction.

    Whether an example was right in an epoch is what at least half of the networks say. Arrays of other signals come
    from the one network that did not see the example, as `oof` does.
    """
    watched = len(parts) - 1
    arrays: dict[str, NDArray[Any]] = {}
    for name in parts[0].arrays:
        like = parts[0].arrays[name]
        whole, inside = like.dtype.kind in "iub", name in DYNAMICS or name in PREDICTIONS
        arrays[name] = made = scratch_rows(like.shape, like.dtype)
        for start in range(0, like.size, NUMBERS):
            some = slice(start, start + NUMBERS)
            each = (part.arrays[name].reshape(-1)[some] for part in parts)
            total: Any = sum(values.astype(np.int64 if whole else np.float64) for values in each)
            made.reshape(-1)[some] = total if not inside else 2 * total >= watched if whole else total / watched
            for rows in (made, *(part.arrays[name] for part in parts)):
                let_go(rows)
    return replace(parts[0], arrays=arrays)
