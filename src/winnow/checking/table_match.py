"""How surely two rows of a table are copies: column by column, and against what chance would give.

Rows may agree by chance. Two rows of three yes-or-no columns often do, two of ten measurements never. For equal rows,
`repeat_probability` counts how many rows agree in all columns but one: if columns are drawn independently of who was
copied, the share q of pairs that agree in that column turns those counts into an expected number of equal rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source

__all__ = ["CLOSE", "chance_agreements", "comparable", "repeat_probability", "standard_rows", "widest_gap"]

CLOSE = 0.08  # of a column's standard deviation: how far apart the values of a copy may be
_ODD = 0x9E3779B97F4A7C15


def standardised(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    """Columns divided by their standard deviation; constant ones become 0, values that are not finite the mean."""
    flat = np.asarray(rows).reshape(len(rows), -1)
    out = np.empty(flat.shape, dtype=np.float32)
    for place in range(flat.shape[1]):  # one column at a time: a table may fill the memory
        column = flat[:, place].astype(np.float64)
        good = np.isfinite(column)
        centre = float(column[good].mean()) if good.any() else 0.0
        column = np.where(good, column - centre, 0.0)
        spread = float(column.std())
        out[:, place] = 0.0 if spread <= 1e-9 * max(abs(centre), 1e-30) else column / spread
    return out


def comparable(source: Source) -> NDArray[np.floating]:
    """The rows of a table as numbers, one per column as it was given, that are equal where the values are."""
    if source.raw is None:
        return source.read(np.arange(len(source)))
    return np.stack(list(source.raw.codes().values()), axis=1)


def standard_rows(source: Source) -> NDArray[np.float32]:
    """The rows of a table with its columns divided by their standard deviation; two categories are at least 1 apart."""
    if source.raw is None:
        return standardised(source.read(np.arange(len(source))))
    quantities = source.raw.quantities()
    columns = [
        standardised(column[:, None]) if name in quantities else column[:, None].astype(np.float32)
        for name, column in source.raw.codes().items()
    ]
    return np.concatenate(columns, axis=1)


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
        The table, one row per example.
    """
    values = np.asarray(rows).reshape(len(rows), -1)
    n, width = values.shape
    mixed = np.zeros(n, dtype=np.uint64)
    for column in range(width):
        mixed += _mixed(values[:, column], column)
    equal = _count(mixed) - 1
    expected = np.zeros(n)
    for column in range(width):
        own = _mixed(values[:, column], column)
        agree = _count(own)
        q = float((agree - 1).sum()) / (n * max(n - 1, 1))
        if q in (0.0, 1.0):  # no two rows agree in it, or all do
            continue
        others = _count(mixed - own) - 1 - equal
        np.maximum(expected, others * q / (1 - q), out=expected)
    some = equal > 0
    if not some.any():
        return np.zeros(n)
    # A row's own count is small and so uncertain: half of what is expected is that of all rows with an equal one.
    overall = expected[some].sum() / equal[some].sum()
    chance = (expected / np.maximum(equal, 1) + overall) / 2
    return np.where(some, 1 - np.minimum(chance, 1.0), 0.0)


def _mixed(column: NDArray[np.floating], number: int) -> NDArray[np.uint64]:
    """A hash of each value that depends on the column; hashes of a row are added, so one can be taken out again."""
    bits = np.ascontiguousarray(column + 0.0, dtype=np.float64).view(np.uint64).copy()
    bits ^= np.uint64((number + 1) * _ODD % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def _count(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How many rows have the same key as each."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse], dtype=np.int64)
