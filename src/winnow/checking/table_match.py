"""How surely two rows of a table are copies: column by column, and against what chance would give.

Rows may agree by chance. Two rows of three yes-or-no columns often do, two of ten measurements never. For equal rows,
`repeat_probability` counts how many rows agree in all columns but one: if columns are drawn independently of who was
copied, the share q of pairs that agree in that column turns those counts into an expected number of equal rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source
from ..core.progress import track
from ..core.scratch_rows import let_go, rows_at, scratch_rows
from ..sources.row_groups import forget_groups

__all__ = ["CLOSE", "chance_agreements", "comparable", "repeat_probability", "standard_rows", "widest_gap"]

CLOSE = 0.05  # of a column's standard deviation: how far apart the values of a copy may be
REACH = 0.04  # the same, around a value, within which other rows agree by chance, at least
READ = 65_536  # rows read at a time
_ODD = 0x9E3779B97F4A7C15


def comparable(source: Source) -> NDArray[np.floating]:
    """The rows of a table as numbers, one per column as it was given, that are equal where the values are."""
    if source.raw is None:
        dtype = source.read(np.arange(1)).dtype
        return _all_rows(source, dtype if dtype.kind == "f" else np.dtype(np.float32))
    return np.stack(list(source.raw.codes().values()), axis=1)


def standard_rows(source: Source) -> NDArray[np.float32]:
    """The rows of a table with its columns divided by their standard deviation; two categories are at least 1 apart.

    Constant columns become 0, values that are not finite the mean. Many rows are in a file.
    """
    if source.raw is None:
        rows = _all_rows(source, np.dtype(np.float32))
        scaled = np.ones(rows.shape[1], dtype=bool)
        given: Callable[[slice], NDArray[np.float64]] = lambda part: rows[part].astype(np.float64)  # noqa: E731
    else:
        codes, named = source.raw.codes(), source.raw.quantities()
        rows = scratch_rows((len(source), len(codes)), np.float32)
        scaled = np.array([name in named for name in codes])
        given = lambda part: np.stack([column[part] for column in codes.values()], axis=1).astype(np.float64)  # noqa: E731
    # rows at a time and not columns: a table may be larger than the memory
    parts = [slice(start, start + READ) for start in range(0, len(rows), READ)]
    centre, spread = _scales(given, parts, rows)
    for part in parts:
        block = given(part)
        block[:, scaled] = np.nan_to_num((block - centre)[:, scaled], nan=0.0, posinf=0.0, neginf=0.0) / spread[scaled]
        rows[part] = block
        let_go(rows)
    return rows


def _all_rows(source: Source, dtype: np.dtype[Any]) -> NDArray[np.floating]:
    """Every row as the source reads it, one number per column."""
    rows = scratch_rows((len(source), int(np.prod(source.shape))), dtype)
    for start in track(range(0, len(rows), READ), "reading the table"):
        where = np.arange(start, min(start + READ, len(rows)))
        rows[where] = source.read(where).reshape(where.size, -1)
        let_go(rows)
    forget_groups()
    return rows


def _scales(
    given: Callable[[slice], NDArray[np.float64]], parts: list[slice], rows: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean and the standard deviation of each column, of values that are finite; infinite for constant columns."""
    width = rows.shape[1]
    count, total, squares = np.zeros(width), np.zeros(width), np.zeros(width)
    for part in parts:
        block = given(part)
        good = np.isfinite(block)
        count += good.sum(axis=0)
        total += np.where(good, block, 0.0).sum(axis=0)
        let_go(rows)
    centre = total / np.maximum(count, 1)
    for part in parts:
        block = given(part) - centre
        squares += np.square(np.where(np.isfinite(block), block, 0.0)).sum(axis=0)
        let_go(rows)
    spread = np.sqrt(squares / len(rows))
    return centre, np.where(spread <= 1e-9 * np.maximum(np.abs(centre), 1e-30), np.inf, spread)


def widest_gap(rows: NDArray[np.float32], pairs: NDArray[np.int64], block: int = 65_536) -> NDArray[np.float64]:
    """The largest difference of each pair in any column, in standard deviations."""
    out = np.empty(len(pairs))
    for start in range(0, len(pairs), block):
        left, right = pairs[start : start + block].T
        out[start : start + block] = np.abs(rows_at(rows, left) - rows_at(rows, right)).max(axis=1, initial=0.0)
    return out


def chance_agreements(rows: NDArray[np.float32], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many other rows one would expect to agree with the first of a pair as well as the second does, by chance.

    The share of rows within reach in each column, multiplied over columns as if they were independent, times the number
    of rows. Columns that depend on each other make it too small, so it only refuses what is not even unlikely then.
    """
    out = np.full(len(pairs), np.log(len(rows)))
    if not len(pairs):
        return out
    left, right = pairs.T
    for place in range(rows.shape[1]):
        column = _column(rows, place)
        known = np.sort(column)
        centre = column[left]
        reach = np.maximum(np.abs(centre - column[right]), REACH)
        inside = np.searchsorted(known, centre + reach, "right") - np.searchsorted(known, centre - reach, "left")
        out += np.log(np.maximum(inside, 1) / len(rows))
    return np.asarray(np.exp(np.minimum(out, 50.0)))


def repeat_probability(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """For each row: the probability that those equal to it are copies, not chance; 0 if there is none equal.

    Parameters
    ----------
    rows
        The table, one row per example, one number per column.
    """
    n, width = rows.shape
    mixed = np.zeros(n, dtype=np.uint64)
    for column in range(width):
        mixed += _mixed(rows, column)
    known = np.sort(mixed)
    some = np.flatnonzero(_among(mixed, known[_repeats(known)[0]]))  # rows that have an equal
    sure = np.zeros(n)
    if not some.size:
        return sure
    equal = _times(known, mixed[some]) - 1
    expected = np.zeros(some.size)
    for column in track(range(width), "columns of equal rows"):
        own = _mixed(rows, column)
        known = np.sort(own)
        alike = _repeats(known)[1].astype(np.float64)
        q = float((alike * (alike - 1)).sum()) / (n * max(n - 1, 1))
        if q in (0.0, 1.0):  # no two rows agree in it, or all do
            continue
        np.subtract(mixed, own, out=own)  # the row without this column
        known[:] = own
        known.sort()
        others = _times(known, own[some]) - 1 - equal
        np.maximum(expected, others * q / (1 - q), out=expected)
    # A row's own count is small and so uncertain: half of what is expected is that of all rows with an equal one.
    chance = (expected / equal + expected.sum() / equal.sum()) / 2
    sure[some] = 1 - np.minimum(chance, 1.0)
    return sure


def _column(rows: NDArray[Any], column: int) -> NDArray[Any]:
    """A copy of a column; the pages of a map are let go on the way."""
    out = np.empty(len(rows), dtype=rows.dtype)
    for start in range(0, len(rows), READ):
        out[start : start + READ] = rows[start : start + READ, column]
        let_go(rows)
    return out


def _mixed(rows: NDArray[np.floating], column: int) -> NDArray[np.uint64]:
    """A hash of each value that depends on the column; hashes of a row are added, so one can be taken out again."""
    out = np.empty(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), READ):
        bits = out[start : start + READ]
        bits.view(np.float64)[:] = rows[start : start + READ, column] + 0.0  # minus zero equals zero
        let_go(rows)
        bits ^= np.uint64((column + 1) * _ODD % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            bits ^= bits >> np.uint64(shift)
            bits *= np.uint64(factor)
        bits ^= bits >> np.uint64(31)
    return out


def _repeats(ordered: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where keys that occur more than once start among those that are ordered, and how often each occurs."""
    same = np.zeros(ordered.size + 1, dtype=np.int8)
    same[1:-1] = ordered[1:] == ordered[:-1]
    steps = np.diff(same)
    starts, last = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    return starts, last - starts + 1


def _among(keys: NDArray[np.uint64], ordered: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each key is one of those that are ordered."""
    out = np.zeros(keys.size, dtype=bool)
    for start in range(0, keys.size if ordered.size else 0, READ):
        some = keys[start : start + READ]
        place = np.minimum(np.searchsorted(ordered, some), ordered.size - 1)
        out[start : start + READ] = ordered[place] == some
    return out


def _times(ordered: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How often each key occurs among those that are ordered."""
    return np.searchsorted(ordered, keys, "right") - np.searchsorted(ordered, keys, "left")
