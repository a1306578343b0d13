"""Checks of arguments: every public function validates with these, then calls kernels that assume valid input.

Each check returns the clean value or raises `InputError` with one sentence: which parameter, of what,
what is allowed, what was given.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError, UnknownNameError
from .parameter_names import argument, of
from .scratch_rows import let_go

__all__ = [
    "array",
    "choice",
    "finite",
    "fraction",
    "frozen",
    "ids",
    "integer",
    "number",
    "size_from",
    "weights",
]

FLAGS = 1 << 20  # numbers looked at at a time


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def integer(name: str, owner: str, value: object, *, low: int | None = None, high: int | None = None) -> int:
    """Check for a whole number within [low, high]."""
    allowed = "a whole number" + _range(low, high)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InputError(f"{of(name, owner)} must be {allowed}; got {_shown(value)}.")
    whole = int(value)
    if (low is not None and whole < low) or (high is not None and whole > high):
        raise InputError(f"{of(name, owner)} must be {allowed}; got {whole}.")
    return whole


def number(
    name: str,
    owner: str,
    value: object,
    *,
    low: float | None = None,
    high: float | None = None,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Check for a finite number within [low, high]; either end may be open."""
    left = "(" if open_low else "["
    right = ")" if open_high else "]"
    if low is not None and high is not None:
        allowed = f"a number in {left}{low:g}, {high:g}{right}"
    elif low is not None:
        allowed = f"a number {'above' if open_low else 'of at least'} {low:g}"
    elif high is not None:
        allowed = f"a number {'below' if open_high else 'of at most'} {high:g}"
    else:
        allowed = "a finite number"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{of(name, owner)} must be {allowed}; got {_shown(value)}.")
    try:
        real = float(value)
    except OverflowError:
        real = math.inf
    below = low is not None and (real <= low if open_low else real < low)
    above = high is not None and (real >= high if open_high else real > high)
    if not math.isfinite(real) or below or above:
        raise InputError(f"{of(name, owner)} must be {allowed}; got {real:g}.")
    return real


def fraction(name: str, owner: str, value: object) -> float:
    """Check for a number in (0, 1]."""
    return number(name, owner, value, low=0.0, high=1.0, open_low=True)


def choice(name: str, owner: str, value: object, allowed: Iterable[str]) -> str:
    """Check for one of the allowed names."""
    known = list(allowed)
    if not isinstance(value, str) or value not in known:
        raise UnknownNameError.of(of(name, owner), value, known)
    return value


def size_from(owner: str, n: int, keep: object = None, size: object = None) -> int:
    """Return how many of `n` examples to keep, given exactly one of a fraction `keep` and a count `size`."""
    if (keep is None) == (size is None):
        raise InputError(
            f"{owner} needs exactly one of {argument('keep', owner)} (a fraction in (0, 1]) and "
            f"{argument('size', owner)} (a count); got {'neither' if keep is None else 'both'}."
        )
    if size is not None:
        return integer("size", owner, size, low=1, high=n)
    return max(1, round(fraction("keep", owner, keep) * n))


def array(
    name: str,
    owner: str,
    value: ArrayLike,
    *,
    ndim: int | Sequence[int] | None = None,
    rows: int | None = None,
    dtype: Any = None,
) -> NDArray[Any]:
    """Check for a numeric, non-empty array with the required dimensions and rows; finite if it holds floats."""
    try:
        out = np.asarray(value, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{of(name, owner)} must be an array of numbers; got {type(value).__name__} ({error})."
        ) from None
    if out.dtype.kind not in "biuf":
        raise InputError(f"{of(name, owner)} must be an array of numbers; got dtype {out.dtype}.")
    if ndim is not None:
        wanted = (ndim,) if isinstance(ndim, int) else tuple(ndim)
        if out.ndim not in wanted:
            raise InputError(
                f"{of(name, owner)} must have {' or '.join(map(str, wanted))} dimension(s); got shape {out.shape}."
            )
    if out.size == 0:
        raise InputError(f"{of(name, owner)} must not be empty; got shape {out.shape}.")
    if rows is not None and (out.ndim == 0 or out.shape[0] != rows):
        raise InputError(f"{of(name, owner)} must have {rows} rows; got shape {out.shape}.")
    return finite(name, owner, out)


def finite(name: str, owner: str, value: NDArray[Any]) -> NDArray[Any]:
    """Raise for NaN and infinities, saying how many there are and where the first one is."""
    if value.dtype.kind == "f" and not _all_finite(value):
        bad = ~np.isfinite(value)
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        where = first[0] if len(first) == 1 else first
        raise InputError(
            f"{of(name, owner)} must be finite; {int(bad.sum())} value(s) are NaN or infinite, the first at {where}."
        )
    return value


def _all_finite(value: NDArray[Any]) -> bool:
    """Whether all numbers are finite; some at a time, so that a large array needs no second one of flags."""
    flat = value.reshape(-1) if value.flags.c_contiguous else None
    if flat is None or flat.size <= FLAGS:
        return bool(np.isfinite(value).all())
    for start in range(0, flat.size, FLAGS):
        if not np.isfinite(flat[start : start + FLAGS]).all():
            return False
        let_go(value)
    return True


def frozen(value: NDArray[Any], *, copy: bool = True) -> NDArray[Any]:
    """Return the array read-only; a copy, except for arrays too large to hold twice."""
    out = value.copy() if copy else value.view()
    out.flags.writeable = False
    return out


def ids(owner: str, value: ArrayLike) -> NDArray[Any]:
    """Check example ids: a non-empty vector of unique whole numbers (int64) or of unique, non-empty strings."""
    try:
        out = np.asarray(value)
    except ValueError as error:
        raise InputError(f"ids of {owner} must be a vector; got {_shown(value)} ({error}).") from None
    if out.ndim != 1 or out.size == 0:
        raise InputError(f"ids of {owner} must be a non-empty vector; got shape {out.shape}.")
    if out.dtype.kind in "iu":
        if out.dtype.kind == "u" and int(out.max()) > np.iinfo(np.int64).max:
            raise InputError(f"ids of {owner} must be below 2**63; got {int(out.max())}.")
        out = out.astype(np.int64)
    elif out.dtype.kind == "U":
        pass
    elif out.dtype.kind == "O" and all(isinstance(item, str) for item in out):
        out = out.astype(np.str_)
    else:
        raise InputError(f"ids of {owner} must be whole numbers or strings; got dtype {out.dtype}.")
    # ids that ascend, as those of most files do, need not be sorted, which takes five times their memory
    unique = out if bool((out[1:] > out[:-1]).all()) else np.unique(out)
    if unique.size != out.size:
        unique, counts = np.unique(out, return_counts=True)
        twice = unique[counts > 1][0]
        raise InputError(
            f"ids of {owner} must be unique; {int((counts > 1).sum())} occur more than once, for example {twice!s}."
        )
    if out.dtype.kind == "U" and any(not name.isprintable() for name in unique.tolist()):
        odd = next(name for name in unique.tolist() if not name.isprintable())
        raise InputError(f"ids of {owner} must be printable text; got {odd!r}.")
    if out.dtype.kind == "U" and unique[0] == "":
        raise InputError(f"ids of {owner} must not be empty strings.")
    return out


def weights(owner: str, value: ArrayLike, rows: int) -> NDArray[np.float64]:
    """Check for positive, finite weights, one per example."""
    out = array("weights", owner, value, ndim=1, rows=rows, dtype=np.float64)
    if (out <= 0).any():
        raise InputError(
            f"weights of {owner} must be positive; {int((out <= 0).sum())} are not, "
            f"the first at {int(np.argmax(out <= 0))}."
        )
    return out


def _range(low: int | None, high: int | None) -> str:
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f" of at least {low}"
    if high is not None:
        return f" of at most {high}"
    return ""
