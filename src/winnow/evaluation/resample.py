"""Resampled training sets: what stands in for the luck of training if the model has none.

A scikit-learn estimator that is fitted twice to the same examples is often the same, whatever the seed, and the spread
between seeds would be zero. So where several seeds are compared, the fit of seed s leaves out a random tenth of the
arm's examples: nearly the same tenth in every arm, where arms share examples, so that differences stay paired. If
examples belong to groups, whole groups are left out. The spread between seeds then shows how much a fit depends on
which examples happened to be there.

What is estimated is the expected metric of a fit to a random nine tenths of the arm's examples, and the interval is for
other such draws and other test examples. Every arm pays the tenth, so differences between arms are fair; levels are a
little below those of a fit to all of an arm. A bootstrap would repeat examples, which some estimators take for
certainty, and would use only 63 % of them.
"""

from __future__ import annotations

import numpy as np

from ..artefacts import Source, Subset
from ..core.seeds import uniforms

__all__ = ["LEFT_OUT", "resampled"]

LEFT_OUT = 0.1


def resampled(subset: Subset, source: Source, seed: int) -> Subset:
    """Return the subset without a tenth of its examples, drawn by id or by group; every class keeps at least one.

    Parameters
    ----------
    subset
        The training set.
    source
        What it was chosen from.
    seed
        Seed of the draw.
    """
    where = subset.indices(source)
    units = subset.ids if source.groups is None else source.groups[where]
    lots = uniforms(seed, "resample", units)
    order = np.lexsort((uniforms(seed, ("resample", "within"), subset.ids), lots))
    kept = np.ones(len(subset), dtype=bool)
    kept[order[: int(LEFT_OUT * len(subset))]] = False
    if source.task == "classification" and source.labels is not None:
        labels = source.labels[where]
        for lost in np.setdiff1d(labels, labels[kept]).tolist():
            kept[order[labels[order] == lost][-1]] = True
    return Subset(subset.ids[kept], subset.weights[kept])
