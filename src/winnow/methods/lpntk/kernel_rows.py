"""Access to a kernel by rows: a Gram matrix in memory or on disk, or feature rows whose products are the kernel.

Everything that works on a kernel reads its diagonal and blocks of it, never the whole. A square array is a Gram
matrix; feature rows must be marked as such (`FeatureRows`), since an n x n array could be either.

A Gram matrix of up to `_SCANNED` examples is checked entry by entry. In a larger one, which may not fit in memory, the
whole diagonal and a sample of the other entries are checked first, and each block is checked for NaN as it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError
from ...core.seeds import stream

__all__ = ["FeatureRows", "Kernel", "Positions", "grouped", "opened", "rounding", "spans"]

Positions = NDArray[np.int64]
Part = slice | Positions
_BLOCK_BYTES = 64 << 20
_SCANNED = 8192  # a Gram matrix of this many examples, half a gigabyte of float64, is checked completely
_SAMPLED = 1 << 14  # pairs of entries compared in a larger one
_TILE = 1024
_ASYMMETRY = 1e-4  # relative to the product of the two lengths; kernels summed in single precision reach 1e-6


class Kernel(Protocol):
    """What the methods of this package need from a kernel."""

    n: int
    diagonal: NDArray[np.float64]
    dtype: np.dtype[Any]

    def block(self, rows: Part, columns: Part) -> NDArray[Any]:
        """The kernel between some examples and others: a new array of `dtype`, in row-major order."""
        ...

    def only(self, positions: Positions) -> Kernel:
        """The kernel among some of the examples."""
        ...


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Features, one row per example, that stand for the kernel of their inner products.

    Every function that takes a `gram` also takes these. It then computes the rows it needs and holds nothing n x n.

    Parameters
    ----------
    values
        n x p, finite, with no row of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> len(FeatureRows(np.eye(3)))
    3
    """

    values: NDArray[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _matrix("values", "FeatureRows", self.values))

    def __len__(self) -> int:
        return int(self.values.shape[0])


def opened(owner: str, gram: ArrayLike | FeatureRows) -> Kernel:
    """Check the kernel passed to `owner` and give access to its rows."""
    if isinstance(gram, FeatureRows):
        return _FeatureKernel.checked(owner, gram.values)
    return _GramKernel.checked(owner, _matrix("gram", owner, gram))


def grouped(owner: str, labels: ArrayLike, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the classes in increasing order, and the index among them of the label of each of the `n` examples."""
    found = checks.array("labels", owner, labels, ndim=1, rows=n)
    if found.dtype.kind == "f" and not (found == np.rint(found)).all():
        raise InputError(f"labels of {owner} must be integers; got {float(found[found != np.rint(found)][0]):g}.")
    classes, places = np.unique(found.astype(np.int64), return_inverse=True)
    return classes, places.astype(np.int64).reshape(-1)


def rounding(kernel: Kernel) -> float:
    """The relative difference that rounding can cause between two equal entries."""
    return 64.0 * float(np.finfo(kernel.dtype).eps)


def spans(kernel: Kernel, columns: int) -> Iterator[slice]:
    """Yield consecutive rows, few enough at a time that a block with `columns` columns stays small."""
    step = max(1, _BLOCK_BYTES // (kernel.dtype.itemsize * max(columns, 1)))
    for start in range(0, kernel.n, step):
        yield slice(start, min(start + step, kernel.n))


class _GramKernel:
    """A square array, possibly memory-mapped, possibly restricted to some positions."""

    def __init__(
        self, values: NDArray[Any], diagonal: NDArray[np.float64], owner: str, positions: Positions | None = None
    ) -> None:
        self._values, self._owner, self._positions = values, owner, positions
        self.diagonal = diagonal
        self.n = int(diagonal.size)
        self.dtype = _working(values.dtype)

    @classmethod
    def checked(cls, owner: str, values: NDArray[Any]) -> _GramKernel:
        """Return the kernel after checking its shape, diagonal, finiteness and symmetry."""
        n, columns = values.shape
        if n != columns:
            raise InputError(
                f"gram of {owner} must be square, or FeatureRows(...) if it holds features; got shape {values.shape}."
            )
        diagonal = np.array(np.diagonal(values), dtype=np.float64)
        _positive("gram", owner, diagonal)
        lengths = np.sqrt(diagonal)
        tolerance = max(_ASYMMETRY, 8.0 * float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else 0.0)
        if n <= _SCANNED:
            _check_tiles(owner, values, lengths, tolerance)
        else:
            i, j = stream(0, "lpntk", "symmetry").integers(0, n, size=(2, _SAMPLED))
            _check_pairs(owner, values[i, j], values[j, i], lengths[i] * lengths[j], tolerance)
        return cls(values, diagonal, owner)

    def block(self, rows: Part, columns: Part) -> NDArray[Any]:
        r, c = self._where(rows), self._where(columns)
        both = isinstance(r, np.ndarray) and isinstance(c, np.ndarray)
        out = self._values[np.ix_(r, c)] if both else self._values[r, c]  # type: ignore[arg-type]
        out = np.array(out, dtype=self.dtype, order="C")
        if self._values.shape[0] > _SCANNED:
            checks.finite("gram", self._owner, out)
        return out

    def only(self, positions: Positions) -> _GramKernel:
        where = positions if self._positions is None else self._positions[positions]
        return _GramKernel(self._values, self.diagonal[positions], self._owner, where)

    def _where(self, part: Part) -> Part:
        return part if self._positions is None else self._positions[part]


class _FeatureKernel:
    """Products of feature rows, computed on demand."""

    def __init__(self, values: NDArray[Any], diagonal: NDArray[np.float64]) -> None:
        self._values, self.diagonal = values, diagonal
        self.n = int(diagonal.size)
        self.dtype = _working(values.dtype)

    @classmethod
    def checked(cls, owner: str, values: NDArray[Any]) -> _FeatureKernel:
        """Return the kernel after checking that every row is finite and not zero."""
        diagonal = np.empty(values.shape[0])
        for start in range(0, values.shape[0], _TILE):
            rows = np.asarray(values[start : start + _TILE], dtype=np.float64)
            if not np.isfinite(rows).all():
                checks.finite("features", owner, values)
            diagonal[start : start + _TILE] = np.einsum("ij,ij->i", rows, rows)
        with np.errstate(over="ignore"):  # values too large for single precision raise an error below
            held = diagonal.astype(_working(values.dtype))
        _positive("the kernel of features", owner, held)
        return cls(values, diagonal)

    def block(self, rows: Part, columns: Part) -> NDArray[Any]:
        left = np.asarray(self._values[rows], dtype=self.dtype)
        return np.asarray(left @ np.asarray(self._values[columns], dtype=self.dtype).T)

    def only(self, positions: Positions) -> _FeatureKernel:
        return _FeatureKernel(self._values[positions], self.diagonal[positions])


def _working(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Single precision for kernels stored in it or in less, double for all others."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def _matrix(name: str, owner: str, value: ArrayLike) -> NDArray[Any]:
    """Return a numeric matrix of at least two rows, without reading one that is on disk."""
    try:
        out = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{name} of {owner} must be an array of numbers; got {type(value).__name__} ({error})."
        ) from None
    if out.dtype.kind not in "biuf":
        raise InputError(f"{name} of {owner} must be an array of numbers; got dtype {out.dtype}.")
    if out.ndim != 2 or out.shape[1] == 0:
        raise InputError(f"{name} of {owner} must be a matrix; got shape {out.shape}.")
    if out.shape[0] < 2:
        raise InputError(f"{name} of {owner} must hold at least 2 examples; got shape {out.shape}.")
    return out


def _positive(name: str, owner: str, diagonal: NDArray[Any]) -> None:
    good = np.isfinite(diagonal) & (diagonal > 0)
    if not good.all():
        first = int(np.argmin(good))
        raise InputError(
            f"{name} of {owner} must have a positive, finite diagonal; {int((~good).sum())} value(s) are not, "
            f"the first at {first}: {float(diagonal[first]):g}."
        )


def _check_tiles(owner: str, values: NDArray[Any], lengths: NDArray[np.float64], tolerance: float) -> None:
    """Compare every entry with its mirror image, one pair of tiles at a time."""
    n = lengths.size
    for a in range(0, n, _TILE):
        for b in range(a, n, _TILE):
            upper, lower = values[a : a + _TILE, b : b + _TILE], values[b : b + _TILE, a : a + _TILE].T
            _check_pairs(owner, upper, lower, np.outer(lengths[a : a + _TILE], lengths[b : b + _TILE]), tolerance)


def _check_pairs(
    owner: str, one: NDArray[Any], other: NDArray[Any], scale: NDArray[np.float64], tolerance: float
) -> None:
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        count = int((~np.isfinite(one)).sum() + (~np.isfinite(other)).sum())
        raise InputError(f"gram of {owner} must be finite; found {count} NaN or infinite value(s).")
    apart = float((np.abs(one - other) / scale).max())
    if apart > tolerance:
        raise InputError(
            f"gram of {owner} must be symmetric; two mirrored entries differ by {apart:.2g} of the lengths' product."
        )
