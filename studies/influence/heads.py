"""Heads on fixed features: a draw of images, the head trained on it, and what a removal does to it.

Images are reduced to principal components of the draw, with a column of ones. Test images are looked at to report the
gap in loss, never to choose anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from winnow.core import seeds

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

DAMPING = 1e-3
COMPONENTS = 64


@dataclass(frozen=True, eq=False)
class Trained:
    """A head at its optimum, its influence vectors, and test images to judge it by."""

    features: Floats
    labels: Positions
    others: Floats
    truth: Positions
    head: wn.influence.FittedHead
    vectors: wn.influence.Influence

    def without(self, removed: Positions) -> Floats:
        """Theta after training on what is left."""
        kept = np.setdiff1d(np.arange(len(self.labels)), removed)
        theta = self.head.theta
        return wn.influence.fit_head(
            self.features[kept], self.labels[kept], DAMPING, start=theta, classes=theta.shape[1]
        ).theta


def trained(data: str, n: int, components: int, name: str, repeat: int) -> Trained:
    """The head of one draw of n training images, with all test images beside it."""
    train, test = wn.open(data), wn.open(data, split="test")
    rows = np.sort(seeds.stream(0, "influence", name, data, repeat).choice(len(train), n, replace=False))
    raw = [
        source.read(places).reshape(places.size, -1).astype(np.float64) / 255
        for source, places in ((train, rows), (test, np.arange(len(test))))
    ]
    centre = raw[0].mean(axis=0)
    axes = np.linalg.eigh((raw[0] - centre).T @ (raw[0] - centre))[1][:, : -components - 1 : -1]
    made = [(x - centre) @ axes for x in raw]
    scale = made[0][:, 0].std()
    features, others = (np.hstack([x / scale, np.ones((len(x), 1))]) for x in made)
    labels, truth = np.asarray(train.labels)[rows].astype(np.int64), np.asarray(test.labels).astype(np.int64)
    head = wn.influence.fit_head(features, labels, DAMPING, classes=len(train.classes))
    vectors = wn.influence.vectors(features, head.outputs, labels, DAMPING)
    return Trained(features, labels, others, truth, head, vectors)


def removal(of: Trained, removed: Positions, certificate: Mapping[str, Any]) -> dict[str, float]:
    """What was predicted of a removal, and what retraining finds.

    `first` and `second` are the terms of the test loss along the linear prediction of the change: its slope at the
    full head times the change, and half its curvature. `slope` is the length of that slope.
    """
    before, theta = of.head.theta, of.without(removed)
    predicted = of.vectors[removed].sum(axis=0).reshape(before.shape) * len(of.labels) / (len(of.labels) - removed.size)
    slope, second = bent(of, predicted)
    told = ("linear", "newton", "corrected", "printed", "curvature")
    # where Newton steps do not settle the certificate says infinity, which JSON does not
    known = {name: float(certificate[name]) for name in told}
    return {name: value if np.isfinite(value) else None for name, value in known.items()} | {
        "actual": float(np.linalg.norm(theta - before)),
        "gap": loss_of(theta, of.others, of.truth) - loss_of(before, of.others, of.truth),
        "first": float((slope * predicted).sum()),
        "second": second,
        "slope": float(np.linalg.norm(slope)),
    }


def bent(of: Trained, change: Floats) -> tuple[Floats, float]:
    """The slope of the test loss at the full head, and half its curvature along a change."""
    scores = of.others @ of.head.theta
    probs = np.exp(scores - scores.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    step = of.others @ change
    variance = (probs * step**2).sum(axis=1) - (probs * step).sum(axis=1) ** 2
    probs[np.arange(len(probs)), of.truth] -= 1.0
    return of.others.T @ probs / len(probs), float(variance.mean() / 2)


def loss_of(theta: Floats, features: Floats, labels: Positions) -> float:
    """Mean cross-entropy of a softmax head."""
    z = features @ theta
    top = z.max(axis=1)
    return float((np.log(np.exp(z - top[:, None]).sum(axis=1)) + top - z[np.arange(len(z)), labels]).mean())
