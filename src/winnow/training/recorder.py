"""Recorder: record what a network does with each example in each epoch, in winnow's loop or any other.

    rec = wn.Recorder(len(dataset), classes=10)
    for epoch in range(epochs):
        for positions, x, y in loader:          # positions: where each example is in the data set
            logits = model(x)
            ...
            rec.log(positions, logits, y)
        rec.end_epoch()
    signals = rec.signals()

Logging inside the loop costs almost nothing, but these are outputs in train mode, each example at a different moment of
the epoch. Scores are defined on eval mode without augmentation; for those, log a pass over the data after the epoch
instead (`eval_pass` does it).

Everything is computed some thousand logits at a time (`artefacts.labelled_logits`): cross-entropy, or for a regression
the squared error averaged over its outputs. Logits take examples x epochs x classes numbers; `dynamics` (loss,
probability of the label, margin, right or wrong, EL2N) takes examples x epochs, `predictions` examples x classes. For
several labels per example these are as `artefacts.label_set_logits` says. Unless logits are kept, no epoch's outputs
are ever held, and with `directory` finished epochs are on disk: a million examples of 100 classes take little memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts import Signals, record
from ..artefacts.half_dynamics import FROM, HALF, coded, decoded
from ..artefacts.label_set_logits import seen_logits
from ..artefacts.labelled_logits import AVERAGED, DYNAMICS
from ..core import checks, registry
from ..core.errors import InputError, NotDefinedError
from ..core.scratch_rows import let_go
from .current_epoch import CurrentEpoch
from .epoch_rows import EpochRows
from .eval_pass import eval_pass
from .known_targets import KnownTargets
from .logged_batch import OWNER, as_array, named_classes, number_rows, positions_within
from .mean_predictions import MeanPredictions
from .recorder_state import fitting_state

if TYPE_CHECKING:
    import torch

__all__ = ["KEEP", "Recorder", "eval_pass"]

TASKS = ("classification", "multilabel", "regression")
MISSING = ("error", "carry")
KEEP = ("logits", "dynamics", "predictions")
PRECISIONS = ("single", "half")


class Recorder:
    """Records logits or training dynamics per example and epoch.

    Parameters
    ----------
    n
        Number of examples in the data set.
    classes
        Number of classes, of labels, or of outputs of a regression.
    ids
        Ids of the examples by position; if not given, 0 to n - 1.
    class_names
        Names of the classes, in the order of the class numbers that are logged; if not given, the numbers. `wn.prune`
        needs those of its source.
    task
        `classification`, `multilabel` (several labels per example) or `regression` (which keeps losses, and predictions
        on request, but no outputs per epoch).
    planned_epochs
        Total number of epochs of the training; if not given, as many as were recorded.
    missing
        What to do about an example that was not logged in an epoch: `error` raises, `carry` keeps the values of the
        epoch before.
    keep
        What to keep, beside losses: any of `logits`, `dynamics` (probability of the label, margin, right or wrong,
        EL2N) and `predictions` (their mean over the last epochs). Dynamics and predictions follow from logits, so both
        are needed only without them, to save memory.
    averaged
        Share of the epochs, counted from the last planned one, over which predictions are averaged. If
        `planned_epochs` is not given, epoch t weighs t (t + 1) instead, whose centre is that of the last half.
    directory
        Where finished epochs of the dynamics and logits are kept, in files that vanish with what is read from them; if
        not given, in memory.
    precision
        Of the dynamics: `half` takes 6 bytes per example and epoch, `single` 17; ranks of scores hardly change
        (`artefacts.half_dynamics`). `half` is for one class per example, with `dynamics` in `keep`; if not given, it is
        taken there unless logits are kept too.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> rec = Recorder(2, classes=2)
    >>> for _ in range(3):
    ...     rec.log([0, 1], [[1.0, 0.0], [1.0, 0.0]], [0, 1])
    ...     rec.end_epoch()
    >>> rec.epochs, rec.correct[-1].tolist()
    (3, [True, False])
    >>> rec.signals().ids.tolist()
    [0, 1]
    """

    def __init__(
        self,
        n: int,
        classes: int,
        *,
        ids: ArrayLike | None = None,
        class_names: Sequence[str] | None = None,
        task: Literal["classification", "multilabel", "regression"] = "classification",
        planned_epochs: int | None = None,
        missing: Literal["error", "carry"] = "error",
        keep: str | Iterable[str] = ("logits",),
        averaged: float = AVERAGED,
        directory: str | Path | None = None,
        precision: Literal["single", "half"] | None = None,
    ) -> None:
        self.n = checks.integer("n", OWNER, n, low=1)
        self.task = cast(
            Literal["classification", "multilabel", "regression"], checks.choice("task", OWNER, task, TASKS)
        )
        self.classes = checks.integer("classes", OWNER, classes, low=2 if task == "classification" else 1)
        self.class_names = named_classes(class_names, self.classes, self.task)
        self.missing = checks.choice("missing", OWNER, missing, MISSING)
        if planned_epochs is not None:
            checks.integer("planned_epochs", OWNER, planned_epochs, low=1)
        self.planned_epochs = planned_epochs
        self.averaged = checks.fraction("averaged", OWNER, averaged)
        words = (keep,) if isinstance(keep, str) else tuple(keep)
        self.keep = tuple(dict.fromkeys(checks.choice("keep", OWNER, word, KEEP) for word in words))
        self.ids = np.arange(self.n) if ids is None else checks.ids(OWNER, ids)
        self._ids_from = "positions" if ids is None else "given"
        if self.ids.size != self.n:
            raise InputError(f"ids of {OWNER} must have {self.n} entries, one per example; got {self.ids.size}.")
        classified = task != "regression"
        kept = DYNAMICS if classified and "dynamics" in self.keep else ("losses",)
        self._directory = None if directory is None else Path(directory)
        fits = task == "classification" and "dynamics" in self.keep
        if precision is None:
            precision = "half" if fits and "logits" not in self.keep else "single"
        self._half = checks.choice("precision", OWNER, precision, PRECISIONS) == "half"
        if self._half and not fits:
            raise InputError(
                f"precision of {OWNER} can be 'half' for dynamics of one class per example; got task {task!r} and keep "
                f"{', '.join(self.keep)}."
            )
        self._dynamics = {name: self._epochs_of(name) for name in (HALF if self._half else kept)}
        self._logits = self._epochs_of("logits") if classified and "logits" in self.keep else None
        predicted = "predictions" in self.keep
        self._mean = MeanPredictions(self.n, self.classes, planned_epochs, self.averaged) if predicted else None
        self._targets = KnownTargets(self.n, self.classes, self.task)
        held = self._logits is not None or (predicted and self.missing == "carry")
        self._now = CurrentEpoch(kept, self._targets, self._mean, held)

    @property
    def epochs(self) -> int:
        """The number of finished epochs."""
        return len(next(iter(self._dynamics.values())))

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the largest logit was the target's, or every label was right: epochs x n."""
        if self.task == "regression":
            raise NotDefinedError("correctness is not defined for a regression; use the losses of signals().")
        if self._half:
            return decoded("correct", self._dynamics[FROM["correct"]].stacked())
        if "correct" in self._dynamics:
            return self._dynamics["correct"].stacked().astype(bool)
        if self._logits is not None:
            targets = self._targets.values
            rows = [seen_logits(self.task, logits, targets).correct for logits in self._outputs(self._logits)]
        else:
            raise NotDefinedError(f"correctness needs keep='dynamics' or 'logits' of {OWNER}; got {self.keep}.")
        return np.array(rows, dtype=bool).reshape(self.epochs, self.n)

    def log(
        self, positions: ArrayLike | torch.Tensor, logits: ArrayLike | torch.Tensor, targets: ArrayLike | torch.Tensor
    ) -> None:
        """Log one batch; if an example is logged twice in an epoch, the last values count (predictions: all of them).

        Parameters
        ----------
        positions
            Positions of the batch's examples in the data set.
        logits
            The network's outputs, one row per example: torch tensors on any device or arrays, any float type.
        targets
            Their class numbers, rows of 0 and 1 for several labels, or the targets of a regression.

        Raises
        ------
        InputError
            If the shapes do not match, a position or target is out of range, or a target has changed.
        DivergedError
            If a logit is not finite.
        """
        where = positions_within(as_array(positions), self.n)
        with np.errstate(over="ignore"):  # values too large for float32 become infinite and raise an error below
            outputs = number_rows("logits", as_array(logits), where.size, self.classes).astype(np.float32, copy=False)
        if not np.isfinite(outputs).all():
            first = int(np.argmin(np.isfinite(outputs).all(1)))
            raise InputError(
                f"logits of {OWNER}.log must be finite; in epoch {self.epochs + 1} those of position "
                f"{int(where[first])} are NaN or infinite."
            )
        self._targets.keep(where, as_array(targets), self.epochs + 1)
        self._now.add(where, outputs, self.epochs + 1)

    def expect(self, targets: NDArray[Any]) -> None:
        """Set the targets of all examples, in the order of positions; then `log_outputs` needs none."""
        self._targets.keep(np.arange(self.n), targets, self.epochs + 1)

    def log_outputs(self, positions: NDArray[np.int64], outputs: torch.Tensor) -> None:
        """Log a batch of winnow's own loop, which is known to fit, without the checks of `log`; after `expect`."""
        self._now.add(positions, as_array(outputs), self.epochs + 1)

    def end_epoch(self) -> None:
        """End the epoch: compute its losses and all that is kept, and start the next.

        Raises
        ------
        InputError
            If nothing was logged, or an example is missing.
        DivergedError
            If a loss is not finite.
        """
        epoch, now = self.epochs + 1, self._now
        if not now.seen.any():
            raise InputError(f"end_epoch of {OWNER} was called with nothing logged in epoch {epoch}.")
        if not now.seen.all():
            self._check_gap(epoch)
        measures = now.finished(epoch)
        gap = ~now.seen
        for name, values in (coded(measures) if self._half else measures).items():
            if now.outputs is None and gap.any():
                values[gap] = self._dynamics[name].last()[gap]
            self._dynamics[name].append(values)
        if self._logits is not None and now.outputs is not None:
            self._logits.append(now.outputs.reshape(-1))
            let_go(now.outputs)
        now.seen[:] = False

    def signals(self) -> Signals:
        """Return what was recorded as Signals of one seed; `Signals.stack` joins those of several.

        Returns
        -------
        Signals
            Losses per epoch, and what `keep` names.

        Raises
        ------
        InputError
            If no epoch is finished, or the last one is not.
        """
        if self._now.seen.any():
            raise InputError(
                f"signals of {OWNER} need a finished epoch; {int(self._now.seen.sum())} example(s) were "
                f"logged in epoch {self.epochs + 1} without end_epoch()."
            )
        if not self.epochs:
            raise InputError(f"signals of {OWNER} need at least one finished epoch; call end_epoch() after each.")
        arrays: dict[str, NDArray[Any]] = {name: rows.stacked()[None] for name, rows in self._dynamics.items()}
        if self._logits is not None:
            arrays["logits"] = self._outputs(self._logits)[None]
        if self._mean is not None:
            arrays["predictions"] = self._mean.given()[None]
        planned = max(self.planned_epochs or 0, self.epochs)
        settings = {
            "n": self.n,
            "classes": self.classes,
            "task": self.task,
            "epochs": self.epochs,
            "planned_epochs": planned,
            "missing": self.missing,
            "keep": list(self.keep),
            "averaged": self.averaged,
            **({"precision": "half"} if self._half else {}),
        }
        return Signals(
            ids=self.ids,
            arrays=arrays,
            task=self.task,
            labels=self._targets.labels(),
            classes=self.class_names,
            epochs=tuple(range(1, self.epochs + 1)),
            planned_epochs=planned,
            provenance=record("record", settings, {"examples": {"origin": {"ids": self._ids_from}}}),
        )

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return everything recorded so far, including the unfinished epoch, as arrays by name."""
        now = self._now.state_dict(self.epochs + 1)  # first: the mean gets what was still to be measured
        state: dict[str, NDArray[Any]] = {}
        if self._logits is not None:
            state["outputs"] = np.array(self._outputs(self._logits))
        for name, rows in self._dynamics.items():
            state[name] = np.array(rows.stacked())
        if self._mean is not None:
            state["predictions"] = self._mean.table.copy()
        now = {"targets": self._targets.values, "known": self._targets.known, **now}
        return state | {name: values.copy() for name, values in now.items()}

    def load_state_dict(self, state: Mapping[str, ArrayLike | torch.Tensor]) -> None:
        """Continue from the result of `state_dict`; the recorder must have been made for the same data."""
        taken = fitting_state(state, self.state_dict(), (*self._dynamics, "outputs"))
        for name in self._dynamics:
            self._dynamics[name] = self._epochs_of(name)
            for row in taken[name]:
                self._dynamics[name].append(row)
        self._targets.values, self._targets.known = taken["targets"], taken["known"]
        if self._mean is not None:
            self._mean.load(taken["predictions"])
        self._now.load_state_dict(taken)
        if self._logits is not None and self._now.outputs is not None:
            self._logits = self._epochs_of("logits")
            for outputs in taken["outputs"]:
                self._logits.append(outputs.reshape(-1))
            if self.epochs:  # older states held zeros there
                unseen = ~self._now.seen
                self._now.outputs[unseen] = taken["outputs"][-1][unseen]

    def _epochs_of(self, name: str) -> EpochRows:
        numbers = self.n * self.classes if name == "logits" else self.n
        return EpochRows(numbers, registry.layout_of(name).dtype, self._directory)

    def _outputs(self, rows: EpochRows) -> NDArray[Any]:
        """The outputs of all epochs: epochs x n x classes."""
        return rows.stacked().reshape(-1, self.n, self.classes)

    def _check_gap(self, epoch: int) -> None:
        """Raise if examples that were not logged have no values to carry over."""
        gap = ~self._now.seen
        what = (
            f"{int(gap.sum())} of {self.n} examples were not logged in epoch {epoch}, the first at position "
            f"{int(np.argmax(gap))}"
        )
        if self.missing == "error":
            raise InputError(
                f"end_epoch of {OWNER} needs every example; {what} (missing='carry' keeps the values "
                "of the epoch before)."
            )
        if not self.epochs:
            raise InputError(f"end_epoch of {OWNER} has no epoch before to carry values from; {what}.")
