"""Small slices of the digits and made-up rows, for tests of observing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import winnow as wn
from winnow.artefacts import Source


def digits(n: int = 60) -> Source:
    return wn.open("digits", limit=n)


def shuffled(source: Source, seed: int = 7) -> Source:
    return source.at(np.random.default_rng(seed).permutation(len(source)))


def rows(n: int = 40, task: str = "classification", seed: int = 0) -> Source:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    if task == "unlabelled":
        return wn.open(x)
    y: Any = (x[:, 0] > 0).astype(int) if task == "classification" else 30 + 5 * (x @ [1.0, -1.0, 0.5, 0.0])
    return wn.open((x, y))


def noise(n: int, shape: tuple[int, int, int], classes: int, seed: int = 0) -> Source:
    """Images of noise."""
    rng = np.random.default_rng(seed)
    return wn.open((rng.integers(0, 256, (n, *shape), dtype=np.uint8), np.arange(n) % classes))


def by_id(signals: wn.Signals, name: str) -> dict[str, bytes]:
    """The bits of one array for each id."""
    values = np.moveaxis(signals.arrays[name], signals.example_axis(name), 0)
    return {str(i): np.ascontiguousarray(v).tobytes() for i, v in zip(signals.ids, values, strict=True)}


class Counting:
    """An engine that counts its tasks and can be killed after some of them."""

    threads = 1

    def __init__(self, killed_after: int | None = None) -> None:
        self.done = 0
        self.killed_after = killed_after

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Any = None
    ) -> Iterator[tuple[int, Any, float]]:
        for index, item in enumerate(items):
            if self.done == self.killed_after:
                raise KeyboardInterrupt
            self.done += 1
            yield index, function(*shared, item), 0.0
