"""Made-up signals of the declared shapes: to rehearse a method before any training, and to forecast its cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals, Source
from ..artefacts.task_labels import Task
from ..core import registry
from ..core.seeds import stream

__all__ = ["made_up", "made_up_signals"]


def made_up_signals(source: Source, epochs: int) -> Signals:
    """Return a few made-up examples with every signal of the task, shaped as if the source had been observed."""
    kinds = min(5, max(2, len(source.classes))) if source.classes else 0
    sizes = {"seeds": 2, "models": 10, "epochs": epochs, "examples": 60, "classes": kinds}
    return made_up(source.task, {**sizes, "embedding": 4, "projection": 4}, "rehearsal")


def made_up(task: Task, sizes: Mapping[str, int], seed: str, only: Collection[str] | None = None) -> Signals:
    """Make up signals that were never observed.

    Parameters
    ----------
    task
        Their task.
    sizes
        Length of each axis; `classes` is 0 if there are neither classes nor labels.
    seed
        A word that names the random stream.
    only
        Arrays to make; if not given, those of every registered signal of the task.
    """
    n, kinds, epochs = sizes["examples"], sizes["classes"], sizes["epochs"]
    rng = stream(0, seed)
    groups: NDArray[Any] = np.arange(n) % max(1, kinds)
    if task == "multilabel":  # in turn, and every third example has the next label too
        groups = np.eye(kinds, dtype=np.uint8)[groups] | np.eye(kinds, dtype=np.uint8)[(groups + n % 3) % kinds]
    hardness = rng.random(n)
    arrays: dict[str, NDArray[Any]] = {}
    for entry in registry.listing("signal"):
        missing = {name for name in entry.arrays if name not in arrays and (only is None or name in only)}
        if missing and task in entry.tasks:
            made = entry.made_up(sizes, groups, hardness, rng)
            arrays |= {name: values for name, values in made.items() if name in missing}
    if not arrays:  # a method that needs nothing still needs the ids
        arrays["losses"] = np.zeros((1, epochs, n))
    labels = {"regression": rng.random(n), "unlabelled": None}.get(task, groups)
    classes = tuple(map(str, range(kinds)))
    return Signals(np.arange(n), arrays, task, labels, classes, tuple(range(1, epochs + 1)), epochs)
