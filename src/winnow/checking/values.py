"""Values of a table that cannot be right: stand-ins for missing ones, wrong signs, absurd magnitudes, empty rows.

The rules are meant to be silent on clean tables, so each asks for two things at once: a value far from the rest, and
something that chance does not do (repeat exactly, stand alone, have the wrong sign in a column without it).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source
from ..artefacts.finding import Finding
from .duplicates import given_label

__all__ = ["values"]

Column = NDArray[np.float64]
Suspicion = tuple[NDArray[np.bool_], float, str]  # which values, how sure, why

FEWEST = 20  # rows; fewer do not say what is usual
RARE = 0.1  # the largest share of a stand-in
SELDOM = 0.005  # the largest share of wrong signs
FAR = 4.0  # robust standard deviations from the median
LONE = 1.0  # robust standard deviations from the next value
ABSURD = 8.0  # robust standard deviations on the scale of logarithms
TIMES = 5.0  # how much further out than all other values an absurd one is
WIDE = 5  # columns; a narrower row may hold one value throughout by chance


def values(source: Source) -> list[Finding]:
    """Find impossible values in the rows of a table, rows that hold one value throughout, and texts without a word.

    Parameters
    ----------
    source
        A table or text; other kinds of data have no findings here.

    Returns
    -------
    list
        Findings of kind `value`, one per example: the surest one, with the columns in `subject`.
    """
    if source.kind == "text":
        return _empty_texts(source)
    if source.kind != "table" or len(source) < 2:
        return []
    found: dict[int, list[tuple[float, str, str]]] = {}
    for name, column in _quantities(source).items():
        there = np.arange(len(column)) if source.raw is None else np.flatnonzero(~np.isnan(column))
        for which, sure, why in impossible(column[there]):
            for one in there[which].tolist():
                found.setdefault(one, []).append((sure, name, f"{name} is {column[one]:g}: {why}"))
    for one, why in _empty(source):
        found.setdefault(one, []).append((0.9, "", why))
    out = []
    for one in sorted(found):
        reasons = sorted(found[one], key=lambda reason: -reason[0])
        out.append(
            Finding(
                kind="value",
                probability=reasons[0][0],
                evidence="; ".join(reason[2] for reason in reasons[:3]),
                id=source.ids[one].item(),
                subject=", ".join(dict.fromkeys(reason[1] for reason in reasons if reason[1])),
                label=given_label(source, one),
                flagged=reasons[0][0] >= 0.9,
            )
        )
    return out


def _quantities(source: Source) -> dict[str, Column]:
    """The columns of numbers, as given; NaN where a value is missing."""
    if source.raw is not None:
        return source.raw.quantities()
    rows = source.read(np.arange(len(source)))
    names = source.columns or tuple(f"x{place}" for place in range(rows.shape[1]))
    return {name: rows[:, place].astype(np.float64) for place, name in enumerate(names)}


def _empty(source: Source) -> Iterator[tuple[int, str]]:
    """Rows that hold one value throughout, or none at all."""
    if source.raw is not None:
        gone = np.logical_and.reduce(list(source.raw.missing().values()))
        yield from ((one, "every value is missing") for one in np.flatnonzero(gone).tolist())
        return
    rows = source.read(np.arange(len(source)))
    yield from ((one, f"every column is {rows[one, 0]:g}") for one in _empty_rows(rows).tolist())


def _empty_texts(source: Source) -> list[Finding]:
    empty = np.flatnonzero(~source.read(np.arange(len(source))).any(axis=1))
    return [
        Finding("value", 1.0, "no words", id=source.ids[one].item(), label=given_label(source, one), flagged=True)
        for one in empty.tolist()
    ]


def impossible(column: Column) -> Iterator[Suspicion]:
    """Yield the suspicions about the values of one column."""
    bad = ~np.isfinite(column)
    if bad.any():
        yield bad, 1.0, "not a finite number"
    good = column[~bad]
    if good.size < FEWEST or np.unique(good).size < 3:
        return
    seen: list[float] = []
    for value, sure, why in _stand_ins(good):
        seen.append(value)
        yield column == value, sure, why
    rest = good[~np.isin(good, seen)]
    if rest.size < FEWEST:
        return
    negative = _wrong_sign(rest)
    if negative:
        yield (column < 0) & ~np.isin(column, seen), 0.8, "negative, in a column that is otherwise positive"
        rest = rest[rest >= 0]
    limit = _absurd(rest)
    if limit is not None:
        centre, reach, why = limit
        yield (np.abs(column - centre) >= reach) & ~bad & ~np.isin(column, seen), 0.9, why


def _stand_ins(column: Column) -> Iterator[tuple[float, float, str]]:
    """Extreme values that repeat exactly and stand apart from the rest: -999, 9999, or 0 where nothing is near 0."""
    kinds, counts = np.unique(column, return_counts=True)
    for end, next_to in ((0, 1), (-1, -2)):
        value, count = float(kinds[end]), int(counts[end])
        nines = _nines(value)
        if count < (2 if nines else 3) or count > RARE * column.size or kinds.size < 5:
            continue
        rest = column[column != value]
        spread = _spread(rest)
        gap = abs(float(kinds[next_to]) - value)
        usual = float(np.max(np.diff(kinds[1:] if end == 0 else kinds[:-1])))
        far = abs(value - float(np.median(rest)))
        zero = value == 0 and rest.min() > 0 and gap >= 0.5 * spread and gap >= 10 * usual
        if spread <= 0 or not (zero or (far >= FAR * spread and gap >= max(LONE * spread, usual))):
            continue
        span = float(np.ptp(rest))
        if nines and gap >= 0.5 * span:
            yield value, 0.98, f"a stand-in for a missing value: {count} times, far from the rest"
        elif zero or (value == 0 and rest.min() > 0 and gap >= 2 * usual):
            yield value, 0.9, f"zero {count} times in a column that is otherwise at least {rest.min():g}"
        elif gap >= 2 * span:
            yield value, 0.9, f"{count} times exactly the same, and far from the rest"


def _nines(value: float) -> bool:
    """Whether a number is one that people write for a missing value: -1, 99, -999, 9999.99 and the like."""
    digits = f"{abs(value):.6g}".replace(".", "")
    return value == -1 or (len(digits) >= 2 and set(digits) <= {"9"})


def _wrong_sign(column: Column) -> bool:
    """Whether a few negative values stand in a column that is otherwise positive, by nature and not by chance."""
    negative = column < 0
    if not 0 < negative.sum() <= max(1, SELDOM * column.size) or (column == 0).any() or column.size < 2 * FEWEST:
        return False
    rest = column[~negative]
    spread = _spread(rest)
    gap = float(rest.min() - column[negative].max())
    # where values crowd at zero, a distribution that ran on below it would have more than a few there
    crowded = float((rest <= rest.min() + np.ptp(rest) / 10).mean()) > 0.25
    return spread > 0 and (gap >= LONE * spread or crowded)


def _absurd(column: Column) -> tuple[float, float, str] | None:
    """From which distance of the median values are absurd: far beyond all others, even on the scale of logarithms."""
    centre = float(np.median(column))
    far = np.sort(np.abs(column - centre))
    most = max(3, int(0.0005 * far.size))
    spread = _spread(column)
    if spread <= 0 or far.size < 2 * FEWEST:
        return None
    steps = np.log(np.maximum(far, spread))
    rest = steps[: far.size - most]
    usual = rest[rest > rest[0]]  # those beyond one spread
    if usual.size < FEWEST:
        return None
    width = max(float(np.quantile(usual, 0.75) - np.quantile(usual, 0.25)) / 1.349, 0.1)
    middle = float(np.median(usual))
    for place in range(far.size - most, far.size):
        alone = far[place] >= TIMES * far[place - 1]
        if alone and (steps[place] - middle) / width >= ABSURD:
            return centre, float(far[place]), f"{far[place] / far[place - 1]:.0f} times as far out as any other value"
    return None


def _spread(column: Column) -> float:
    """A standard deviation that a few values cannot move; that of the values themselves if half are the same."""
    low, high = np.quantile(column, [0.25, 0.75])
    return float(high - low) / 1.349 or float(column.std())


def _empty_rows(rows: NDArray[np.float32]) -> NDArray[np.int64]:
    """Positions of the few rows that hold one value throughout."""
    if rows.shape[1] < WIDE:
        return np.zeros(0, dtype=np.int64)
    same = np.flatnonzero(np.ptp(rows, axis=1) == 0)
    if not 0 < same.size <= max(1, 0.01 * len(rows)):
        return np.zeros(0, dtype=np.int64)
    # in a table of few whole numbers such rows occur by chance
    shares = {value: float(np.prod((rows == value).mean(axis=0))) for value in np.unique(rows[same, 0])}
    return np.asarray([one for one in same if len(rows) * shares[rows[one, 0]] < 0.01], dtype=np.int64)
