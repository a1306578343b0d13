"""The labelled pseudo neural tangent kernel: how learning one example moves the prediction on another.

For an example (x, y) with logits z(x) of K classes the feature is phi = s(y)^T grad_w z(x) / sqrt(K), over all
parameters, in eval mode; the kernel of two examples is phi . phi'. What s is, is the kind:

    lpntk        +1 at y, -1 elsewhere (Guo et al. 2024)
    pntk         1 everywhere
    forgetting   (K - 1) / K at y, -1 / K elsewhere
    error        onehot(y) - softmax(z): the direction the loss really pushes

`gram`, and `cross` between two sets, are exact and never hold n x parameters: see `layers`. Blocks of examples whose
captured layers fit a memory budget are multiplied pair by pair; for more than one block, captures are made again rather
than kept.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from .. import checks
from ..errors import InputError
from ..models.projection import SparseProjection
from ..progress import task
from .layers import Capture, capture

__all__ = ["KINDS", "cross", "features", "gram"]

Tensor = torch.Tensor
Signs = Callable[[Tensor], Tensor]
Looked = tuple[nn.Module, Tensor, Callable[[slice | Tensor], Signs]]  # a network, inputs, and the signs of some of them

KINDS = ("lpntk", "pntk", "forgetting", "error")
BUDGET = 512 << 20  # bytes of captured layers held at once, half of it for each side of a product
BATCH = 256  # examples of one backward pass
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
    """Features of examples, one row each: n x parameters, or n x `project`.

    Parameters
    ----------
    model
        The network; its mode and weights are as they were afterwards.
    x, y
        Inputs as the network takes them, and their classes.
    kind
        "lpntk", "pntk", "forgetting" or "error"; see the module.
    project
        Length after a sparse random projection, which keeps inner products in expectation and holds no matrix.
    seed
        Of the projection.
    dtype
        "float32" or "float64", of the computation.
    """
    net, inputs, signs_of = checked("features", model, x, y, kind, dtype, 1)
    size = None if project is None else checks.integer("project", "features", project, low=1)
    checks.integer("seed", "features", seed, low=0)
    total = sum(p.numel() for p in net.parameters())
    projection = None if size is None else SparseProjection(total, size, seed)
    out = np.empty((len(inputs), total if size is None else size), dtype=np.dtype(dtype))
    with task("features", len(inputs)) as advance:
        for first in range(0, len(inputs), _rows_at_once(total)):
            where = slice(first, min(first + _rows_at_once(total), len(inputs)))
            found = capture(net, inputs[where], signs_of(where))
            _note(found)
            out[where] = _dense(found, projection)
            advance(where.stop - first)
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
    """The kernel of all pairs of examples, exact unless projected.

    Parameters
    ----------
    model, x, y, kind
        As for `features`.
    project, seed
        The kernel of projected features instead.
    dtype
        "float32" or "float64", of the computation and the result.
    out
        A file to write the matrix to (npy); what is returned then is memory-mapped.
    memory
        Bytes of captured layers that may be held at once.
    """
    looked = checked("gram", model, x, y, kind, dtype, 2)
    checks.integer("memory", "gram", memory, low=1 << 20)
    n = len(looked[1])
    kernel = _storage(out, (n, n), np.dtype(dtype))
    if project is not None:
        rows = features(model, x, y, kind, project=project, seed=seed, dtype=dtype)
        for first in range(0, n, BATCH):
            kernel[first : first + BATCH] = rows[first : first + BATCH] @ rows.T
        return kernel
    blocks = _blocks(looked, memory)
    with task("kernel", len(blocks) * (len(blocks) + 1) // 2) as advance:
        for i, rows_at in enumerate(blocks):
            mine = _look(looked, rows_at)
            for columns_at in blocks[i:]:
                theirs = mine if columns_at == rows_at else _look(looked, columns_at)
                block = mine.gram(theirs).numpy()
                kernel[rows_at, columns_at] = block
                kernel[columns_at, rows_at] = block.T
                advance(1)
    _finite("gram", kernel)
    return kernel


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
    """The exact kernel between two sets of examples: a row for each of the first, a column for each of the second.

    Parameters
    ----------
    model, kind
        As for `features`.
    x, y
        The first set, of at least one example.
    x2, y2
        The second.
    dtype, out, memory
        As for `gram`.
    """
    first = checked("cross", model, x, y, kind, dtype, 1)
    second = checked("cross", model, x2, y2, kind, dtype, 1, ("x2", "y2"))
    checks.integer("memory", "cross", memory, low=1 << 20)
    kernel = _storage(out, (len(first[1]), len(second[1])), np.dtype(dtype))
    rows, columns = _blocks(first, memory), _blocks(second, memory)
    with task("kernel", len(rows) * len(columns)) as advance:
        for rows_at in rows:
            mine = _look(first, rows_at)
            for columns_at in columns:
                kernel[rows_at, columns_at] = mine.gram(_look(second, columns_at)).numpy()
                advance(1)
    _finite("cross", kernel)
    return kernel


def _blocks(looked: Looked, memory: int) -> list[slice]:
    """Consecutive examples, so many that the captures of two blocks fit the memory."""
    net, inputs, signs_of = looked
    one = capture(net, inputs[:1], signs_of(slice(0, 1)))
    _note(one)
    each = sum(piece.numbers() for piece in one.pieces) * one.logits.element_size()
    span = max(BATCH, int(memory // (2 * max(each, 1))) // BATCH * BATCH)
    return [slice(a, min(a + span, len(inputs))) for a in range(0, len(inputs), span)]


def _look(looked: Looked, where: slice) -> Capture:
    """The gradients of consecutive examples, a batch at a time."""
    net, inputs, signs_of = looked
    parts = (slice(a, min(a + BATCH, where.stop)) for a in range(where.start, where.stop, BATCH))
    return joined([capture(net, inputs[part], signs_of(part)) for part in parts])


def _finite(owner: str, kernel: NDArray[Any]) -> None:
    for first in range(0, len(kernel), 1024):
        checks.finite("kernel", owner, kernel[first : first + 1024])


def joined(parts: list[Capture]) -> Capture:
    """Captures of consecutive batches as one."""
    if len(parts) == 1:
        return parts[0]
    pieces = []
    for same in zip(*(part.pieces for part in parts), strict=True):
        held = {name: value for name, value in vars(same[0]).items() if isinstance(value, Tensor)}
        together: dict[str, Any] = {name: torch.cat([getattr(piece, name) for piece in same]) for name in held}
        pieces.append(replace(same[0], **together))
    return Capture(tuple(pieces), torch.cat([part.logits for part in parts]), parts[0].fallen_back)


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
    """A copy of the network in eval mode, the inputs, and the signs of a slice of them."""
    if not isinstance(model, nn.Module):
        raise InputError(f"model of {owner} must be a torch module; got {type(model).__name__}.")
    checks.choice("kind", owner, kind, KINDS)
    checks.choice("dtype", owner, dtype, DTYPES)
    real = DTYPES[dtype]
    net = copy.deepcopy(model).to("cpu", real).eval()
    if not any(p.is_floating_point() for p in net.parameters()):
        raise InputError(f"model of {owner} must have parameters; this {type(model).__name__} has none.")
    inputs = (x if isinstance(x, Tensor) else torch.as_tensor(np.require(x, requirements="W"))).detach().cpu()
    inputs = inputs.to(real) if inputs.is_floating_point() or inputs.dtype == torch.bool else inputs
    if inputs.dim() == 0 or len(inputs) < least:
        raise InputError(
            f"{names[0]} of {owner} must hold at least {least} example(s); got shape {tuple(inputs.shape)}."
        )
    if inputs.is_floating_point():
        checks.finite(names[0], owner, inputs.numpy())
    given_labels = y.detach().cpu().numpy() if isinstance(y, Tensor) else y
    labels = checks.array(names[1], owner, given_labels, ndim=1, rows=len(inputs))
    if labels.dtype.kind not in "iu":
        raise InputError(f"{names[1]} of {owner} must be whole numbers, the classes; got dtype {labels.dtype}.")
    with torch.no_grad():
        given = net(inputs[:1])
    if not isinstance(given, Tensor) or given.dim() != 2 or given.shape[1] < 2:
        got = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
        raise InputError(f"model of {owner} must give one logit a class, at least two; got {got} for one example.")
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


def _rows_at_once(parameters: int) -> int:
    return max(1, min(BATCH, (BUDGET // 4) // (4 * parameters)))


def _dense(found: Capture, projection: SparseProjection | None) -> NDArray[Any]:
    """Rows of a batch, whole or projected piece by piece."""
    if projection is None:
        return np.asarray(torch.cat([piece.dense() for piece in found.pieces], 1).numpy())
    out = found.logits.new_zeros(len(found.logits), projection.dim)
    start = 0
    for piece in found.pieces:
        rows = piece.dense()
        projection.add(out, rows, start)
        start += rows.shape[1]
    return np.asarray(out.numpy())


def _note(found: Capture) -> None:
    if found.fallen_back:
        some = ", ".join(found.fallen_back[:3]) + (", ..." if len(found.fallen_back) > 3 else "")
        warnings.warn(
            f"{len(found.fallen_back)} parameter(s) belong to layers that lpntk has no short way for ({some}); their "
            "gradients are computed by torch.func, which is as exact and slower.",
            stacklevel=4,
        )


def _storage(out: str | Path | None, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    if out is None:
        return np.empty(shape, dtype)
    kernel: NDArray[Any] = np.lib.format.open_memmap(Path(out), mode="w+", dtype=dtype, shape=shape)
    return kernel
