"""What `winnow check` sees of a development set with planted errors, kept in a run directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from studies.checking.data import development
from studies.checking.noise import noisy
from winnow.checking.duplicates import duplicates
from winnow.checking.examination import judge
from winnow.checking.neighbour_rows import neighbour_rows

__all__ = ["Observed", "observed", "observed_sets"]

LEFT_OUT = ("probabilities", "errors")  # arrays that say nothing beyond the others


@dataclass(frozen=True, eq=False)
class Observed:
    """One set with one kind of errors.

    Parameters
    ----------
    data, kind, rate
        The set, and the errors that were planted.
    signals
        Out-of-fold predictions, dynamics and embeddings, as `wn.check` has them.
    wrong
        Which labels are wrong.
    table
        Whether the examples are rows of a table.
    """

    data: str
    kind: str
    rate: float
    signals: wn.Signals
    wrong: NDArray[np.bool_]
    table: bool = False


def observed(truth: wn.Source, kind: str, rate: float, epochs: int, file: Path | None = None) -> Observed:
    """Observe one set with one kind of errors out of fold, or read what was observed before.

    Parameters
    ----------
    truth
        The set with its true labels.
    kind, rate
        The errors to plant.
    epochs
        Length of the trainings.
    file
        Where the signals are kept.
    """
    if file is None or not file.exists():
        source, one = noisy(truth, kind, rate), wn.Local(workers=1)
        groups = duplicates(source, None, seed=0).group
        model, recipe = judge(source, "auto"), wn.Recipe(epochs=epochs)
        seen = wn.observe(source, model, recipe, want=("oof",), groups=groups, engine=one)
        arrays = {name: values for name, values in seen.arrays.items() if name not in LEFT_OUT}
        axes = {**(seen.axes or {}), "embeddings": ("examples", "embedding")}
        made = replace(seen, arrays={**arrays, "embeddings": neighbour_rows(source)}, axes=axes)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            made.save(file)
    else:
        made = wn.Signals.load(file)
    made = made.take(truth.ids)
    wrong = np.asarray(made.labels) != np.asarray(truth.labels)
    return Observed(truth.name.partition(":")[0], kind, rate, made, wrong, truth.kind == "table")


def observed_sets(
    folder: Path, names: Sequence[str], noise: Sequence[tuple[str, float]], epochs: int, limit: int | None = None
) -> Iterator[Observed]:
    """Every set with every kind of errors, the first kind of errors of all sets first."""
    sets = {name: development(name, limit) for name in names}
    for kind, rate in noise:
        for name, truth in sets.items():
            file = folder / "observed" / f"{name}-{kind}-{rate:g}-{len(truth)}-{epochs}.safetensors"
            yield observed(truth, kind, rate, epochs, file)
