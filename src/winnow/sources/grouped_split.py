"""Splits of examples that belong together or have a time.

**Groups.** Groups are taken in random order, keyed by seed and group. One is held out if that brings the held-out part
nearer to its share of every class and to its size, that is if it lowers the sum over classes of (held - share)^2 /
share plus the same of the size times the number of classes, and does not take the last example of a class from the
rest. A class of several groups that is then not held out yet gives the first group that can be spared. So groups stay
whole, classes are on both sides where their groups allow it, and the size is near the one asked for.

**Time.** The latest examples are held out, from a moment on: equal times are on one side, so the size is the nearest
possible. If there are groups too, examples of held-out groups from before that moment are left out of both parts:
training on them would show the held-out groups, and testing on them would judge the past by the future.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError
from ..core.seeds import drawn_first

__all__ = ["by_group", "by_time"]


def by_group(source: Source, total: int, seed: int) -> NDArray[np.int64]:
    """Return the positions held out: whole groups, about `total` examples."""
    names, group = np.unique(np.asarray(source.groups), return_inverse=True)
    if names.size < 2:
        raise DataError(f"source {source.name!r} has one group, {names[0]!s}; at least two are needed to hold one out.")
    kinds = source.labels if source.task == "classification" and source.labels is not None else None
    labels = np.zeros(len(source), dtype=np.int64) if kinds is None else np.asarray(kinds)
    counts = np.zeros((names.size, int(labels.max()) + 1), dtype=np.int64)
    np.add.at(counts, (group, labels), 1)
    everyone = counts.sum(0)
    counts, everyone = counts[:, everyone > 0], everyone[everyone > 0]
    share = everyone * (total / len(source))
    order = drawn_first(seed, "hold-out", names)
    out, held = np.zeros(names.size, dtype=bool), np.zeros_like(everyone)

    def distance(some: NDArray[np.int64]) -> float:
        return float((np.square(some - share) / share).sum() + share.size * (some.sum() - total) ** 2 / total)

    for one in order.tolist():
        after = held + counts[one]
        if distance(after) < distance(held) and (after < everyone).all():
            out[one], held = True, after
    for kind in np.flatnonzero(held == 0).tolist():
        spared = [one for one in order.tolist() if counts[one, kind] and (held + counts[one] < everyone).all()]
        if held[kind] == 0 and spared:
            out[spared[0]], held = True, held + counts[spared[0]]
    if not out.any():
        raise DataError(
            f"source {source.name!r} has too few groups ({names.size}) to hold out {total} of {len(source)} examples "
            "with every class left to train on; give test data, or open it without group=."
        )
    return np.flatnonzero(out[group])


def by_time(source: Source, total: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the positions of the latest examples, about `total`, and which others are left out of both parts."""
    times = np.asarray(source.times)
    moments, counts = np.unique(times, return_counts=True)
    if moments.size < 2:
        raise DataError(f"source {source.name!r} has one time, {moments[0]!s}; at least two are needed to split by.")
    later = counts[::-1].cumsum()[::-1][1:]  # how many examples are held out from each moment on, but the first
    inside = times >= moments[1 + int(np.abs(later - total).argmin())]
    left = np.zeros(len(source), dtype=bool)
    if source.groups is not None:
        left = ~inside & np.isin(source.groups, np.unique(source.groups[inside]))
    rest = ~inside & ~left
    if not rest.any():
        raise DataError(
            f"source {source.name!r} has no group that ends before the held-out time begins; give test data, or open "
            "it without group= or time=."
        )
    if source.task == "classification" and source.labels is not None and np.ptp(source.labels[rest]) == 0:
        raise DataError(
            f"source {source.name!r} has one class before the held-out time begins, {moments.size} times in all; at "
            "least two classes are needed to train on."
        )
    return np.flatnonzero(inside), left
