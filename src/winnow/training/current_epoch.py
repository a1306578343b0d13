"""The epoch that a Recorder is in: which examples were logged, and what their outputs say.

Outputs are measured as they come, some thousand numbers at a time, and forgotten. Where they are needed again, because
logits are kept or predictions carried over, all of them are held and measured when the epoch ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import registry
from ..core.errors import InputError
from ..core.scratch_rows import filled_rows, let_go, zero_rows
from .epoch_measures import CHUNK, measured
from .known_targets import KnownTargets
from .logged_batch import OWNER
from .mean_predictions import MeanPredictions
from .waiting_outputs import WaitingOutputs

__all__ = ["CurrentEpoch"]


class CurrentEpoch:
    """What is known of each example in the epoch that is being recorded; its number is the Recorder's to say.

    Parameters
    ----------
    names
        Arrays of the dynamics that are measured.
    targets
        Of all examples; those logged are known.
    mean
        Gets the predictions, if they are wanted.
    held
        Whether outputs are held until the epoch ends.
    """

    def __init__(self, names: Iterable[str], targets: KnownTargets, mean: MeanPredictions | None, held: bool) -> None:
        n, classes = targets.n, targets.classes
        self.seen = np.zeros(n, dtype=bool)  # which examples were logged
        self.values = {name: np.zeros(n, registry.layout_of(name).dtype) for name in names}
        # all outputs, if they are held; those not seen yet are of the epoch before
        self.outputs: NDArray[Any] | None = zero_rows((n, classes), np.float32) if held else None
        self._targets, self._mean = targets, mean
        self._waiting = WaitingOutputs(classes)  # not measured yet
        self._infinite: int | None = None  # the first position whose loss is too large

    def add(self, positions: NDArray[np.int64], outputs: NDArray[Any], epoch: int) -> None:
        """Take the outputs of a batch."""
        self.seen[positions] = True
        if self.outputs is not None:
            self.outputs[positions] = outputs
            return
        for where, some in self._waiting.add(positions, outputs):
            self._measure(where, some, epoch)

    def finished(self, epoch: int) -> dict[str, NDArray[Any]]:
        """The arrays of the dynamics, once all that was logged is measured; raise if a loss is too large."""
        self._measure_rest(epoch)
        if self._infinite is not None:
            where, self._infinite = self._infinite, None
            raise InputError(
                f"losses of {OWNER} must be finite; in epoch {epoch} that of position {where} is too large for float32."
            )
        return self.values

    def state_dict(self, epoch: int) -> dict[str, NDArray[Any]]:
        """What was logged so far, as arrays by name; the mean of predictions has it too."""
        if self.outputs is not None:
            return {"seen": self.seen, "now": self.outputs}
        self._measure_rest(epoch)
        measures = {f"now {name}": values for name, values in self.values.items()}
        return {"seen": self.seen, **measures, "infinite": np.array([-1 if self._infinite is None else self._infinite])}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from there; the arrays are taken, not copied."""
        self.seen = state["seen"]
        self._waiting.clear()
        at = -1
        if self.outputs is not None:
            self.outputs = filled_rows([state["now"]], len(self.seen))
        else:
            self.values = {name: state[f"now {name}"] for name in self.values}
            at = int(state["infinite"][0])
        self._infinite = None if at < 0 else at

    def _measure_rest(self, epoch: int) -> None:
        """Measure what is still waiting, or all outputs if they are held."""
        if self.outputs is None:
            for where, some in self._waiting.rest():
                self._measure(where, some, epoch)
            return
        rows = max(1, CHUNK // self._targets.classes)
        for start in range(0, self._targets.n, rows):
            part = slice(start, min(start + rows, self._targets.n))
            self._measure(part, self.outputs[part], epoch)
        let_go(self.outputs)

    def _measure(self, where: NDArray[np.int64] | slice, outputs: NDArray[np.float32], epoch: int) -> None:
        """Compute what is kept of some outputs."""
        targets, predicted = self._targets.values[where], self._mean is not None
        found, predictions = measured(outputs, targets, self.values, self._targets.task, predicted)
        for name, values in found.items():
            self.values[name][where] = values
        fine = np.isfinite(found["losses"])
        if self._infinite is None and not fine.all():
            first = int(np.argmin(fine))
            self._infinite = where.start + first if isinstance(where, slice) else int(where[first])
        if self._mean is not None:
            self._mean.add(where, predictions, epoch)
