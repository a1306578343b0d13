"""Groups and times of examples: read from a column, a key or an array, and checked.

A group is a whole number or a word. A time is a number, or a date (or a date with a time, and with a time zone or in
UTC) as text in ISO 8601, or as the dates of numpy, pandas and arrow; dates become datetime64[us].
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError, InputError, UnknownNameError
from ..core.parameter_names import of

if TYPE_CHECKING:
    from .assembly import OpenRequest

__all__ = ["beside_origin", "groups_and_times", "named_beside"]

DATES = "datetime64[us]"


def named_beside(asked: OpenRequest, names: Iterable[str], owner: str, label: str | None = None) -> dict[str, str]:
    """Return the columns or keys named by `group=` and `time=`, which are no features, as `groups` and `times`.

    Parameters
    ----------
    asked
        The options of `wn.open`.
    names
        The columns or keys that there are.
    owner
        The owner of the columns, named in messages.
    label
        The column with the labels.
    """
    known, found = list(names), {}
    for option, word in (("group", "groups"), ("time", "times")):
        name = getattr(asked, option)
        if not isinstance(name, str):
            continue
        if name not in known:
            raise UnknownNameError.of(f"column in {of(option, 'wn.open')} for {owner}:", name, known)
        if name == label:
            raise InputError(f"{of(option, 'wn.open')} must not be the label column of {owner}; got {name!r}.")
        found[word] = name
    return found


def beside_origin(asked: OpenRequest) -> dict[str, str]:
    """Return where groups and times came from: the name of a column, or `given`."""
    found = {option: getattr(asked, option) for option in ("group", "time")}
    return {word: value if isinstance(value, str) else "given" for word, value in found.items() if value is not None}


def groups_and_times(asked: OpenRequest, groups: Any, times: Any, count: int, owner: str) -> dict[str, Any]:
    """Return the checked groups and times of a source: found by the adapter, or given as arrays.

    Parameters
    ----------
    asked
        The options of `wn.open`.
    groups, times
        What the adapter found; None if its format has no columns.
    count
        The number of examples.
    owner
        The source, named in messages.
    """
    made: dict[str, Any] = {}
    for option, word, held, read in (("group", "groups", groups, _groups), ("time", "times", times, _times)):
        given = getattr(asked, option)
        if isinstance(given, str) and held is None:
            raise InputError(
                f"{of(option, 'wn.open')} must be an array here, because {owner} has no columns; got {given!r}."
            )
        raw = held if isinstance(given, str) else given
        if raw is None:
            continue
        try:
            values = np.asarray(raw)
        except ValueError:
            raise InputError(
                f"{of(option, 'wn.open')} must have one value per example of {owner}; got lists of different lengths."
            ) from None
        if values.shape != (count,):
            raise InputError(
                f"{of(option, 'wn.open')} must have {count} entries, one per example of {owner}; got shape "
                f"{values.shape}."
            )
        missing = _missing(values)
        if missing:
            raise DataError(f"{option} of {owner} must be known for every example; {missing} of {count} are missing.")
        made[word] = read(values, owner)
    return made


def _missing(values: NDArray[Any]) -> int:
    if values.dtype.kind in "Mm":
        return int(np.isnat(values).sum())
    if values.dtype.kind == "f":
        return int(np.isnan(values).sum())
    if values.dtype.kind in "OU":
        return sum(one is None or one == "" or one != one for one in values.tolist())
    return 0


def _groups(values: NDArray[Any], owner: str) -> NDArray[Any]:
    """Whole numbers as they are, everything else as words."""
    if values.dtype.kind in "iub" and values.dtype != np.uint64:
        return values.astype(np.int64)
    return np.array([str(one) for one in values.tolist()], dtype=np.str_)


def _times(values: NDArray[Any], owner: str) -> NDArray[Any]:
    if values.dtype.kind == "M":
        return values.astype(DATES)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise DataError(f"time of {owner} must be finite; {int((~np.isfinite(values)).sum())} are infinite.")
        return values.astype(np.float64)
    return np.array([_moment(one, owner) for one in values.tolist()], dtype=DATES)


def _moment(value: Any, owner: str) -> datetime:
    """A date with its time, in UTC and without a zone."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(found, date) and not isinstance(found, datetime):
            found = datetime(found.year, found.month, found.day)
        if isinstance(found, datetime):
            return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo is not None else found
    except ValueError:
        pass
    raise DataError(f"time of {owner} must be numbers, or dates such as 2026-01-31T12:30; got {value!r}.")
