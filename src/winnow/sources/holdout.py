"""Hold examples out: a split that does not depend on the order of the source.

The number held out is exactly round(fraction x n). For classification each class gives its share, rounded by largest
remainder, between one and all but one of its examples, so that every class with at least two is on both sides; a class
with a single example stays in the training part. Within a class, those with the smallest random numbers are drawn; the
numbers depend only on the seed and the ids.

If examples belong together (`Source.groups`) or have a time, `grouped_split` decides instead: groups stay whole, the
latest part is held out, and the size is as near as that allows.
With several labels per example, examples are put in the order of their label sets (`artefacts.label_sets`), those of
equal sets in random order, and every k-th is held out: each label gives its share, as nearly as whole numbers allow.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.label_sets import label_set_numbers
from ..artefacts.source import Source
from ..core import checks
from ..core.errors import DataError
from ..core.seeds import drawn_first, stream
from .grouped_split import by_group, by_time

__all__ = ["hold_out", "sample", "split_at"]


def hold_out(
    source: Source,
    fraction: float,
    seed: int = 0,
    names: tuple[str, str] = ("train", "test"),
    *,
    together: bool = True,
) -> tuple[Source, Source]:
    """Split a source in two.

    Parameters
    ----------
    source
        The source to split.
    fraction
        The fraction to hold out, above 0 and below 1.
    seed
        Seed of the draw; a split by time has none.
    names
        Names of the two parts, appended to the name of the source.
    together
        Whether groups stay whole and the latest part is held out, if the source has groups or times.

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
    left = np.zeros(len(source), dtype=bool)
    if together and source.times is not None:
        held, left = by_time(source, total)
    elif together and source.groups is not None:
        held = by_group(source, total, seed)
    elif source.task == "classification" and source.labels is not None:
        held = _by_class(source, total, seed, "hold-out")
    elif source.task == "multilabel" and source.labels is not None:
        held = _by_label_set(source, total, seed, "hold-out")
    else:
        held = _drawn(source, total, seed, "hold-out")
    if left.any():
        warnings.warn(
            f"{int(left.sum())} of {len(source)} examples of source {source.name!r} are in neither part: their groups "
            "go on into the held-out time",
            stacklevel=2,
        )
    inside = np.zeros(len(source), dtype=bool)
    inside[held] = True
    about = {"fraction": part, "seed": seed} | ({"left_out": int(left.sum())} if left.any() else {})
    return split_at(source, inside, names, about, ~inside & ~left)


def split_at(
    source: Source,
    inside: NDArray[np.bool_],
    names: tuple[str, str],
    about: dict[str, Any],
    rest: NDArray[np.bool_] | None = None,
) -> tuple[Source, Source]:
    """Return the rest and the held-out part of a source, each in its order; a table is encoded by the rest alone.

    Parameters
    ----------
    source
        The source to split.
    inside
        Which examples are held out.
    names
        Names of the two parts, appended to the name of the source.
    about
        How they were drawn, for the origin of both.
    rest
        Which examples are in the other part; all others if not given.
    """
    parts = (np.flatnonzero(~inside if rest is None else rest), np.flatnonzero(inside))
    left, out = (
        replace(
            source.at(where, f"{source.name}:{word}"), origin={**source.origin, "hold_out": {"part": word, **about}}
        )
        for where, word in zip(parts, names, strict=True)
    )
    if source.raw is None:
        return left, out
    left = left.refitted()  # what is held out must not tell how a table is encoded
    return left, out.as_in(left)


def sample(source: Source, size: int, seed: int = 0) -> Source:
    """Draw a stratified random sample of a source, independent of the order of the source.

    Examples are drawn one by one, also if they belong to groups: the sample has the exact size, keeps its groups and
    times, and whatever is split off it later respects them.

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
    elif source.task == "multilabel" and source.labels is not None:
        drawn = _by_label_set(source, wanted, seed, "sample")
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


def _by_label_set(source: Source, total: int, seed: int, name: str) -> NDArray[np.int64]:
    order = _drawn(source, len(source), seed, name)
    by_set = order[np.argsort(label_set_numbers(np.asarray(source.labels)[order]), kind="stable")]
    start = stream(seed, name, "start").random()
    return np.asarray(by_set[((np.arange(total) + start) * len(source) / total).astype(np.int64)])


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
