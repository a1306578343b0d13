"""Outliers: examples far from all others, and images that show nothing.

How far out an example is: its distance from its neighbours over theirs from their own, about 1 in a crowd, whatever
its density. The bulk of the data says what ratios are usual: beyond the 90 % quantile the tail of the log ratio is
taken as exponential, with the slope between the 90 and 99 % quantiles, which a few outliers do not move. If S is the
share of clean examples beyond a ratio by that tail, and `STRAY` the share of outliers assumed beforehand, the
probability is 1 / (1 + S / STRAY).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts import Source
from ..artefacts.finding import Finding
from ..core.progress import track
from ..signals.neighbours import nearest
from ..signals.text_rows import text_rows
from .duplicates import given_label
from .image_match import reduced
from .near_pairs import checks_rows, pictured

__all__ = ["outliers"]

NEIGHBOURS = 10
RECALL = 0.8  # in large sets; a neighbour a little farther changes the mean distance little
STRAY = 0.0005
LEAST = 0.5  # the least probability that is reported
FEWEST = 100  # examples; fewer do not say what is usual
FLAT = 1.5  # standard deviation of pixels from 0 to 255 below which an image shows nothing
CUT = 0.3  # share of rows at the bottom that are one colour: a file that was cut off
READ = 4_096


def outliers(source: Source, embeddings: ArrayLike | None = None, *, seed: int = 0) -> list[Finding]:
    """Find examples far from all others (kind `outlier`), and empty or cut-off images (kind `value`).

    Parameters
    ----------
    source
        The examples; labels are not used.
    embeddings
        One row per example, in the order of the source. If not given: an image of 8 x 8 pixels, the columns of a table
        on a scale that tames long tails, the tf-idf of words, or the values.
    seed
        Seed of the search in large sets.

    Returns
    -------
    list
        Findings, the surest first of each kind; outliers are never flagged, because they may be what matters most.
    """
    blank = _blank(source) if pictured(source) else []
    if len(source) < FEWEST:
        return blank
    rows = _coarse(source) if embeddings is None else checks_rows(embeddings, len(source))
    ratio = far_out(rows, ids=source.ids, seed=seed)
    sure = tail_probability(np.log(ratio))
    gone = {one.id for one in blank}
    order = np.lexsort((source.ids, -ratio))
    found = [
        Finding(
            kind="outlier",
            probability=float(sure[one]),
            evidence=f"{ratio[one]:.2g} times as far from its neighbours as they are from theirs",
            id=source.ids[one].item(),
            label=given_label(source, int(one)),
        )
        for one in order[sure[order] >= LEAST]
        if source.ids[one].item() not in gone
    ]
    return blank + found


def far_out(rows: ArrayLike, *, ids: ArrayLike | None = None, seed: int = 0) -> NDArray[np.float64]:
    """The mean distance to an example's neighbours over the median of those of its neighbours."""
    found = nearest(rows, min(NEIGHBOURS, len(np.asanyarray(rows)) - 1), ids=ids, seed=seed, recall=RECALL)
    own = found.distances.mean(axis=1, dtype=np.float64)
    least = max(float(np.median(own)) * 1e-2, 1e-12)  # among copies everything would be infinitely far out
    theirs = np.empty(own.size)
    for start in range(0, own.size, 65_536):
        theirs[start : start + 65_536] = np.median(own[found.positions[start : start + 65_536]], axis=1)
    return np.asarray(np.maximum(own, least) / np.maximum(theirs, least))


def tail_probability(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability that each value comes from outside the bulk, by an exponential tail of the bulk."""
    high, higher = np.quantile(values, [0.9, 0.99])
    slope = max((higher - high) / np.log(10.0), 1e-9)
    beyond = 0.1 * np.exp(-np.clip((values - high) / slope, 0.0, 700.0))
    return np.where(values > high, 1 / (1 + beyond / STRAY), 0.0)


def _coarse(source: Source) -> NDArray[np.float32]:
    """A short row per example to measure distances in."""
    if pictured(source):
        import torch

        parts = []
        for start in track(range(0, len(source), READ), "small images"):
            x = reduced(source.read(np.arange(start, min(start + READ, len(source)))))
            small = torch.nn.functional.adaptive_avg_pool2d(torch.nan_to_num(x), (8, 8))
            parts.append(small.flatten(1).numpy())
        return np.concatenate(parts)
    if source.kind == "text":
        return text_rows(source)
    rows = source.read(np.arange(len(source))).reshape(len(source), -1)
    out = np.zeros(rows.shape, dtype=np.float32)
    for place in range(rows.shape[1]):  # one column at a time: a table may fill the memory
        column = rows[:, place].astype(np.float64)
        good = np.isfinite(column)
        if not good.any():
            continue
        column = np.where(good, column - np.median(column[good]), 0.0)
        spread = 1.4826 * float(np.median(np.abs(column))) or float(column.std())  # the second if mostly one value
        if spread > 0:
            out[:, place] = np.arcsinh(column / spread)  # a long tail counts by its logarithm
    return out


def _blank(source: Source) -> list[Finding]:
    """Images that show nothing, or that end in one colour where others do not."""
    flat, cut, bad = (np.zeros(len(source)) for _ in range(3))
    level = np.zeros(len(source))
    for start in track(range(0, len(source), READ), "empty images"):
        block = slice(start, min(start + READ, len(source)))
        x = source.read(np.arange(block.start, block.stop))
        bad[block] = (~np.isfinite(x)).reshape(len(x), -1).any(axis=1) if x.dtype.kind == "f" else 0
        grey = np.nan_to_num(x.astype(np.float32))
        scale = 1.0 if x.dtype == np.uint8 else 64.0
        flat[block] = grey.reshape(len(x), x.shape[1], -1).std(axis=2).max(axis=1) * scale
        level[block] = grey.reshape(len(x), -1).mean(axis=1)
        same = (np.ptp(grey, axis=3) == 0).all(axis=1) & (grey[:, :, :, :1] == grey[:, :, -1:, :1]).all(axis=(1, 3))
        cut[block] = np.argmin(np.concatenate([same[:, ::-1], np.zeros((len(x), 1), dtype=bool)], axis=1), axis=1)
    cut /= source.shape[1]
    empty = flat < FLAT
    # that images end in one colour is usual in some data sets
    cut_off = (cut >= CUT) & ~empty if np.quantile(cut[~empty], 0.99, method="lower") < CUT / 2 else empty & False
    out = []
    for one in np.flatnonzero(empty | cut_off | (bad > 0)):
        if bad[one]:
            words, sure = "some pixels are NaN or infinite", 1.0
        elif flat[one] == 0:
            dark = " (black)" if source.kind == "image" and level[one] == 0 else ""
            words, sure = f"every pixel has the same value{dark}", 1.0
        elif empty[one]:
            words, sure = f"pixels hardly differ: standard deviation {flat[one]:.2g} of 255", 0.9
        else:
            words, sure = f"the last {cut[one]:.0%} of the rows are one colour, as in a file that was cut off", 0.7
        out.append(
            Finding(
                kind="value",
                probability=sure,
                evidence=words,
                id=source.ids[one].item(),
                label=given_label(source, int(one)),
                flagged=sure >= 0.9,
            )
        )
    return sorted(out, key=lambda one: (-one.probability, str(one.id)))
