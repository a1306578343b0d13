"""Arrays: numpy arrays, torch tensors and nested lists, with labels, regression targets or neither.

| array | becomes | shape of one example |
|---|---|---|
| uint8 (n, H, W), (n, H, W, C), (n, C, H, W), C in 1, 3, 4 | image | C x H x W |
| other (n, H, W) | tensor | 1 x H x W |
| other, four dimensions or more | tensor | as it is |
| (n, d), or (n,) as one column | table | d |

If both readings are possible, channels come first, as in torch. The array is not copied if its dtype already fits:
change a copy, not the array that was opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.derived_readers import Read
from ..artefacts.source import Kind, Source
from ..core.errors import DataError, InputError, reason
from .assembly import Held, OpenRequest, Pieces, assemble
from .label_rows import listed_labels
from .splits import without_splits

__all__ = ["array_pieces", "canonical", "given_targets", "open_arrays", "raw_targets", "to_numpy"]

_CHANNELS = (1, 3, 4)


def open_arrays(inputs: Any, target: Any, asked: OpenRequest) -> Source:
    """Make a Source over arrays in memory."""
    name = asked.named(None, "arrays")
    owner = f"source {name!r}"
    without_splits(asked.split, owner)
    raw = given_targets(target, asked, owner)
    asked.refuse("columns", of="arrays")
    values, kind = canonical(to_numpy(inputs, "X", owner), owner)
    return assemble(asked, name, array_pieces("arrays", Held(values), values, kind, raw, {"labels": raw is not None}))


def given_targets(target: Any, asked: OpenRequest, owner: str) -> NDArray[Any] | None:
    """Return the targets of inputs in memory, given in (X, y) or as labels=; None if there are none."""
    if asked.labels is not None:
        if isinstance(asked.labels, str):
            raise InputError(
                f"labels of wn.open must be an array here, because arrays have no columns; got {asked.labels!r}: "
                "pass (X, y) or labels=y."
            )
        if target is not None:
            raise InputError("labels of wn.open must be given once; got them in (X, y) and in labels=.")
        target = asked.labels
    return None if target is None or asked.task == "unlabelled" else raw_targets(target, owner)


def raw_targets(target: Any, owner: str) -> NDArray[Any]:
    """Return targets given in memory as an array; of objects if they are lists of labels."""
    lists = listed_labels(target)
    return to_numpy(target, "labels", owner) if lists is None else lists


def array_pieces(
    adapter: str, read: Read, values: NDArray[Any], kind: Kind, target: NDArray[Any] | None, origin: Mapping[str, Any]
) -> Pieces:
    """Return the pieces of a source whose inputs are one array, as `canonical` returns it."""
    return Pieces(
        adapter=adapter,
        read=read,
        count=len(values),
        shape=values.shape[1:],
        kind=kind,
        target=target,
        values=values,
        columns=column_names(values, kind),
        origin=origin,
    )


def to_numpy(value: Any, what: str, owner: str) -> NDArray[Any]:
    """Convert an array-like value to numpy; torch tensors are moved off their device."""
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
        return np.asarray(value.numpy())
    if hasattr(value, "tocsr"):
        raise InputError(f"{what} of {owner} must be dense; got a sparse matrix (call .toarray()).")
    if isinstance(value, np.ma.MaskedArray) and np.any(value.mask):
        raise DataError(f"{what} of {owner} has {int(np.sum(value.mask))} masked values; fill them first.")
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} of {owner} must be an array with rows of one shape: {reason(error)}.") from None


def canonical(values: NDArray[Any], owner: str) -> tuple[NDArray[Any], Kind]:
    """Return the inputs as a Source reads them, and their kind."""
    if values.ndim == 0:
        raise InputError(f"X of {owner} must have one row per example; got a single value of dtype {values.dtype}.")
    if values.dtype.kind not in "biuf":
        raise InputError(f"X of {owner} must be an array of real numbers; got dtype {values.dtype}.")
    if values.size == 0:
        raise InputError(f"X of {owner} must not be empty; got shape {values.shape}.")
    if values.dtype == np.uint8 and values.ndim == 3:
        return values[:, None], "image"
    if values.dtype == np.uint8 and values.ndim == 4 and values.shape[1] in _CHANNELS:
        return values, "image"
    if values.dtype == np.uint8 and values.ndim == 4 and values.shape[3] in _CHANNELS:
        return values.transpose(0, 3, 1, 2), "image"
    kind: Kind = "tensor" if values.ndim > 2 else "table"
    if values.ndim in (1, 3):
        values = values[:, None]
    with np.errstate(over="ignore"):
        floats = values.astype(np.float32, copy=False)
    _refuse_holes(floats, kind, owner)
    return floats, kind


def column_names(values: NDArray[Any], kind: Kind) -> tuple[str, ...]:
    """Make names for the columns of a table without names."""
    return tuple(f"x{number}" for number in range(values.shape[1])) if kind == "table" else ()


def _refuse_holes(values: NDArray[Any], kind: Kind, owner: str) -> None:
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    if kind == "table":
        column = int(np.argmax(bad.any(axis=0)))
        raise DataError(
            f"column {column} of {owner} has {int(bad[:, column].sum())} value(s) that are NaN, infinite "
            "or too large for float32; fill or drop them."
        )
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    raise DataError(
        f"X of {owner} has {int(bad.sum())} value(s) that are NaN, infinite or too large for float32, the "
        f"first at {first}; fill or drop them."
    )
