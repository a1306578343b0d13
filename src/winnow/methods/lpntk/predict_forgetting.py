"""Predict forgetting: which examples are right before an update and wrong after it (Guo et al. 2024, D.4).

A step of plain SGD with rate eta on a batch B moves the logits of any example, to first order, by

    dz(x) = eta / |B| sum over b in B of grad z(x) grad z(b)^T d(b),      d(b) = onehot(y_b) - softmax(z(b))

and an example is predicted to be forgotten if it is right by z and wrong by z + dz: Algorithm 2. Early in training the
paper replaces d by s~(y) = onehot(y) - 1 / K, which is the error of a network that does not prefer any class yet.

The sum over b needs no kernel of pairs: it is one vector of the length of the parameters, the step itself, and
grad z(x) times that vector takes two backward passes for a whole block of examples. Nothing of size n x parameters
is held, and every layer that torch can differentiate twice is covered. A scalar kernel cannot say which class
overtakes; the full dz can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from ...core import checks
from ...core.errors import InputError
from ...core.progress import track
from .kernel_inputs import Signs, checked
from .kernel_panels import BATCH

__all__ = ["DIRECTIONS", "Forgetting", "ForgettingReport", "forgetting_report", "predict_forgetting"]

DIRECTIONS = {"error": "error", "s_tilde": "forgetting"}  # and the kind of kernel with the same signs
Tensor = torch.Tensor
Flags = NDArray[np.bool_]
Step = list[Tensor]


@dataclass(frozen=True, eq=False)
class Forgetting:
    """What was predicted and what happened, updates x examples.

    A margin is the logit of the label minus the largest other logit.

    Attributes
    ----------
    right
        Whether the example was right before the update.
    predicted, happened
        Whether it was right before and is wrong after: according to the prediction, and actually.
    margin, expected, measured
        The margin before, the predicted margin after, and the actual margin after.
    """

    right: Flags
    predicted: Flags
    happened: Flags
    margin: NDArray[np.float64]
    expected: NDArray[np.float64]
    measured: NDArray[np.float64]

    def report(self) -> ForgettingReport:
        """Precision, recall and F1 among the examples that were right before."""
        return forgetting_report(self.predicted, self.happened, among=self.right)


@dataclass(frozen=True)
class ForgettingReport:
    """How well forgetting was predicted; a ratio with zero denominator is NaN.

    Attributes
    ----------
    looked_at
        The number of (example, update) pairs that were judged.
    predicted, happened, hits
        How many of them were predicted, how many happened, and how many both.
    precision, recall, f1
        hits / predicted, hits / happened, and 2 hits / (predicted + happened).
    guessing
        The F1 of predicting that everything is forgotten, the best that an uninformed guess can do.
    """

    looked_at: int
    predicted: int
    happened: int
    hits: int
    precision: float
    recall: float
    f1: float
    guessing: float


def predict_forgetting(
    model: nn.Module,
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    batches: ArrayLike | Sequence[ArrayLike],
    lr: float,
    *,
    direction: str = "error",
    dtype: str = "float32",
) -> Forgetting:
    """Predict which examples are forgotten by updates of the network, and check whether they are.

    The updates are applied one after the other to a copy of the network: plain SGD on the mean cross-entropy of the
    batch, in eval mode, over all parameters. The effect on every example is predicted before each update.

    Parameters
    ----------
    model
        The network. Its mode and weights are unchanged afterwards.
    x, y
        At least two examples as the network takes them, and their class labels.
    batches
        The positions of the examples of one update, or a list of such batches, in the order of the updates.
    lr
        The learning rate; the prediction is first order in it.
    direction
        "error" predicts with the true error of each example in the batch, "s_tilde" with the label alone. The updates
        themselves are the same.
    dtype
        Precision of the computation: "float32" or "float64".

    Returns
    -------
    Forgetting
        Per update and example: what was predicted, what happened, and the margins.

    Raises
    ------
    InputError
        If the network does not give one logit per class, or an argument is out of range.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(1, 2, bias=False)
    >>> _ = model.weight.data.copy_(torch.tensor([[0.1], [-0.1]]))
    >>> found = predict_forgetting(model, [[1.0], [1.0]], [0, 1], [1], lr=1.0)  # the same input, the other label
    >>> found.predicted.tolist(), found.happened.tolist()
    ([[True, False]], [[True, False]])
    """
    checks.choice("direction", "predict_forgetting", direction, DIRECTIONS)
    rate = checks.number("lr", "predict_forgetting", lr, low=0.0, open_low=True)
    net, inputs, signs_of = checked("predict_forgetting", model, x, y, DIRECTIONS[direction], dtype, 2)
    true = direction == "error"
    errors_of = signs_of if true else checked("predict_forgetting", model, x, y, "error", dtype, 2)[2]
    labels = np.asarray(y.detach().cpu() if isinstance(y, Tensor) else y, dtype=np.int64)
    updates = _updates(batches, len(inputs))
    parameters = [p.requires_grad_() for p in net.parameters() if p.is_floating_point()]
    rows: list[tuple[NDArray[Any], ...]] = []
    for where in track(updates, "updates"):
        truly = _step(net, parameters, inputs[where], errors_of(where), rate)
        assumed = truly if true else _step(net, parameters, inputs[where], signs_of(where), rate)
        before, change = _first_order(net, parameters, inputs, assumed)
        with torch.no_grad():
            for parameter, move in zip(parameters, truly, strict=True):
                parameter += move
            after = torch.cat([net(inputs[a : a + BATCH]) for a in range(0, len(inputs), BATCH)])
        rows.append(_judged(before.numpy(), (before + change).numpy(), after.numpy(), labels))
    return Forgetting(*(np.stack(parts) for parts in zip(*rows, strict=True)))


def forgetting_report(predicted: ArrayLike, happened: ArrayLike, among: ArrayLike | None = None) -> ForgettingReport:
    """Compute precision, recall and F1 of predicted forgetting.

    Parameters
    ----------
    predicted, happened
        True or false per example, or per update and example.
    among
        Which of them count, for example those that were right before; None counts all.

    Returns
    -------
    ForgettingReport
        Counts, precision, recall and F1.

    Raises
    ------
    InputError
        If the shapes differ, or a value is not true or false.

    Examples
    --------
    >>> forgetting_report([True, True, False, False], [True, False, True, False]).f1
    0.5
    """
    guess, truth = _flags("predicted", predicted), _flags("happened", happened)
    some = np.ones_like(guess) if among is None else _flags("among", among)
    for name, found in (("happened", truth), ("among", some)):
        if found.shape != guess.shape:
            raise InputError(
                f"{name} of forgetting_report must have the shape of predicted, {guess.shape}; got {found.shape}."
            )
    looked = int(some.sum())
    said, came, hits = (int((flags & some).sum()) for flags in (guess, truth, guess & truth))
    return ForgettingReport(
        looked,
        said,
        came,
        hits,
        _share(hits, said),
        _share(hits, came),
        _share(2 * hits, said + came),
        _share(2 * came, looked + came) if came else math.nan,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _flags(name: str, value: ArrayLike) -> Flags:
    found = checks.array(name, "forgetting_report", value)
    if found.dtype.kind != "b" and not np.isin(found, (0, 1)).all():
        raise InputError(f"{name} of forgetting_report must hold true and false, or 1 and 0; got other numbers.")
    return found.astype(bool)


def _updates(batches: Any, n: int) -> list[Tensor]:
    """Return the positions of each update."""
    given = batches.tolist() if isinstance(batches, torch.Tensor | np.ndarray) else batches
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) == 0:
        raise InputError(
            "batches of predict_forgetting must be positions of examples, or a list of such batches, and not empty; "
            f"got {batches!r}."
        )
    several = given if np.ndim(given[0]) else [given]
    found = []
    for one in several:
        where = checks.array("batches", "predict_forgetting", one, ndim=1)
        if where.dtype.kind not in "iu" or where.min() < 0 or where.max() >= n:
            raise InputError(
                f"batches of predict_forgetting must hold positions from 0 to {n - 1}; got {where.dtype} from "
                f"{where.min()} to {where.max()}."
            )
        found.append(torch.as_tensor(where.astype(np.int64)))
    return found


def _step(net: nn.Module, parameters: list[Tensor], inputs: Tensor, signs: Signs, rate: float) -> Step:
    """What SGD adds to each parameter if `signs` is used as the error."""
    with torch.enable_grad():
        logits = net(inputs)
        pushed = (logits * signs(logits.detach())).sum()
    scale = rate * logits.shape[1] ** 0.5 / len(inputs)  # the signs of kernels are divided by sqrt(K)
    slopes = torch.autograd.grad(pushed, parameters, allow_unused=True, materialize_grads=True)
    return [scale * slope for slope in slopes]


def _first_order(net: nn.Module, parameters: list[Tensor], inputs: Tensor, step: Step) -> tuple[Tensor, Tensor]:
    """Return the logits of all examples, and their derivative along a step of the parameters.

    grad z times a vector is the derivative, with respect to u, of the slope of u . z along the vector: two backward
    passes, without forward-mode differentiation, which some layers lack.
    """
    before, change = [], []
    for first in range(0, len(inputs), BATCH):
        with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):  # other attention kernels differentiate only once
            logits = net(inputs[first : first + BATCH])
            u = torch.zeros_like(logits, requires_grad=True)
            slopes = torch.autograd.grad((logits * u).sum(), parameters, create_graph=True, allow_unused=True)
            along = [(slope * move).sum() for slope, move in zip(slopes, step, strict=True) if slope is not None]
            (found,) = torch.autograd.grad(torch.stack(along).sum(), u)
        before.append(logits.detach())
        change.append(found)
    return torch.cat(before), torch.cat(change)


def _judged(
    before: NDArray[Any], expected: NDArray[Any], after: NDArray[Any], labels: NDArray[np.int64]
) -> tuple[NDArray[Any], ...]:
    """One row of each attribute of `Forgetting`."""
    for logits in (before, expected, after):
        checks.finite("logits", "predict_forgetting", logits)
    right = before.argmax(1) == labels
    wrong = (right & (logits.argmax(1) != labels) for logits in (expected, after))
    return (right, *wrong, *(_margins(logits, labels) for logits in (before, expected, after)))


def _margins(logits: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    rows = np.arange(labels.size)
    others = logits.astype(np.float64)
    own = others[rows, labels].copy()
    others[rows, labels] = -np.inf
    return np.asarray(own - others.max(1))
