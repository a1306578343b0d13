"""Out-of-fold predictions: what networks say of examples that they were not trained on.

The examples are split into folds. One network per fold is trained on all others; during its training it records the
dynamics of the examples it is trained on, and after each epoch of the last half it predicts those of its own fold. So
each example is predicted by one network that never saw its label, and watched in `folds - 1` that did. One set of
trainings gives both, and either says something about labels that the other does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts.label_set_logits import seen_logits
from ..artefacts.labelled_logits import first_averaged
from ..core import registry
from ..core.scratch_rows import let_go, scratch_rows
from ..training import Feed
from ..training.loop import predicted
from .dynamics import DYNAMICS, PREDICTIONS, TRAINED, Dynamics, made_up

if TYPE_CHECKING:
    from .observation import Look

__all__ = ["OutOfFold", "oof", "outside_only"]

OOF: dict[str, tuple[str | int, ...] | registry.ArrayLayout] = {
    "oof": ("seeds", "examples", "classes"),
    **DYNAMICS,
    **PREDICTIONS,
}


def _pretended(
    sizes: Mapping[str, int], labels: NDArray[np.int64], hardness: NDArray[np.float64], rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    made = made_up(sizes, labels, hardness, rng)
    return {**made, "oof": made.get("predictions", rng.random((sizes["seeds"], sizes["examples"], 1)))}


@registry.signal(arrays=OOF, when="fold", tasks=TRAINED, cost=registry.Cost("look"), make_up=_pretended)
def oof(look: Look) -> OutOfFold:
    """Prediction for each example by a network that was not trained on it; with the dynamics of those that were."""
    return OutOfFold(look)


class OutOfFold:
    """Records a training on all folds but one: dynamics inside, predictions outside.

    Arrays run over all examples. Those of the dynamics are zero outside, and `oof` is zero inside; the trainings
    of all folds are added.
    """

    def __init__(self, look: Look) -> None:
        assert look.outside is not None
        assert look.member is not None
        self._inside = Dynamics(look, "dynamics", tuple(DYNAMICS))
        self._averages = Dynamics(look, "predictions", tuple(PREDICTIONS))
        self._outside, self._member, self._what = look.outside, look.member.astype(bool), look.what
        self._first = first_averaged(look.what.recipe.epochs)
        self._total = np.zeros((len(look.outside), look.feed.source.outputs))

    @property
    def epochs(self) -> tuple[int, ...]:
        """After which epochs dynamics were recorded."""
        return self._inside.epochs

    @property
    def after_batch(self) -> Callable[[NDArray[np.int64], torch.Tensor], None] | None:
        """Logs a batch of training."""
        return self._inside.after_batch

    def after_epoch(self, epoch: int, model: torch.nn.Module) -> None:
        """Record the examples inside, and from half of the training on predict those outside."""
        self._inside.after_epoch(epoch, model)
        if epoch >= self._first:
            task = self._outside.source.task
            for where, output in predicted(model, self._outside, self._what.recipe):
                self._total[where] += output if task == "regression" else seen_logits(task, output, None).predictions

    def state_dict(self) -> Mapping[str, NDArray[Any]]:
        """Return what was recorded so far, for a checkpoint."""
        return {"total outside": self._total.copy(), **self._inside.state_dict()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from there."""
        self._total = np.array(state["total outside"])
        self._inside.load_state_dict({name: value for name, value in state.items() if name != "total outside"})

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return what was recorded, over all examples."""
        mean = self._total / (self._what.recipe.epochs - self._first + 1)
        found = {"oof": _placed(_in_units(mean, self._outside), ~self._member, 0)}
        for name, values in {**self._inside.arrays(), **self._averages.arrays()}.items():
            found[name] = _placed(values, self._member, values.ndim - 2 if name == "predictions" else -1)
        return found


def outside_only(outputs: NDArray[np.floating], outside: Feed, member: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """The array `oof` of an estimator, which has no dynamics: its outputs on the fold, as logits for classes."""
    task = outside.source.task
    values = outputs if task == "regression" else seen_logits(task, outputs, None).predictions
    return {"oof": _placed(_in_units(values, outside), ~member.astype(bool), 0)}


def _in_units(values: NDArray[np.floating], feed: Feed) -> NDArray[np.floating]:
    """Predictions in the units of the label."""
    if feed.source.task != "regression":
        return values
    return np.asarray(values * feed.scaling.target_std.numpy() + feed.scaling.target_mean.numpy())


def _placed(values: NDArray[Any], where: NDArray[np.bool_], axis: int) -> NDArray[Any]:
    """Spread an array over all examples: zero at those that it has nothing about."""
    shape = (*values.shape[: axis % values.ndim], where.size, *values.shape[axis % values.ndim + 1 :])
    found = scratch_rows(shape, registry.layout_of("oof").dtype if values.dtype.kind == "f" else values.dtype)
    found.fill(0)
    index: list[Any] = [slice(None)] * values.ndim
    index[axis] = where
    found[tuple(index)] = values
    let_go(found)
    return found
