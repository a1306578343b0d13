"""The labelled pseudo neural tangent kernel: how training on one example moves the prediction on another.

For an example (x, y) with logits z(x) of K classes, the feature is phi = s(y)^T grad_w z(x) / sqrt(K), over all
parameters, in eval mode; the kernel of two examples is phi . phi'. The kind defines s:

    lpntk        +1 at y, -1 elsewhere (Guo et al. 2024)
    pntk         1 everywhere
    forgetting   (K - 1) / K at y, -1 / K elsewhere
    error        onehot(y) - softmax(z): the direction of the actual loss gradient

`gram`, and `cross` between two sets, are exact and never hold n x parameters: see `layers`, and `layer_trust` for how
this is verified for the given network. As many examples as fit a memory budget are captured into a panel, each block
multiplied with those before it; then the examples behind the panel are captured block by block and multiplied with all
of it. What fits is captured once; with p panels, an example is captured (p + 1) / 2 times on average.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ...core import checks
from ...core.errors import InputError
from ...core.files import atomic
from ...core.progress import task
from ...models.projection import RotatedProjection
from .gradient_factors import Capture, Panel
from .layer_trust import note, trusted
from .layers import LayerPlan, UnlikePlan, capture
from .plain_gradients import forward

__all__ = ["KINDS", "cross", "features", "gram"]

Tensor = torch.Tensor
Signs = Callable[[Tensor], Tensor]
Looked = tuple[nn.Module, Tensor, Callable[[slice | Tensor], Signs]]  # a network, inputs, and the signs of some of them

KINDS = ("lpntk", "pntk", "forgetting", "error")
BUDGET = 2 << 30  # bytes of captured layers held at a time
BLOCK = 128  # examples multiplied with a panel at a time
BATCH, LEAST = 256, 32  # examples per backward pass, at most and at least
CACHED = 1 << 22  # captured numbers per backward pass: they should stay in the processor's cache
ROWS = 128 << 20  # bytes of dense gradients held at a time by `features`
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def features(
    model: nn.Module,
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    kind: str = "lpntk",
    *,
    project: int | None = None,
    seed: int = 0,
    dtype: str = "float32",
) -> NDArray[Any]:
    """Compute features, one row per example: n x parameters, or n x `project`.

    Parameters
    ----------
    model
        The network. Its mode and weights are unchanged afterwards.
    x, y
        Inputs as the network takes them, and their class labels.
    kind
        "lpntk", "pntk", "forgetting" or "error"; see the module.
    project
        Length after a sparse random projection, which preserves inner products in expectation and stores no matrix.
    seed
        Seed of the projection.
    dtype
        Precision of the computation: "float32" or "float64".

    Returns
    -------
    numpy.ndarray
        One row per example.

    Raises
    ------
    InputError
        If the network does not give one logit per class, or an argument is out of range.

    Examples
    --------
    >>> import torch
    >>> features(torch.nn.Linear(3, 2), torch.ones(4, 3), [0, 1, 0, 1]).shape  # 3 x 2 weights and 2 biases
    (4, 8)
    """
    net, inputs, signs_of = looked = checked("features", model, x, y, kind, dtype, 1)
    size = None if project is None else checks.integer("project", "features", project, low=1)
    checks.integer("seed", "features", seed, low=0)
    total = sum(p.numel() for p in net.parameters())
    projection = None if size is None else RotatedProjection(total, size, seed)
    out = np.zeros((len(inputs), total if size is None else size), dtype=np.dtype(dtype))

    def fill(plan: LayerPlan) -> None:
        held = max(1, ROWS // (4 * total)) if projection is None else len(inputs)
        with task("features", len(inputs)) as advance:
            for where in _spans(0, len(inputs), min(held, _batch(_captured(looked, plan)))):
                rows = capture(net, inputs[where], signs_of(where), plan).dense(projection).numpy()
                out[where, : rows.shape[1]] = rows  # parameters the network never uses come last and stay 0
                advance(where.stop - where.start)

    _by_plan(net, _planned("features", looked), fill)
    return np.asarray(checks.finite("gradients", "features", out))


def gram(
    model: nn.Module,
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    kind: str = "lpntk",
    *,
    project: int | None = None,
    seed: int = 0,
    dtype: str = "float32",
    out: str | Path | None = None,
    memory: int = BUDGET,
) -> NDArray[Any]:
    """Compute the kernel of all pairs of examples, exact unless projected.

    Parameters
    ----------
    model, x, y, kind
        As for `features`.
    project, seed
        If given, use the kernel of projected features instead.
    dtype
        Precision of the computation and the result: "float32" or "float64".
    out
        A file to write the matrix to (npy); the returned array is then memory-mapped.
    memory
        Bytes of captured layers that may be held at a time.

    Returns
    -------
    numpy.ndarray
        n x n, symmetric.

    Raises
    ------
    InputError
        If the network does not give one logit per class, or an argument is out of range.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(2, 2, bias=False)
    >>> gram(model, torch.tensor([[1.0, 0.0], [1.0, 1.0]]), [0, 1]).round(3).tolist()  # s(0) . s(1) = -2, over K = 2
    [[1.0, -1.0], [-1.0, 2.0]]
    """
    looked = checked("gram", model, x, y, kind, dtype, 2)
    checks.integer("memory", "gram", memory, low=1 << 20)
    n = len(looked[1])
    if project is not None:
        rows = features(model, x, y, kind, project=project, seed=seed, dtype=dtype)
        return _kept(out, (n, n), rows.dtype, lambda kernel: _multiplied(rows, kernel))
    plan = _planned("gram", looked)
    return _kept(out, (n, n), np.dtype(dtype), lambda kernel: _fill("gram", kernel, looked, looked, memory, plan))


def cross(
    model: nn.Module,
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    x2: ArrayLike | Tensor,
    y2: ArrayLike | Tensor,
    kind: str = "lpntk",
    *,
    dtype: str = "float32",
    out: str | Path | None = None,
    memory: int = BUDGET,
) -> NDArray[Any]:
    """Compute the exact kernel between two sets of examples: one row per example of the first, one column per second.

    Parameters
    ----------
    model, kind
        As for `features`.
    x, y
        The first set, of at least one example.
    x2, y2
        The second set.
    dtype, out, memory
        As for `gram`.

    Returns
    -------
    numpy.ndarray
        One row per example of the first set, one column per example of the second.

    Raises
    ------
    InputError
        If the network does not give one logit per class, or an argument is out of range.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(2, 2, bias=False)
    >>> cross(model, torch.tensor([[1.0, 0.0]]), [0], torch.tensor([[1.0, 1.0], [0.0, 1.0]]), [0, 1]).round(3).tolist()
    [[1.0, 0.0]]
    """
    first = checked("cross", model, x, y, kind, dtype, 1)
    second = checked("cross", model, x2, y2, kind, dtype, 1, ("x2", "y2"))
    checks.integer("memory", "cross", memory, low=1 << 20)
    shape, plan = (len(first[1]), len(second[1])), _planned("cross", first, second)
    return _kept(out, shape, np.dtype(dtype), lambda kernel: _fill("cross", kernel, first, second, memory, plan))


def _multiplied(rows: NDArray[Any], kernel: NDArray[Any]) -> None:
    for first in range(0, len(rows), BLOCK):
        kernel[first : first + BLOCK] = rows[first : first + BLOCK] @ rows.T


def _fill(owner: str, kernel: NDArray[Any], first: Looked, second: Looked, memory: int, plan: LayerPlan) -> None:
    """Write the products of all pairs of two sets, panel by panel; within one set, each pair once."""
    itself = first is second

    def work(plan: LayerPlan) -> None:
        span, step, batch = _sizes(first, second, memory, plan)
        panels, every = _spans(0, len(first[1]), span), len(second[1])
        block = Panel(step)
        with task("kernel", sum(every - at.start if itself else every for at in panels)) as advance:
            for rows_at in panels:
                panel = Panel(rows_at.stop - rows_at.start)
                for some in _spans(rows_at.start, rows_at.stop, step):
                    _capture(first, some, plan, panel, batch)
                    if itself:
                        _write(
                            kernel,
                            some,
                            slice(rows_at.start, some.stop),
                            panel.capture(some.start - rows_at.start),
                            panel,
                        )
                        advance(some.stop - some.start)
                for some in _spans(rows_at.stop if itself else 0, every, step):
                    block.empty()
                    _capture(second, some, plan, block, batch)
                    if itself:
                        _write(kernel, some, rows_at, block.capture(), panel)
                    else:
                        kernel[rows_at, some] = panel.capture().gram(block.capture()).numpy()
                    advance(some.stop - some.start)

    _by_plan(first[0], plan, work)
    for row in range(0, len(kernel), 1024):
        checks.finite("kernel", owner, kernel[row : row + 1024])


def _write(kernel: NDArray[Any], some: slice, panel_at: slice, mine: Capture, panel: Panel) -> None:
    """Write the products of a block with a panel on both sides of the diagonal."""
    found = panel.capture().gram(mine).numpy()
    kernel[panel_at, some] = found
    kernel[some, panel_at] = found.T


def _planned(owner: str, first: Looked, second: Looked | None = None) -> LayerPlan:
    """Find which layers have the fast path for all inputs, and warn about the others."""
    plan = trusted(owner, *first[:2])
    if second is not None:
        plan = plan.meet(trusted(owner, *second[:2]))
    note(plan, first[0])
    return plan


def _by_plan(net: nn.Module, plan: LayerPlan, work: Callable[[LayerPlan], None]) -> None:
    """Do the work; start again if a batch uses layers differently from those tried."""
    while True:
        try:
            return work(plan)
        except UnlikePlan as found:
            plan = plan.without(found.layers)
            note(plan, net)


def _sizes(first: Looked, second: Looked, memory: int, plan: LayerPlan) -> tuple[int, int, int]:
    """How many examples fit a panel, a block beside it, and a backward pass."""
    each = max(_captured(first, plan), _captured(second, plan) if second is not first else 0)
    batch = _batch(each)
    room = memory // max(each * next(first[0].parameters()).element_size(), 1)
    step = int(max(batch, min(BLOCK, room // 6 // batch * batch)))
    return int(max(step, (room - step) // step * step)), step, batch


def _captured(looked: Looked, plan: LayerPlan) -> int:
    """How many numbers are captured per example."""
    net, inputs, signs_of = looked
    return sum(piece.numbers() for piece in capture(net, inputs[:1], signs_of(slice(0, 1)), plan).pieces)


def _batch(each: int) -> int:
    """How many examples go through a backward pass at a time."""
    return min(BATCH, max(LEAST, CACHED // max(each, 1)))


def _spans(start: int, stop: int, step: int) -> list[slice]:
    return [slice(a, min(a + step, stop)) for a in range(start, stop, step)]


def _capture(looked: Looked, where: slice, plan: LayerPlan, panel: Panel, batch: int) -> None:
    """Write the gradients of consecutive examples to a panel, one batch at a time."""
    net, inputs, signs_of = looked
    for part in _spans(where.start, where.stop, batch):
        panel.append(capture(net, inputs[part], signs_of(part), plan, panel.room(part.stop - part.start)))


def checked(
    owner: str,
    model: object,
    x: Any,
    y: Any,
    kind: str,
    dtype: str,
    least: int,
    names: tuple[str, str] = ("x", "y"),
) -> Looked:
    """Return a copy of the network in eval mode, the inputs, and the signs of a slice of them."""
    if not isinstance(model, nn.Module):
        raise InputError(f"model of {owner} must be a torch module; got {type(model).__name__}.")
    if any(p.is_complex() for p in model.parameters()):
        raise InputError(f"model of {owner} must have real parameters; this {type(model).__name__} has complex ones.")
    checks.choice("kind", owner, kind, KINDS)
    checks.choice("dtype", owner, dtype, DTYPES)
    real = DTYPES[dtype]
    net = copy.deepcopy(model).to("cpu", real).eval()
    if not any(p.is_floating_point() for p in net.parameters()):
        raise InputError(f"model of {owner} must have parameters; this {type(model).__name__} has none.")
    inputs = (x if isinstance(x, Tensor) else torch.as_tensor(np.require(x, requirements="W"))).detach().cpu()
    inputs = inputs.to(real) if inputs.is_floating_point() or inputs.dtype == torch.bool else inputs
    if inputs.dim() == 0 or len(inputs) < least:
        shape = tuple(inputs.shape)
        raise InputError(f"{names[0]} of {owner} must hold at least {least} example(s); got shape {shape}.")
    if inputs.is_floating_point():
        checks.finite(names[0], owner, inputs.numpy())
    given_labels = y.detach().cpu().numpy() if isinstance(y, Tensor) else y
    labels = checks.array(names[1], owner, given_labels, ndim=1, rows=len(inputs))
    if labels.dtype.kind not in "iu":
        raise InputError(f"{names[1]} of {owner} must be integers, the classes; got dtype {labels.dtype}.")
    with torch.no_grad():
        given = forward(owner, net, inputs[:1])
    if not isinstance(given, Tensor) or given.dim() != 2 or given.shape[1] < 2:
        got = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
        raise InputError(f"model of {owner} must give one logit per class, at least two; got {got} for one example.")
    classes = given.shape[1]
    if labels.min() < 0 or labels.max() >= classes:
        raise InputError(
            f"{names[1]} of {owner} must lie in 0 to {classes - 1}, the classes that the model has logits for; got "
            f"{int(labels.min())} to {int(labels.max())}."
        )
    where_true = torch.nn.functional.one_hot(torch.tensor(labels, dtype=torch.int64), classes).to(real)
    return net, inputs, lambda part: _signs(kind, where_true[part], classes)


def _signs(kind: str, true: Tensor, classes: int) -> Signs:
    root = classes**0.5
    if kind == "error":
        return lambda logits: (true - logits.softmax(1)) / root
    fixed = {"lpntk": 2 * true - 1, "pntk": torch.ones_like(true), "forgetting": true - 1 / classes}[kind]
    return lambda _logits: fixed / root


def _kept(
    out: str | Path | None, shape: tuple[int, int], dtype: np.dtype[Any], fill: Callable[[NDArray[Any]], object]
) -> NDArray[Any]:
    """Return a filled matrix, or one in a file that appears only when it is complete."""
    if out is None:
        kernel = np.empty(shape, dtype)
        fill(kernel)
        return kernel
    with atomic(out) as part:
        mapped = np.lib.format.open_memmap(part, mode="w+", dtype=dtype, shape=shape)
        fill(mapped)
        mapped.flush()
        del mapped
    return np.asanyarray(np.load(Path(out), mmap_mode="r+"))
