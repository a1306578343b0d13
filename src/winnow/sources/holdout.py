"""Hold examples out: a split that does not depend on the order of the source.

The number held out is exactly round(fraction x n). For classification each class gives its share, rounded by largest
remainder, between one and all but one of its examples, so that every class with at least two is on both sides; a class
with a single example stays in the training part. Within a class, those with the smallest random numbers are drawn; the
numbers depend only on the seed and the ids.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core import checks
from ..core.errors import DataError
from ..core.seeds import drawn_first

__all__ = ["hold_out", "sample"]


def hold_out(
    source: Source, fraction: float, seed: int = 0, names: tuple[str, str] = ("train", "test")
) -> tuple[Source, Source]:
    """Split a source in two.

    Parameters
    ----------
    source
        The source to split.
    fraction
        The fraction to hold out, above 0 and below 1.
    seed
        Seed of the draw.
    names
        Names of the two parts, appended to the name of the source.

    Returns
    -------
    tuple of Source
        The rest and the held-out part, each in the order of the source.
    """
    part = checks.number("fraction", "hold_out", fraction, low=0, high=1, open_low=True, open_high=True)
    checks.integer("seed", "hold_out", seed, low=0)
    total = round(part * len(source))
    if not 0 < total < len(source):
        raise DataError(
            f"source {source.name!r} has too few examples ({len(source)}) to hold out {part:g} of them and keep some."
        )
    if source.task == "classification" and source.labels is not None:
        held = _by_class(source, total, seed, "hold-out")
    else:
        held = _drawn(source, total, seed, "hold-out")
    inside = np.zeros(len(source), dtype=bool)
    inside[held] = True
    parts = (np.flatnonzero(~inside), np.flatnonzero(inside))
    rest, out = (
        replace(
            source.at(where, f"{source.name}:{word}"),
            origin={**source.origin, "hold_out": {"part": word, "fraction": part, "seed": seed}},
        )
        for where, word in zip(parts, names, strict=True)
    )
    if source.raw is None:
        return rest, out
    rest = rest.refitted()  # what is held out must not tell how a table is encoded
    return rest, out.as_in(rest)


def sample(source: Source, size: int, seed: int = 0) -> Source:
    """Draw a stratified random sample of a source, independent of the order of the source.

    Parameters
    ----------
    source
        The source to draw from.
    size
        The number of examples; a source with no more than this is returned unchanged.
    seed
        Seed of the draw.
    """
    wanted = checks.integer("size", "sample", size, low=1)
    if wanted >= len(source):
        return source
    if source.task == "classification" and source.labels is not None:
        drawn = _by_class(source, wanted, seed, "sample", both_sides=False)
    else:
        drawn = _drawn(source, wanted, seed, "sample")
    part = source.at(np.sort(drawn), f"{source.name}:{wanted}")
    return replace(part, origin={**source.origin, "sample": {"size": wanted, "seed": seed}})


def _drawn(source: Source, total: int, seed: int, name: str) -> NDArray[np.int64]:
    return source.order[drawn_first(seed, name, source.ids[source.order], total)]


def _by_class(source: Source, total: int, seed: int, name: str, both_sides: bool = True) -> NDArray[np.int64]:
    order = _drawn(source, len(source), seed, name)
    labels = np.asarray(source.labels)[order]
    quotas = _quotas(np.bincount(labels, minlength=len(source.classes)), total, source.name, both_sides)
    return np.concatenate([order[labels == number][:quota] for number, quota in enumerate(quotas)])


def _quotas(counts: NDArray[np.int64], total: int, name: str, both_sides: bool) -> NDArray[np.int64]:
    """The number to draw per class: close to its share, with sum `total`.

    Within [1, count - 1] if every class must be on both sides, otherwise within [0, count].
    """
    low = np.where(counts >= 2, 1, 0) if both_sides else np.zeros_like(counts)
    high = np.maximum(counts - 1, 0) if both_sides else counts
    if not low.sum() <= total <= high.sum():
        raise DataError(
            f"source {name!r} has too few examples to hold out {total} of {int(counts.sum())} with each "
            f"of its {int((counts > 0).sum())} classes on both sides; between {int(low.sum())} and "
            f"{int(high.sum())} can be held out. If the labels are numbers to predict, pass task='regression'."
        )
    share = counts * (total / counts.sum())
    quotas: NDArray[np.int64] = np.clip(np.floor(share).astype(np.int64), low, high)
    while (short := total - int(quotas.sum())) != 0:
        step = 1 if short > 0 else -1
        room = quotas < high if step > 0 else quotas > low
        gap = np.where(room, (share - quotas) * step, -np.inf)
        # The class furthest from its share changes by one; ties go by class number.
        quotas[np.argsort(-gap, kind="stable")[: min(abs(short), int(room.sum()))]] += step
    return quotas
