"""Small made-up data sets whose truth is known, and a network small enough to train in a blink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from winnow.artefacts import Source
from winnow.training import Recipe

QUICK = Recipe(epochs=4, batch=32, lr=0.02)


@dataclass(frozen=True)
class Rows:
    values: NDArray[Any]

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        return self.values[positions]


def table(
    x: NDArray[Any],
    y: NDArray[Any],
    *,
    task: str = "classification",
    classes: int = 3,
    name: str = "blobs",
    prefix: str = "e",
) -> Source:
    values = np.asarray(x, dtype=np.float32)
    ids = np.array([f"{prefix}{i:05d}" for i in range(len(values))])
    names = tuple(f"c{k}" for k in range(classes)) if task == "classification" else ()
    return Source(
        name=name,
        read=Rows(values),
        size=len(values),
        shape=values.shape[1:],
        kind="table",
        task=task,
        labels=y,
        classes=names,
        make_ids=ids,
    )


def blobs(n: int = 240, *, spread: float = 1.0, classes: int = 3, seed: int = 0, **options: Any) -> Source:
    """Gaussian clouds around corners of a square, classes in turn."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0]])[:classes]
    return table(centres[y] + spread * rng.standard_normal((n, 2)), y, classes=classes, **options)


def line(n: int = 200, *, noise: float = 0.1, seed: int = 0, **options: Any) -> Source:
    """A linear target, far from zero and of another scale than one."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    return table(x, 50 + 10 * (x @ [1.0, -2.0, 0.5] + noise * rng.standard_normal(n)), task="regression", **options)


def shuffled(source: Source, seed: int = 1) -> Source:
    return source.at(np.random.default_rng(seed).permutation(len(source)))


def tiny() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


def tiny_line() -> torch.nn.Module:
    return torch.nn.Linear(3, 1)
