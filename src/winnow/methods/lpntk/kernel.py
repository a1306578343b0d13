"""The labelled pseudo neural tangent kernel: how training on one example moves the prediction on another.

For an example (x, y) with logits z(x) of K classes, the feature is phi = s(y)^T grad_w z(x) / sqrt(K), over all
parameters, in eval mode; the kernel of two examples is phi . phi'. The kind defines s:

    lpntk        +1 at y, -1 elsewhere (Guo et al. 2024)
    pntk         1 everywhere
    forgetting   (K - 1) / K at y, -1 / K elsewhere
    error        onehot(y) - softmax(z): the direction of the actual loss gradient

`gram`, and `cross` between two sets, are exact and never hold n x parameters: see `kernel_panels` and `layers`, and
`layer_trust` for how this is verified for the given network.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ...core import checks
from ...core.files import atomic
from ...core.progress import task
from ...models.projection import RotatedProjection
from .kernel_inputs import KINDS, checked
from .kernel_panels import batches, fill_by_panels, fill_from_rows
from .layer_trust import by_plan, planned
from .layers import LayerPlan, capture

__all__ = ["KINDS", "cross", "features", "gram"]

Tensor = torch.Tensor

BUDGET = 2 << 30  # bytes of captured layers held at a time
ROWS = 128 << 20  # bytes of dense gradients held at a time by `features`


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

    def work(plan: LayerPlan) -> None:
        held = max(1, ROWS // (4 * total)) if projection is None else len(inputs)
        with task("features", len(inputs)) as advance:
            for where in batches(looked, plan, held):
                rows = capture(net, inputs[where], signs_of(where), plan).dense(projection).numpy()
                out[where, : rows.shape[1]] = rows  # parameters the network never uses come last and stay 0
                advance(where.stop - where.start)

    by_plan(net, planned("features", looked), work)
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
    n = len(looked.inputs)
    if project is not None:
        rows = features(model, x, y, kind, project=project, seed=seed, dtype=dtype)
        return _kept(out, (n, n), rows.dtype, lambda kernel: fill_from_rows(rows, kernel))
    plan = planned("gram", looked)
    return _kept(
        out, (n, n), np.dtype(dtype), lambda kernel: fill_by_panels("gram", kernel, looked, looked, memory, plan)
    )


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
    shape, plan = (len(first.inputs), len(second.inputs)), planned("cross", first, second)
    return _kept(
        out, shape, np.dtype(dtype), lambda kernel: fill_by_panels("cross", kernel, first, second, memory, plan)
    )


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
