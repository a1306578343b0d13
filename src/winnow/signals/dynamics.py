"""Logits and losses: the outputs of a network for each example after every epoch, recorded during training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..core import registry
from ..core.errors import DivergedError
from ..training import predict
from ..training.recorder import Recorder
from .observation import Look, Observation

__all__ = ["Dynamics", "logits", "losses"]

ARRAYS: dict[str, tuple[str | int, ...]] = {
    "logits": ("seeds", "epochs", "examples", "classes"),
    "losses": ("seeds", "epochs", "examples"),
}


@registry.signal(arrays=ARRAYS, when="training", tasks=("classification",))
def logits(look: Look) -> Dynamics:
    """Outputs of the network after each epoch, and the losses that follow from them."""
    return Dynamics(look)


@registry.signal(arrays=ARRAYS, when="training")
def losses(look: Look) -> Dynamics:
    """Loss of each example after each epoch; the logits come with it where there are classes."""
    return Dynamics(look)


class Dynamics:
    """Records outputs in eval mode after each epoch, or keeps what training computes anyway."""

    epochs: tuple[int, ...] = ()
    after_batch: Callable[[NDArray[np.int64], torch.Tensor], None] | None = None

    def __init__(self, look: Look) -> None:
        source, self._feed = look.feed.source, look.feed
        self._what: Observation = look.what
        self._targets = np.zeros(0) if look.feed.targets is None else look.feed.targets.numpy()
        self._recorder = Recorder(
            len(look.feed),
            source.outputs,
            ids=look.feed.ids,
            task="regression" if source.task == "regression" else "classification",
            planned_epochs=look.what.recipe.epochs,
        )
        if look.what.mode == "train":
            self.after_batch = self._log

    def _log(self, positions: NDArray[np.int64], output: torch.Tensor | NDArray[np.float32]) -> None:
        self._recorder.log(positions, output, self._targets[positions])

    def after_epoch(self, epoch: int, model: torch.nn.Module) -> None:
        """Record all examples, if training has not recorded them already."""
        if self._what.mode == "eval":
            output = predict(model, self._feed, self._what.recipe)
            if not np.isfinite(output).all():
                raise DivergedError(f"training diverged in epoch {epoch}: outputs are not finite; lower lr of Recipe.")
            self._log(np.arange(len(self._feed)), output)
        self._recorder.end_epoch()

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return what was recorded, without the axis `seeds`."""
        seen = self._recorder.signals()
        self.epochs = seen.epochs
        return {name: values[0] for name, values in seen.arrays.items()}
