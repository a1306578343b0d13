"""Signals: observations of each example, from training or from a model.

They are arrays by name; the example axis of each holds the same ids in the same order. The axes of each array are those
registered for its signal (`core.registry.signal`), such as `seeds x epochs x examples x classes` for logits, and are
saved with the arrays. `winnow methods` lists the signals. A large file is mapped, not read (`mapped_tensors`).

Losses, probabilities of the label, margins, correctness, EL2N errors and averaged predictions follow from logits: if
they are not held, they are computed from the logits, so that every score works from either. All but the predictions
also follow from dynamics in half precision (`half_dynamics`), as they are stored by default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks, registry
from ..core.errors import InputError, NotDefinedError
from ..core.files import fingerprint
from ..core.invocation import command_words
from ..core.scratch_rows import filled_rows
from ..core.serialiser import Saved
from .canonical_bytes import array_bytes, id_bytes
from .example_ids import positions_of
from .frozen_arrays import all_finite, frozen_copy, frozen_ids, frozen_view, order_of, same_ids, taken_rows
from .half_dynamics import FROM, HALF, decoded
from .label_set_logits import seen_logits
from .label_sets import check_label_rows
from .labelled_logits import DYNAMICS, first_averaged
from .mapped_tensors import MappedTensors
from .notebook_view import Shown
from .provenance import Provenance
from .table import Table
from .task_labels import TASKS, Task

__all__ = ["Signals"]

LOGITS = 1 << 18  # worked on at a time, in float64
ALL = slice(None)


@dataclass(frozen=True, eq=False, repr=False)
class Signals(Shown, Saved, kind="signals", layout=MappedTensors(arrays=("labels",), ids="ids", group="arrays")):
    """Observations of each example.

    Parameters
    ----------
    ids
        Ids of the examples, in the order of every array's example axis.
    arrays
        The observations by name.
    task
        The source's task.
    labels
        The source's labels, in the order of `ids`.
    classes
        Names of the classes.
    epochs
        The epochs (counted from 1) of which `logits`, `losses` and the other dynamics were recorded.
    planned_epochs
        The number of epochs of the whole training, which "after 10 % of training" refers to.
    provenance
        Where these signals came from.
    axes
        The axes of each array; as registered if not given.

    Raises
    ------
    InputError
        If an array does not hold finite numbers for every id.

    Examples
    --------
    >>> import winnow as wn
    >>> sig = wn.embed([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> sig
    Signals(3 examples: embeddings (3, 2))
    >>> wn.Signals.load(sig.save("signals.safetensors")).embeddings.shape
    (3, 2)
    """

    ids: NDArray[Any]
    arrays: Mapping[str, NDArray[Any]]
    task: Task
    labels: NDArray[Any] | None = None
    classes: tuple[str, ...] = ()
    epochs: tuple[int, ...] = ()
    planned_epochs: int = 0
    provenance: Provenance = field(default_factory=dict)
    axes: Mapping[str, tuple[str | int, ...]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", frozen_ids("signals", self.ids))
        checks.choice("task", "signals", self.task, TASKS)
        n = self.ids.size
        if self.task != "unlabelled":
            if self.labels is None:
                raise InputError(f"labels of signals are missing for a {self.task} task.")
            labels = checks.array("labels", "signals", self.labels, rows=n)
            if self.task == "classification" and self.classes:
                low, high = int(labels.min()), int(labels.max())
                if labels.dtype.kind not in "iu" or low < 0 or high >= len(self.classes):
                    raise InputError(
                        f"labels of signals must be class numbers from 0 to {len(self.classes) - 1}; "
                        f"got {labels.dtype} from {low} to {high}."
                    )
            if self.task == "multilabel" and self.classes:
                check_label_rows(labels, len(self.classes), "signals")
            object.__setattr__(self, "labels", frozen_copy(labels))
        if not self.arrays:
            raise InputError("signals must hold at least one array; got none.")
        arrays = {name: frozen_view(_rows(name, values)) for name, values in self.arrays.items()}
        object.__setattr__(self, "arrays", arrays)
        known = self.axes or {}
        axes = {name: known[name] if name in known else registry.layout_of(name).axes for name in arrays}
        object.__setattr__(self, "axes", axes)
        for name, values in arrays.items():
            axis = self.example_axis(name)
            if values.ndim <= axis or values.shape[axis] != n:
                raise InputError(f"{name} of signals must have {n} examples on axis {axis}; got shape {values.shape}.")
            all_finite(name, "signals", values)
            recorded = values.shape[axes[name].index("epochs")] if "epochs" in axes[name] else len(self.epochs)
            if recorded != len(self.epochs):
                raise InputError(f"{name} of signals has {recorded} epochs but epochs names {len(self.epochs)}.")
        for name in ("logits", "predictions", "oof"):
            if name in arrays and self.classes and arrays[name].shape[-1] != len(self.classes):
                raise InputError(
                    f"{name} of signals must have {len(self.classes)} columns, one per class; got shape "
                    f"{arrays[name].shape}."
                )

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        held = ", ".join(f"{name} {values.shape}" for name, values in sorted(self.arrays.items()))
        return f"Signals({len(self)} examples: {held})"

    def __contains__(self, name: object) -> bool:
        return name in self.arrays or self._follows(name)

    def _follows(self, name: object) -> bool:
        """Whether an array follows from the logits, or from the dynamics in half precision."""
        if self._coded(name) is not None:
            return True
        labelled = self.task in ("classification", "multilabel") and name in DYNAMICS
        return "logits" in self.arrays and (labelled or name == "predictions")

    def _coded(self, name: object) -> str | None:
        """The array in half precision from which this one follows."""
        origin = FROM.get(str(name), "")
        return origin if origin in self.arrays else None

    def origin(self, name: str, owner: str = "this step") -> str:
        """The name of the held array that gives this one, such as `logits`; the error says how to observe it."""
        if name in self.arrays:
            return name
        if self._follows(name):
            return self._coded(name) or "logits"
        signal = registry.signal_of(name)
        how = (
            "no registered signal gives it"
            if signal is None
            else f"Get it with wn.observe(..., want=({signal.name!r},))"
        )
        if signal is not None and "unlabelled" in signal.tasks and signal.when != "data":
            how = "Get it with wn.embed(source, model)"
        if signal is not None and command_words() is not None:
            how = f"Record it with winnow observe --want {signal.name}"
        given = {one for one in self.arrays if one not in HALF} | {one for one in FROM if self._coded(one) is not None}
        raise NotDefinedError(f"{owner} needs {name}; these signals hold {', '.join(sorted(given))}. {how}.")

    def array(self, name: str, owner: str = "this step") -> NDArray[Any]:
        """The array of that name, as held or computed from the logits.

        Parameters
        ----------
        name
            Name of an array.
        owner
            Who asks, for the error.

        Returns
        -------
        NDArray
            With the axes of `axes_of`.

        Raises
        ------
        NotDefinedError
            If it is neither held nor follows from logits; the error says how to observe it.
        """
        origin = self.origin(name, owner)
        held = self.arrays[origin]
        if origin == name:
            return held if held.dtype != np.float16 else held.astype(np.float32)
        layout, (seeds, rows, *_) = registry.layout_of(name), held.shape
        if name == "predictions":
            return np.stack([self._predictions(seed) for seed in range(seeds)]).astype(layout.dtype)
        found = np.empty((seeds, rows, len(self)), dtype=layout.dtype)
        for seed in range(seeds):
            for row in range(rows):
                found[seed, row] = self.after_epoch(name, seed, row)
        return found

    def after_epoch(self, name: str, seed: int, row: int, part: slice = ALL) -> NDArray[Any]:
        """One number per example: an array of the dynamics in one seed, after the epoch in that row of `epochs`.

        Computed from logits in float64, if it is not held; so a score that reads one epoch computes one, and one that
        reads some examples (`part`) computes theirs.
        """
        origin = self.origin(name)
        if origin == name:
            found = np.asarray(self.arrays[name][seed, row, part])
            return found if found.dtype != np.float16 else found.astype(np.float32)
        if origin != "logits":
            return decoded(name, self.arrays[origin][seed, row, part])
        logits = self.logits[seed, row, part]
        labels = None if self.labels is None else self.labels[part]
        found, rows = np.empty(len(logits)), max(1, LOGITS // logits.shape[-1])
        for start in range(0, len(logits), rows):
            some = slice(start, start + rows)
            wanted = None if labels is None else labels[some]
            found[some] = seen_logits(self.task, logits[some], wanted).array(name)
        return found.astype(bool) if name == "correct" else found

    def _predictions(self, seed: int) -> NDArray[np.float64]:
        """Mean of the predicted probabilities over the last half of the recorded epochs."""
        rows = range(first_averaged(len(self.epochs)) - 1, len(self.epochs))
        total = np.zeros(self.logits.shape[2:])
        for row in rows:
            total += seen_logits(self.task, self.logits[seed, row], None).predictions
        return total / len(rows)

    def axes_of(self, name: str) -> tuple[str | int, ...]:
        """The axes of an array."""
        known = self.axes or {}
        return tuple(known[name] if name in known else registry.layout_of(name).axes)

    def example_axis(self, name: str) -> int:
        """The axis of an array that runs over examples."""
        return self.axes_of(name).index("examples")

    def stacked(self, name: str) -> bool:
        """Whether the first axis of an array runs over seeds, or over the models of an ensemble."""
        return self.axes_of(name)[0] in registry.STACKED

    @property
    def logits(self) -> NDArray[Any]:
        """Logits: seeds x epochs x n x classes."""
        return self.array("logits")

    @property
    def losses(self) -> NDArray[Any]:
        """Losses: seeds x epochs x n."""
        return self.array("losses")

    @property
    def embeddings(self) -> NDArray[Any]:
        """Embeddings: n x d."""
        return self.array("embeddings")

    @cached_property
    def seeds(self) -> int:
        """The number of observed seeds (or ensemble models); 1 for embeddings alone."""
        counts = [values.shape[0] for name, values in self.arrays.items() if self.stacked(name)]
        return min(counts, default=1)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the content in canonical order."""
        order = order_of(self.ids)
        parts: list[Any] = [id_bytes(self.ids, order), list(self.epochs)]
        for name in sorted(self.arrays):
            parts += [name, array_bytes(self.arrays[name], order, self.example_axis(name))]
        return fingerprint(*parts)

    def take(self, ids: ArrayLike) -> Signals:
        """The signals of these examples, in the order given; themselves if it is their own, so that maps stay maps."""
        if same_ids(self.ids, ids):
            return self
        return self.at(positions_of(self.ids, ids, "signals"))

    def at(self, positions: NDArray[np.int64]) -> Signals:
        """The signals of the examples at these positions."""
        arrays = {name: taken_rows(values, positions, self.example_axis(name)) for name, values in self.arrays.items()}
        labels = None if self.labels is None else self.labels[positions]
        return replace(self, ids=self.ids[positions], arrays=arrays, labels=labels)

    def canonical(self) -> Signals:
        """The same signals sorted by id."""
        order = order_of(self.ids)
        return self if order is None else self.at(order)

    def only_seeds(self, which: Sequence[int]) -> Signals:
        """The same examples with only these seeds (and ensemble models)."""
        index = list(which)
        arrays = {name: values[index] if self.stacked(name) else values for name, values in self.arrays.items()}
        return replace(self, arrays=arrays)

    def merge(self, other: Signals) -> Signals:
        """These signals with the arrays of `other` added; both must have the same ids."""
        if not same_ids(self.ids, other.ids) and set(self.ids.tolist()) != set(other.ids.tolist()):
            raise InputError("signals can be merged only if they have the same ids.")
        lined_up = other.take(self.ids)
        dynamic = self if self.epochs else lined_up
        return replace(
            self,
            arrays={**self.arrays, **lined_up.arrays},
            epochs=dynamic.epochs,
            planned_epochs=dynamic.planned_epochs,
            provenance={"step": "merge", "inputs": [dict(self.provenance), dict(other.provenance)]},
            axes={**(self.axes or {}), **(lined_up.axes or {})},
        )

    @classmethod
    def stack(cls, parts: Sequence[Signals], provenance: Provenance) -> Signals:
        """Combine signals of several seeds, observed on the same ids."""
        first = parts[0]
        lined_up = [first, *(part.take(first.ids) for part in parts[1:])]
        arrays: dict[str, NDArray[Any]] = {}
        axes: dict[str, tuple[str | int, ...]] = {}
        for part in lined_up:  # arrays without seeds come from any part that has them
            arrays |= {name: values for name, values in part.arrays.items() if not part.stacked(name)}
            axes |= part.axes or {}
        for name in first.arrays:
            if first.stacked(name):
                rows = [part.arrays[name] for part in lined_up]
                arrays[name] = rows[0] if len(rows) == 1 else filled_rows(iter(rows), sum(map(len, rows)))
        return replace(first, arrays=arrays, provenance=provenance, axes=axes)

    def _view(self) -> Table:
        held = sorted(self.arrays.items())
        return Table(
            tuple({"array": name, "shape": values.shape, "numbers": str(values.dtype)} for name, values in held)
        )


def _rows(name: str, values: Any) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{name} of signals must be an array; got rows of different lengths.") from None
