"""Training dynamics: what a network makes of each example in every epoch of a training.

`dynamics` and `predictions` come from the outputs that training computes anyway, at no cost. `logits` and `losses` come
from a pass in eval mode after each epoch. `mode` of observe says otherwise. Signals wanted together share one Recorder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts.half_dynamics import HALF
from ..artefacts.label_set_logits import seen_logits
from ..artefacts.labelled_logits import first_averaged
from ..core import registry
from ..core.errors import DivergedError
from ..training.recorder import Recorder
from ..training.staged_estimators import outputs_of
from .observation import Look, Observation

__all__ = ["Dynamics", "dynamics", "logits", "losses", "made_up", "predictions"]

PER_EPOCH: tuple[str | int, ...] = ("seeds", "epochs", "examples")
LOSSES: dict[str, tuple[str | int, ...]] = {"losses": PER_EPOCH}
LABELLED = ("classification", "multilabel")  # one class per example, or several labels
TRAINED = (*LABELLED, "regression")
LOGITS: dict[str, tuple[str | int, ...] | registry.ArrayLayout] = {
    "logits": registry.ArrayLayout((*PER_EPOCH, "classes"), tasks=LABELLED),
    **LOSSES,
}
PREDICTIONS: dict[str, tuple[str | int, ...]] = {"predictions": ("seeds", "examples", "classes")}
DYNAMICS: dict[str, tuple[str | int, ...] | registry.ArrayLayout] = {
    **LOSSES,
    "probabilities": registry.ArrayLayout(PER_EPOCH, tasks=LABELLED),
    "margins": registry.ArrayLayout(PER_EPOCH, tasks=LABELLED),
    "correct": registry.ArrayLayout(PER_EPOCH, "uint8", LABELLED),
    "errors": registry.ArrayLayout(PER_EPOCH, tasks=LABELLED),
}
# float16 of these would tie most of the easy examples, whose probabilities round to 1; log-odds do not
PACKED = {name: registry.ArrayLayout(PER_EPOCH, "float16", ("classification",)) for name in HALF}
FREE = registry.Cost("once")
BUDGET = 1 << 29  # bytes of dynamics and logits that are held in memory while a network trains


def made_up(
    sizes: Mapping[str, int], labels: NDArray[np.int64], hardness: NDArray[np.float64], rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Make up a training in which hard examples are learned late; regression has losses alone.

    Labels are class numbers, or rows of 0 and 1.
    """
    seeds, epochs, n, classes = (sizes[axis] for axis in ("seeds", "epochs", "examples", "classes"))
    if classes < 2:
        return {"losses": rng.random((seeds, epochs, n)) + hardness}
    made = {name: np.empty((seeds, epochs, n)) for name in DYNAMICS}
    made["predictions"] = np.zeros((seeds, n, classes))
    first = first_averaged(epochs)
    for seed in range(seeds):
        for row in range(epochs):
            outputs = rng.normal(size=(n, classes))
            learned = 4 * (row + 1) / epochs - 3 * hardness
            if labels.ndim == 2:
                outputs += np.where(labels != 0, 1, -1) * learned[:, None]
            else:
                outputs[np.arange(n), labels] += learned
            seen = seen_logits("multilabel" if labels.ndim == 2 else "classification", outputs, labels)
            for name in DYNAMICS:
                made[name][seed, row] = seen.array(name)
            if row + 1 >= first:
                made["predictions"][seed] += seen.predictions / (epochs - first + 1)
    return made


@registry.signal(arrays=DYNAMICS, packed=PACKED, when="training", tasks=TRAINED, cost=FREE, make_up=made_up)
def dynamics(look: Look) -> Dynamics:
    """Loss, probability of the label, margin, correctness and EL2N of each example in each epoch of training."""
    return Dynamics(look, "dynamics", (*DYNAMICS, *PACKED))


@registry.signal(arrays=PREDICTIONS, when="training", tasks=TRAINED, cost=FREE, make_up=made_up)
def predictions(look: Look) -> Dynamics:
    """Mean prediction for each example over the last half of the epochs of training, in the units of the label."""
    return Dynamics(look, "predictions", tuple(PREDICTIONS))


@registry.signal(arrays=LOGITS, when="training", tasks=LABELLED)
def logits(look: Look) -> Dynamics:
    """Outputs of the network after each epoch, and the losses that follow from them."""
    return Dynamics(look, "logits", tuple(LOGITS))


@registry.signal(arrays=LOGITS, when="training", tasks=TRAINED)
def losses(look: Look) -> Dynamics:
    """Loss of each example after each epoch; the logits come with it where there are classes."""
    return Dynamics(look, "logits", tuple(LOGITS))


class Dynamics:
    """Records the outputs that training computes anyway, or those in eval mode after each epoch.

    The first of several that share a `Look` records for all of them.
    """

    epochs: tuple[int, ...] = ()

    def __init__(self, look: Look, keep: str, names: tuple[str, ...]) -> None:
        self._feed, self._names = look.feed, names
        self._what: Observation = look.what
        self._averaged, self._packed = look.averaged, look.packed
        self._shared: dict[str, Any] = look.shared
        self._first = "keep" not in self._shared
        self._shared.setdefault("keep", []).append(keep)

    @property
    def after_batch(self) -> Callable[[NDArray[np.int64], torch.Tensor], None] | None:
        """Logs a batch of training; None if nothing is to be logged there."""
        # A bound method kept in the object would hold it, and with it all examples, until the garbage is collected.
        return self._log if self._what.mode == "train" and self._first else None

    @property
    def _recorder(self) -> Recorder:
        """The recorder of this training, made when it is first used: then all signals have said what to keep."""
        if "recorder" not in self._shared:
            source = self._feed.source
            made = self._shared["recorder"] = Recorder(
                len(self._feed),
                source.outputs,
                ids=self._feed.ids,
                task="classification" if source.task == "unlabelled" else source.task,
                planned_epochs=self._what.recipe.epochs,
                keep=self._shared["keep"],
                averaged=self._averaged,
                precision=None if self._packed else "single",
                directory=tempfile.gettempdir() if self._large() else None,
            )
            if self._feed.targets is not None:
                made.expect(self._feed.targets.numpy())
        found: Recorder = self._shared["recorder"]
        return found

    def _large(self) -> bool:
        """Whether what is recorded in all epochs is kept on disk until it is saved."""
        epochs, examples, outputs = self._what.recipe.epochs, len(self._feed), self._feed.source.outputs
        sizes = {"seeds": 1, "epochs": epochs, "examples": examples, "classes": outputs}
        kept = (*DYNAMICS, "logits") if "logits" in self._shared["keep"] else DYNAMICS
        return sum(registry.layout_of(name).bytes(sizes) for name in kept) > BUDGET

    def _log(self, positions: NDArray[np.int64], output: torch.Tensor) -> None:
        self._recorder.log_outputs(positions, output)

    def after_epoch(self, epoch: int, model: torch.nn.Module) -> None:
        """Record all examples, if training has not recorded them already."""
        if not self._first:
            return
        if self._what.mode == "eval":
            for where, output in outputs_of(model, self._feed, self._what.recipe):
                if not np.isfinite(output).all():
                    raise DivergedError(
                        f"training diverged in epoch {epoch}: outputs are not finite; lower lr of Recipe."
                    )
                self._log(where, torch.from_numpy(output))
        self._recorder.end_epoch()

    def state_dict(self) -> Mapping[str, NDArray[Any]]:
        """Return what was recorded so far, for a checkpoint."""
        return self._recorder.state_dict() if self._first else {}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from there."""
        if self._first:
            self._recorder.load_state_dict(state)

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return what was recorded, without the axis `seeds`."""
        seen = self._recorder.signals()
        self.epochs = seen.epochs
        found = {name: seen.arrays[name][0] for name in self._names if name in seen.arrays}
        if "predictions" in found and self._feed.source.task == "regression":
            scaling = self._feed.scaling
            found["predictions"] = found["predictions"] * scaling.target_std.numpy() + scaling.target_mean.numpy()
        return found
