"""The development data of the label check: ten sets with planted wrong labels, never among those that are reported."""

from __future__ import annotations

import numpy as np
import torch

import winnow as wn
from studies.winning.data import keel

__all__ = ["DEVELOPMENT", "NOISE", "development"]

DEVELOPMENT = {  # how many examples of each
    "digits": 1700,
    "mnist": 2500,
    "mnist-blur": 2500,
    "letter": 3000,
    "satimage": 3000,
    "marketing": 2500,
    "phoneme": 2500,
    "spambase": 2500,
    "texture": 2000,
    "magic": 2500,
}
NOISE = (
    ("human", 0.2),
    ("uniform", 0.2),
    ("pair", 0.2),
    ("uniform", 0.05),
    ("uniform", 0.0),
    ("human", 0.1),
    ("uniform", 0.4),
)


def development(name: str, limit: int | None = None) -> wn.Source:
    """One of the sets with its true labels."""
    count = DEVELOPMENT[name] if limit is None else min(limit, DEVELOPMENT[name])
    if name in ("digits", "mnist"):
        return wn.open(name, limit=count)
    if name == "mnist-blur":
        return _blurred(count)
    x, y = keel(name)
    some = np.random.default_rng(0).permutation(len(x))[:count]
    return wn.open((x[some], np.array(y)[some].tolist()), name=name)


def _blurred(count: int) -> wn.Source:
    """MNIST at 7 x 7 with noise: images that are hard to tell apart."""
    source = wn.open("mnist", limit=count)
    x = torch.from_numpy(source.read(np.arange(count)).astype(np.float32) / 255)
    small = torch.nn.functional.avg_pool2d(x, 4).numpy()
    rough = small + np.random.default_rng(1).normal(size=small.shape) * 0.7 * small.std()
    return wn.open((rough.astype(np.float32), np.asarray(source.labels)), name="mnist-blur")
