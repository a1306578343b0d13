"""Slow, obvious twins of what audit and why compute: loops over examples, and training again for each removal."""

from __future__ import annotations

import numpy as np

from tests.oracles import influence


def loss_at(theta, x, y):
    """Cross-entropy of one example."""
    z = x @ theta
    return float(np.log(np.exp(z - z.max()).sum()) + z.max() - z[y])


def changes_by_retraining(rows, labels, others, truth, classes, damping, removals):
    """The change of the loss on each other example after training without each set of examples."""
    whole = influence.softmax_head(rows, labels, damping, classes)
    out = []
    for removed in removals:
        kept = [i for i in range(len(rows)) if i not in set(removed)]
        theta = influence.softmax_head(rows[kept], labels[kept], damping, classes)
        out.append(
            [loss_at(theta, x, y) - loss_at(whole, x, y) for x, y in zip(others, truth, strict=True)]
        )  # fmt: skip
    return np.array(out)


def nearest_distances(asked, kept):
    """The distance of each row to its nearest kept one."""
    return np.array([min(float(np.linalg.norm(a - b)) for b in kept) for a in asked])


def coverage(rows, labels, kept):
    """Mean over examples of the largest cosine with a kept example of the same class, -1 if there is none."""
    best = []
    for i, row in enumerate(rows):
        cosines = [
            float(row @ rows[j] / (np.linalg.norm(row) * np.linalg.norm(rows[j])))
            for j in kept
            if labels[j] == labels[i]
        ]
        best.append(max(cosines, default=-1.0))
    return float(np.mean(best))


def along_axes(points, most):
    """Coordinates along the principal directions, by a singular value decomposition of the centred points."""
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    return centred @ axes[:most].T
