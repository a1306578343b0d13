"""The development data of the label check: sets with planted wrong labels, and in small those of the benchmark."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

import winnow as wn
from studies.winning.data import keel

__all__ = ["BENCHMARKED", "DEVELOPMENT", "NOISE", "development"]

DEVELOPMENT = {  # how many examples of each; a word after the dash says how a set was made harder
    "satimage": 2000,
    "magic": 2000,
    "letter": 2500,
    "letter-few": 2500,
    "contraceptive": 1473,
    "mnist-clutter": 1500,
    "phoneme": 2000,
    "optdigits-few": 2000,
    "marketing": 2000,
    "vowel": 990,
    "segment": 2310,
    "mnist-blur": 1500,
    "spambase": 2000,
    "ring": 2000,
    "satimage-few": 2000,
    "texture": 1500,
    "vehicle": 846,
    "led7digit": 500,
}
BENCHMARKED = {"cifar10": 3000, "fashion-mnist": 3000, "sst2": 3000, "penbased": 3000}  # of the benchmark, in small
NOISE = (
    ("uniform", 0.0),
    ("drawn", 0.18),
    ("uniform", 0.2),
    ("human", 0.2),
    ("uniform", 0.05),
    ("pair", 0.2),
    ("drawn", 0.09),
)
FEW = 6  # columns that are left of a table made harder
OVER = 0.5  # how bright the digit is that lies over another one


def development(name: str, limit: int | None = None) -> wn.Source:
    """One of the sets with its true labels."""
    size = {**DEVELOPMENT, **BENCHMARKED}[name]
    count = size if limit is None else min(limit, size)
    if name in BENCHMARKED and name != "penbased":
        return wn.open(name, limit=count)
    if name.startswith("mnist-"):
        source = wn.open("mnist", limit=count)
        images = torch.from_numpy(source.read(np.arange(count)).astype(np.float32) / 255)
        made = _blurred(images) if name == "mnist-blur" else _cluttered(images)
        return wn.open((made, np.asarray(source.labels)), name=name)
    table, few, _ = name.partition("-few")
    x, y = keel(table)
    some = np.random.default_rng(0).permutation(len(x))[:count]
    if few:
        x = x[:, np.random.default_rng(2).permutation(np.flatnonzero(x.std(axis=0) > 0))[:FEW]]
    return wn.open((x[some], np.array(y)[some].tolist()), name=name)


def _blurred(images: torch.Tensor) -> NDArray[np.float32]:
    """At 7 x 7 with noise: images that are hard to tell apart."""
    small = torch.nn.functional.avg_pool2d(images, 4).numpy()
    rough = small + np.random.default_rng(1).normal(size=small.shape) * 0.7 * small.std()
    return rough.astype(np.float32)


def _cluttered(images: torch.Tensor) -> NDArray[np.float32]:
    """At 14 x 14, moved, with a darker digit over it: small networks get less than half of them right."""
    draw = np.random.default_rng(1)
    small = torch.nn.functional.avg_pool2d(images, 2).numpy()
    moved = np.stack([np.roll(one, draw.integers(-2, 3, 2), (1, 2)) for one in small])
    over = OVER * moved[draw.permutation(len(moved))]
    return np.maximum(moved, np.roll(over, 2, axis=3)).astype(np.float32)
