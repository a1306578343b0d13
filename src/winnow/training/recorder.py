"""Recorder: record each example's logits and loss after each epoch, in winnow's loop or any other.

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
instead (`eval_pass` does it). Losses are computed once per epoch, all together: cross-entropy as
log sum exp(z - max z) - (z_y - max z) in float64, or, for a regression, the squared error averaged over its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts import Signals, record
from ..core import checks
from ..core.errors import InputError, NotDefinedError

if TYPE_CHECKING:
    import torch

__all__ = ["Recorder", "eval_pass"]

TASKS = ("classification", "regression")
MISSING = ("error", "carry")
CHUNK = 1 << 22  # logits turned into losses at a time, in float64
OWNER = "Recorder"


class Recorder:
    """Records logits, losses and correctness per example and epoch.

    Parameters
    ----------
    n
        Number of examples in the data set.
    classes
        Number of classes, or of outputs of a regression.
    ids
        Ids of the examples by position; if not given, 0 to n - 1.
    task
        `classification` or `regression` (which keeps losses but not predictions).
    planned_epochs
        Total number of epochs of the training; if not given, as many as were recorded.
    missing
        What to do about an example that was not logged in an epoch: `error` raises, `carry` keeps the values of the
        epoch before.

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
        task: Literal["classification", "regression"] = "classification",
        planned_epochs: int | None = None,
        missing: Literal["error", "carry"] = "error",
    ) -> None:
        self.n = checks.integer("n", OWNER, n, low=1)
        self.task = cast(Literal["classification", "regression"], checks.choice("task", OWNER, task, TASKS))
        self.classes = checks.integer("classes", OWNER, classes, low=2 if task == "classification" else 1)
        self.missing = checks.choice("missing", OWNER, missing, MISSING)
        if planned_epochs is not None:
            checks.integer("planned_epochs", OWNER, planned_epochs, low=1)
        self.planned_epochs = planned_epochs
        self.ids = np.arange(self.n) if ids is None else checks.ids(OWNER, ids)
        self._ids_from = "positions" if ids is None else "given"
        if self.ids.size != self.n:
            raise InputError(f"ids of {OWNER} must have {self.n} entries, one per example; got {self.ids.size}.")
        self._outputs: list[NDArray[np.float32]] = []  # one n x classes array per finished epoch
        self._losses: list[NDArray[np.float32]] = []
        self._known = np.zeros(self.n, dtype=bool)  # whose target was seen in any epoch
        self._targets: NDArray[Any] = (
            np.zeros(self.n, dtype=np.int64) if task == "classification" else np.zeros((self.n, self.classes))
        )
        self._seen = np.zeros(self.n, dtype=bool)  # which examples were logged in this epoch
        self._now = np.zeros((self.n, self.classes), dtype=np.float32)

    @property
    def epochs(self) -> int:
        """The number of finished epochs."""
        return len(self._losses)

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the largest logit was the target's: epochs x n."""
        if self.task != "classification":
            raise NotDefinedError("correctness is not defined for a regression; use the losses of signals().")
        rows = [outputs.argmax(1) == self._targets for outputs in self._outputs]
        return np.array(rows, dtype=bool).reshape(self.epochs, self.n)

    def log(
        self, positions: ArrayLike | torch.Tensor, logits: ArrayLike | torch.Tensor, targets: ArrayLike | torch.Tensor
    ) -> None:
        """Log one batch; if an example is logged twice in an epoch, the last values count.

        Parameters
        ----------
        positions
            Positions of the batch's examples in the data set.
        logits
            The network's outputs, one row per example: torch tensors on any device or arrays, any float type.
        targets
            Their class numbers, or the targets of a regression.

        Raises
        ------
        InputError
            If the shapes do not match, a position or target is out of range, or a target has changed.
        DivergedError
            If a logit is not finite.
        """
        where = self._positions(_array(positions))
        with np.errstate(over="ignore"):  # values too large for float32 become infinite and raise an error below
            outputs = self._rows("logits", _array(logits), where.size).astype(np.float32, copy=False)
        if not np.isfinite(outputs).all():
            first = int(np.argmin(np.isfinite(outputs).all(1)))
            raise InputError(
                f"logits of {OWNER}.log must be finite; in epoch {self.epochs + 1} those of position "
                f"{int(where[first])} are NaN or infinite."
            )
        self._keep_targets(where, _array(targets))
        self._now[where] = outputs
        self._seen[where] = True

    def end_epoch(self) -> None:
        """End the epoch: compute its losses and start the next.

        Raises
        ------
        InputError
            If nothing was logged, or an example is missing.
        DivergedError
            If a loss is not finite.
        """
        epoch = self.epochs + 1
        if not self._seen.any():
            raise InputError(f"end_epoch of {OWNER} was called with nothing logged in epoch {epoch}.")
        if not self._seen.all():
            self._fill(epoch)
        losses = self._epoch_losses()
        if not np.isfinite(losses).all():
            raise InputError(
                f"losses of {OWNER} must be finite; in epoch {epoch} that of position "
                f"{int(np.argmin(np.isfinite(losses)))} is too large for float32."
            )
        self._losses.append(losses)
        self._outputs.append(self._now)
        if self.task == "regression" and self.epochs > 1:
            self._outputs[-2] = np.zeros((0, self.classes), dtype=np.float32)  # only `carry` needs the latest ones
        self._now = np.zeros_like(self._now)
        self._seen[:] = False

    def signals(self) -> Signals:
        """Return what was recorded as Signals of one seed; `Signals.stack` joins those of several.

        Returns
        -------
        Signals
            Losses per epoch and, for classification, logits and correctness.

        Raises
        ------
        InputError
            If no epoch is finished, or the last one is not.
        """
        if self._seen.any():
            raise InputError(
                f"signals of {OWNER} need a finished epoch; {int(self._seen.sum())} example(s) were "
                f"logged in epoch {self.epochs + 1} without end_epoch()."
            )
        if not self.epochs:
            raise InputError(f"signals of {OWNER} need at least one finished epoch; call end_epoch() after each.")
        arrays: dict[str, NDArray[Any]] = {"losses": np.stack(self._losses)[None]}
        if self.task == "classification":
            arrays["logits"] = np.stack(self._outputs)[None]
        planned = max(self.planned_epochs or 0, self.epochs)
        settings = {
            "n": self.n,
            "classes": self.classes,
            "task": self.task,
            "epochs": self.epochs,
            "planned_epochs": planned,
            "missing": self.missing,
        }
        names = tuple(map(str, range(self.classes))) if self.task == "classification" else ()
        labels = self._targets[:, 0] if self.task == "regression" and self.classes == 1 else self._targets
        return Signals(
            ids=self.ids,
            arrays=arrays,
            task=self.task,
            labels=labels.copy(),
            classes=names,
            epochs=tuple(range(1, self.epochs + 1)),
            planned_epochs=planned,
            provenance=record("record", settings, {"examples": {"origin": {"ids": self._ids_from}}}),
        )

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return everything recorded so far, including the unfinished epoch, as arrays by name."""
        kept = self._outputs if self.task == "classification" else self._outputs[-1:]
        return {
            "outputs": np.array(kept, dtype=np.float32).reshape(len(kept), self.n, self.classes),
            "losses": np.array(self._losses, dtype=np.float32).reshape(self.epochs, self.n),
            "targets": self._targets.copy(),
            "known": self._known.copy(),
            "now": self._now.copy(),
            "seen": self._seen.copy(),
        }

    def load_state_dict(self, state: Mapping[str, ArrayLike | torch.Tensor]) -> None:
        """Continue from the result of `state_dict`; the recorder must have been made for the same data."""
        own = self.state_dict()
        if not isinstance(state, Mapping) or set(state) != set(own):
            raise InputError(
                f"state of {OWNER} must hold {', '.join(own)}; got "
                f"{', '.join(map(str, state)) if isinstance(state, Mapping) else type(state).__name__}."
            )
        given = {name: _array(value) for name, value in state.items()}
        finished = len(given["losses"])
        kept = finished if self.task == "classification" else min(finished, 1)
        epochs = {"outputs": (kept,), "losses": (finished,)}
        for name, value in own.items():
            shape = (*epochs[name], *value.shape[1:]) if name in epochs else value.shape
            if given[name].shape != shape or given[name].dtype.kind != value.dtype.kind:
                raise InputError(
                    f"state of {OWNER} does not fit: {name} must be {value.dtype} of shape {shape}; got "
                    f"{given[name].dtype} of shape {given[name].shape}."
                )
        self._losses = [np.array(row, dtype=np.float32) for row in given["losses"]]
        gone = np.zeros((0, self.classes), dtype=np.float32)
        self._outputs = [gone] * (finished - kept) + [np.array(row, dtype=np.float32) for row in given["outputs"]]
        self._targets = given["targets"].astype(self._targets.dtype)
        self._known, self._seen = given["known"].astype(bool), given["seen"].astype(bool)
        self._now = given["now"].astype(np.float32)

    def _positions(self, where: NDArray[Any]) -> NDArray[np.int64]:
        if where.ndim != 1 or where.size == 0 or where.dtype.kind not in "iu":
            raise InputError(
                f"positions of {OWNER}.log must be a non-empty vector of whole numbers; got "
                f"{where.dtype} of shape {where.shape}."
            )
        low, high = int(where.min()), int(where.max())
        if low < 0 or high >= self.n:
            raise InputError(
                f"positions of {OWNER}.log must be from 0 to {self.n - 1}; got {low if low < 0 else high}."
            )
        ordered = np.sort(where)
        twice = ordered[1:] == ordered[:-1]
        if twice.any():
            raise InputError(
                f"positions of {OWNER}.log must not repeat within a batch; {int(ordered[1:][twice][0])} does."
            )
        return where.astype(np.int64, copy=False)

    def _rows(self, name: str, values: NDArray[Any], rows: int) -> NDArray[Any]:
        """Check for numbers with one row per position and one column per class or output."""
        if values.ndim == 1 and self.task == "regression" and self.classes == 1:
            values = values[:, None]
        if values.shape != (rows, self.classes) or values.dtype.kind not in "fiu":
            raise InputError(
                f"{name} of {OWNER}.log must be numbers of shape ({rows}, {self.classes}), one row per "
                f"position; got {values.dtype} of shape {values.shape}."
            )
        return values

    def _keep_targets(self, where: NDArray[np.int64], targets: NDArray[Any]) -> None:
        if self.task == "regression":
            targets = checks.finite("targets", f"{OWNER}.log", self._rows("targets", targets, where.size))
        elif targets.shape != where.shape or targets.dtype.kind not in "iu":
            raise InputError(
                f"targets of {OWNER}.log must be {where.size} class number(s), one per position; "
                f"got {targets.dtype} of shape {targets.shape}."
            )
        elif int(targets.min()) < 0 or int(targets.max()) >= self.classes:
            wrong = int(targets.min()) if int(targets.min()) < 0 else int(targets.max())
            raise InputError(f"targets of {OWNER}.log must be class numbers from 0 to {self.classes - 1}; got {wrong}.")
        old = self._targets[where]
        changed = self._known[where] & (old != targets).reshape(where.size, -1).any(1)
        if changed.any():
            first = int(np.argmax(changed))
            raise InputError(
                f"targets of {OWNER}.log must stay the same; that of position {int(where[first])} was "
                f"{old[first]} and is {targets[first]} in epoch {self.epochs + 1}."
            )
        self._targets[where] = targets
        self._known[where] = True

    def _fill(self, epoch: int) -> None:
        gap = ~self._seen
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
        self._now[gap] = self._outputs[-1][gap]

    def _epoch_losses(self) -> NDArray[np.float32]:
        losses = np.empty(self.n, dtype=np.float32)
        rows = max(1, CHUNK // self.classes)
        with np.errstate(over="ignore"):  # a loss too large for float32 raises an error that names the example
            for start in range(0, self.n, rows):
                part = slice(start, start + rows)
                outputs, targets = self._now[part].astype(np.float64), self._targets[part]
                if self.task == "regression":
                    losses[part] = np.square(outputs - targets).mean(1)
                else:
                    outputs -= outputs.max(1, keepdims=True)
                    own = np.take_along_axis(outputs, targets[:, None], 1)[:, 0]
                    losses[part] = np.log(np.exp(outputs).sum(1)) - own
        return losses


def eval_pass(
    recorder: Recorder,
    model: torch.nn.Module,
    dataset: Any,
    *,
    batch: int = 256,
    forward: Callable[[Any], tuple[torch.Tensor, torch.Tensor]],
    collate: Callable[[list[Any]], Any] | None = None,
) -> None:
    """Record one epoch by a pass over a data set in order, in eval mode, without gradients.

    Neither torch's random state nor the mode of any layer is changed, so that a training runs the same with this pass
    and without it.

    Parameters
    ----------
    recorder
        Where to record; its epoch is ended.
    model
        The network that `forward` uses.
    dataset
        A map-style data set; its order gives the positions. It should not augment.
    batch
        Examples per forward pass; the result does not depend on it.
    forward
        Maps a batch to logits and targets.
    collate
        Maps a list of examples to a batch; if not given, torch's own function.
    """
    import torch
    from torch.utils.data import DataLoader

    from ..models.features import eval_mode

    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise InputError(f"dataset of eval_pass must have a length and be indexable; got a {type(dataset).__name__}.")
    if len(dataset) != recorder.n:
        raise InputError(
            f"n of {OWNER} must be the length of the data set it records, {len(dataset)}; got {recorder.n}."
        )
    loader = DataLoader(dataset, batch_size=batch, shuffle=False, collate_fn=collate)
    start = 0
    with eval_mode(model), torch.random.fork_rng(devices=[]), torch.no_grad():
        for each in loader:
            logits, targets = forward(each)
            recorder.log(np.arange(start, min(start + batch, recorder.n)), logits, targets)
            start += batch
    recorder.end_epoch()


def _array(values: Any) -> NDArray[Any]:
    """Convert a tensor or anything array-like to numpy, float16 and bfloat16 as float32."""
    if hasattr(values, "detach"):
        values = values.detach()
        if values.is_floating_point():
            values = values.float() if values.element_size() < 8 else values.double()
        return np.asarray(values.cpu().numpy())
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{OWNER} takes tensors and arrays; got a ragged {type(values).__name__}.") from None
