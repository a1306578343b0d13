"""How surely two rows of a table are copies: column by column, and against what chance would give.

Rows may agree by chance. Two rows of three yes-or-no columns often do, two of ten measurements never. For equal rows,
`repeat_probability` counts how many rows agree in all columns but one: if columns are drawn independently of who was
copied, the share q of pairs that agree in that column turns those counts into an expected number of equal rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source
from ..artefacts.frozen_arrays import let_go
from ..core.progress import track
from ..core.scratch_rows import scratch_rows

__all__ = ["CLOSE", "chance_agreements", "comparable", "repeat_probability", "standard_rows", "widest_gap"]

CLOSE = 0.08  # of a column's standard deviation: how far apart the values of a copy may be
READ = 65_536  # rows read at a time
_ODD = 0x9E3779B97F4A7C15


def comparable(source: Source) -> NDArray[np.floating]:
    """The rows of a table as numbers, one per column as it was given, that are equal where the values are."""
    if source.raw is None:
        return _all_rows(source)
    return np.stack(list(source.raw.codes().values()), axis=1)


def standard_rows(source: Source) -> NDArray[np.float32]:
    """The rows of a table with its columns divided by their standard deviation; two categories are at least 1 apart.

    Constant columns become 0, values that are not finite the mean. Many rows are in a file.
    """
    if source.raw is None:
        rows = _all_rows(source).astype(np.float32, copy=False)
        quantities = list(range(rows.shape[1]))
    else:
        codes, named = source.raw.codes(), source.raw.quantities()
        rows = scratch_rows((len(source), len(codes)), np.float32)
        for place, (name, column) in enumerate(codes.items()):
            rows[:, place] = _standardised(column) if name in named else column
        quantities = []
    for place in quantities:  # one column at a time: a table may be larger than the memory
        rows[:, place] = _standardised(rows[:, place])
        let_go(rows)
    return rows


def _all_rows(source: Source) -> NDArray[np.floating]:
    """Every row as the source reads it, one number per column."""
    dtype = source.read(np.arange(1)).dtype
    rows = scratch_rows((len(source), int(np.prod(source.shape))), dtype if dtype.kind == "f" else np.float32)
    for start in track(range(0, len(rows), READ), "reading the table"):
        where = np.arange(start, min(start + READ, len(rows)))
        rows[where] = source.read(where).reshape(where.size, -1)
        let_go(rows)
    return rows


def _standardised(values: NDArray[np.floating]) -> NDArray[np.float64]:
    column = values.astype(np.float64)
    good = np.isfinite(column)
    centre = float(column[good].mean()) if good.any() else 0.0
    column = np.where(good, column - centre, 0.0)
    spread = float(column.std())
    return np.zeros_like(column) if spread <= 1e-9 * max(abs(centre), 1e-30) else column / spread


def widest_gap(rows: NDArray[np.float32], pairs: NDArray[np.int64], block: int = 65_536) -> NDArray[np.float64]:
    """The largest difference of each pair in any column, in standard deviations."""
    out = np.empty(len(pairs))
    for start in range(0, len(pairs), block):
        left, right = pairs[start : start + block].T
        out[start : start + block] = np.abs(rows[left] - rows[right]).max(axis=1, initial=0.0)
    return out


def chance_agreements(rows: NDArray[np.float32], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many other rows one would expect to agree with the first of a pair as well as the second does, by chance.

    The share of rows within reach in each column, multiplied over columns as if they were independent, times the number
    of rows. Columns that depend on each other make it too small, so it only refuses what is not even unlikely then.
    """
    out = np.full(len(pairs), np.log(len(rows)))
    left, right = pairs.T
    for column in rows.T:
        known = np.sort(column)
        centre = column[left]
        reach = np.maximum(np.abs(centre - column[right]), CLOSE / 2)
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
        mixed += _mixed(rows[:, column], column)
    sure, known = np.zeros(n), np.sort(mixed)
    some = np.flatnonzero(np.isin(mixed, known[1:][known[1:] == known[:-1]]))  # rows that have an equal
    if not some.size:
        return sure
    equal = _times(known, mixed[some]) - 1
    expected = np.zeros(some.size)
    for column in track(range(width), "columns of equal rows"):
        own = _mixed(rows[:, column], column)
        let_go(rows)
        known = np.sort(own)
        ends = np.flatnonzero(np.append(known[1:] != known[:-1], True))
        alike = np.diff(ends, prepend=-1).astype(np.float64)
        q = float((alike * (alike - 1)).sum()) / (n * max(n - 1, 1))
        if q in (0.0, 1.0):  # no two rows agree in it, or all do
            continue
        without = mixed - own
        others = _times(np.sort(without), without[some]) - 1 - equal
        np.maximum(expected, others * q / (1 - q), out=expected)
    # A row's own count is small and so uncertain: half of what is expected is that of all rows with an equal one.
    chance = (expected / equal + expected.sum() / equal.sum()) / 2
    sure[some] = 1 - np.minimum(chance, 1.0)
    return sure


def _mixed(column: NDArray[np.floating], number: int) -> NDArray[np.uint64]:
    """A hash of each value that depends on the column; hashes of a row are added, so one can be taken out again."""
    bits = np.ascontiguousarray(column + 0.0, dtype=np.float64).view(np.uint64).copy()
    bits ^= np.uint64((number + 1) * _ODD % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def _times(ordered: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How often each key occurs among those that are ordered."""
    return np.searchsorted(ordered, keys, "right") - np.searchsorted(ordered, keys, "left")
