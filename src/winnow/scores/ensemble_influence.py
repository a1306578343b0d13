"""Ensemble influence: how much an example helps networks to get other examples right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import checks, registry
from .arithmetic import labels_of

__all__ = ["ensemble_influence"]

ROWS = 1 << 10  # of the table of one class, worked on at a time
Floats = NDArray[np.float64]


@registry.score(
    needs={"ensemble_member", "ensemble_correct"},
    paper="Feldman and Zhang 2020 (influence)",
    cost=registry.Cost("class^2", memory=8),
)
def ensemble_influence(signals: Signals, *, of: str = "max") -> NDArray[np.float64]:
    """How much the example raises the accuracy on another example of its class, at most.

    The influence of i on j is P(right on j | i in the training set) - P(right on j | i not in it), over the models of
    a subset ensemble that were not trained on j. The paper takes j from the test set; here the others of the training
    set serve, since test data must not choose. Only pairs of one class are compared, as in the paper. The score is the
    largest influence on any j, or the mean of the absolute ones. Pairs for which one of the two shares has no model
    are left out; an example without any pair scores 0. Single influences are noisy: the paper trains thousands of
    models, and with a few dozen most of the largest value is chance.

    Parameters
    ----------
    signals
        Must have `ensemble_member`, `ensemble_correct` and labels.
    of
        `max` or `mean`.
    """
    checks.choice("of", "score 'ensemble_influence'", of, ("max", "mean"))
    member, right = signals.array("ensemble_member"), signals.array("ensemble_correct")
    labels, out = labels_of(signals), np.zeros(len(signals))
    for label in np.unique(labels):
        places = np.flatnonzero(labels == label)
        inside = np.asarray(member[:, places], dtype=np.float64)
        outside, correct = 1.0 - inside, np.asarray(right[:, places], dtype=np.float64)
        for start in range(0, places.size, ROWS):
            rows = slice(start, start + ROWS)
            found, known = _influences(inside[:, rows], outside, correct)
            known[np.arange(len(known)), start + np.arange(len(known))] = False  # not on itself: that is memorization
            if of == "max":
                values = np.where(known, found, -np.inf).max(axis=1)
            else:
                values = np.where(known, np.abs(found), 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
            out[places[rows]] = np.where(known.any(axis=1), values, 0.0)
    return out


def _influences(inside: Floats, outside: Floats, correct: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Influence of some examples on all of a class, and whether both shares have models."""
    shares = []
    known = np.ones((inside.shape[1], outside.shape[1]), dtype=np.bool_)
    for chosen in (inside, 1.0 - inside):
        models = chosen.T @ outside
        known &= models > 0
        shares.append((chosen.T @ (outside * correct)) / np.maximum(models, 1.0))
    return shares[0] - shares[1], known
