"""How fast and how exactly a weighted coreset gives a head back, and what its options cost.

    python benchmarks/head_coreset.py [--n 10000] [--size 1000] [--repeats 3]

A softmax head on Fashion-MNIST (WINNOW_DATA), 64 principal components and a column of ones: 650 parameters. `change` is
the distance between the head trained on all and the head trained from zero on the kept examples, measured here and not
taken from the certificate. Two rows show the same head at another damping than it was selected for. Heads are compared
with the best unweighted swaps and with random examples of the same number per class.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from machine import processor
from numpy.typing import NDArray

import winnow as wn

Floats = NDArray[np.float64]
DAMPING, OTHER, COMPONENTS = 0.01, 0.03, 64


def problem(n: int) -> tuple[Floats, NDArray[np.int64]]:
    """Features and labels of n images."""
    source = wn.open("fashion-mnist")
    x = source.read(np.arange(n)).reshape(n, -1).astype(np.float64) / 255
    x -= x.mean(axis=0)
    x = x @ np.linalg.eigh(x.T @ x)[1][:, : -COMPONENTS - 1 : -1]
    return np.hstack([x / x[:, 0].std(), np.ones((n, 1))]), np.asarray(source.labels[:n]).astype(np.int64)


def moved(x: Floats, y: Any, kept: Any, weights: Any, damping: float) -> float:
    """How far the head trained on the kept examples is from the head trained on all."""
    whole = wn.influence.fit_head(x, y, damping).theta
    few = wn.influence.fit_head(x[kept], y[kept], damping, weights=weights, classes=whole.shape[1]).theta
    return float(np.linalg.norm(few - whole))


def line(x: Floats, y: Any, size: int, repeats: int, name: str, how: Mapping[str, Any]) -> None:
    core, clock, changes, others, largest, even = [], [], [], [], [], []
    for seed in range(repeats):
        begun = time.process_time(), time.perf_counter()
        found = wn.influence.head_coreset(x, y, size, DAMPING, seed=seed, **how)
        core.append(time.process_time() - begun[0])
        clock.append(time.perf_counter() - begun[1])
        changes.append(moved(x, y, found.positions, found.weights, DAMPING))
        others.append(moved(x, y, found.positions, found.weights, OTHER))
        largest.append(found.certificate["largest_weight"])
        even.append(found.certificate["effective_size"])
    print(
        f"| {name} | {statistics.median(core):.1f} | {statistics.median(clock):.1f} | {max(changes):.1e} "
        f"| {max(others):.2g} | {max(largest):.2f} | {statistics.median(even):.0f} |",
        flush=True,
    )


def baseline(x: Floats, y: Any, size: int) -> None:
    """Swaps without weights, and random examples, with the same number per class."""
    whole = wn.influence.fit_head(x, y, DAMPING)
    vectors = wn.influence.vectors(x, whole.outputs, y, DAMPING)
    begun = time.process_time(), time.perf_counter()
    made = wn.influence.prune_by_count(vectors, len(y) - size, seed=0)
    spent = time.process_time() - begun[0], time.perf_counter() - begun[1]
    swaps = np.setdiff1d(np.arange(len(y)), made.removed)
    draw = np.random.default_rng(0)
    chance = np.concatenate(
        [draw.choice(np.flatnonzero(y == k), size // whole.theta.shape[1], replace=False) for k in np.unique(y)]
    )
    for name, kept, (core, clock) in (("swaps without weights", swaps, spent), ("random", chance, (0.0, 0.0))):
        change, other = (moved(x, y, kept, None, damping) for damping in (DAMPING, OTHER))
        print(f"| {name} | {core:.1f} | {clock:.1f} | {change:.2g} | {other:.2g} | 1.00 | {len(kept)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    x, y = problem(asked.n)
    wn.influence.head_coreset(x[:300, -5:], y[:300], 100, DAMPING)  # compiled once
    print(f"{datetime.date.today()}, {processor()}, {asked.size:,} of {asked.n:,}, {x.shape[1] * 10} parameters\n")
    print(f"| way | core s | clock s | change of the head | at damping {OTHER} | largest weight | effective size |")
    print("|---|---|---|---|---|---|---|")
    for name, how in (
        ("as it comes", {}),
        ("weights up to 2.5", {"largest": 2.5}),
        (f"dampings=[{OTHER}]", {"dampings": [OTHER]}),
        ("heads=2", {"heads": 2}),
    ):
        line(x, y, asked.size, asked.repeats, name, how)
    baseline(x, y, asked.size)


if __name__ == "__main__":
    main()
