"""How well and how fast the influence solver removes half of the data without moving a head.

    python benchmarks/influence.py [--repeats 3] [--large]

Softmax heads on Fashion-MNIST (WINNOW_DATA), 64 principal components and a column of ones: 650 parameters. The
objective is |sum of the removed vectors|; random's is the mean over draws. Speed is measured first, and each run gets
as many moves as fit its seconds of one core, so that a busy machine cuts none short; clock time is printed beside.
Plain annealing has the same moves with temperatures from 2 to .02 of the rows' length, as one would guess. --large adds
100,000 rows: those of the 60,000, drawn again and scaled by up to a tenth. Ratios are printed, not asserted.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import time

import numpy as np
from machine import processor

import winnow as wn
from winnow.methods.influence.solver import Schedule, default_moves, solve

DAMPING, COMPONENTS, DRAWS = 1e-3, 64, 8
GUESSED = Schedule(2.0, 0.02)


def rows(n: int) -> np.ndarray:
    """Influence vectors of n images."""
    source = wn.open("fashion-mnist")
    x = source.read(np.arange(n)).reshape(n, -1).astype(np.float64) / 255
    x -= x.mean(axis=0)
    x = x @ np.linalg.eigh(x.T @ x)[1][:, : -COMPONENTS - 1 : -1]
    features = np.hstack([x / x[:, 0].std(), np.ones((n, 1))])
    labels = np.asarray(source.labels[:n])
    head = wn.influence.fit_head(features, labels, DAMPING)
    return wn.influence.vectors(features, head.outputs, labels, DAMPING, dtype="float32").values


def chance(vectors: np.ndarray) -> float:
    """The mean objective of random halves."""
    n, draw = len(vectors), np.random.default_rng(0)
    half = (draw.permutation(n)[: n // 2] for _ in range(DRAWS))
    return float(np.mean([np.linalg.norm(vectors[some].sum(axis=0, dtype=np.float64)) for some in half]))


def run(vectors: np.ndarray, moves: int, seed: int, schedule: Schedule | None = None) -> tuple[float, float, float]:
    """The objective, and seconds of the core and of the clock."""
    n = len(vectors)
    core, clock = time.process_time(), time.perf_counter()
    found = solve(vectors, np.zeros(n, dtype=np.int64), np.array([n // 2]), seed, moves, schedule)
    return found.length, time.process_time() - core, time.perf_counter() - clock


def line(vectors: np.ndarray, random: float, seconds: float | None, repeats: int) -> None:
    n = len(vectors)
    if seconds is None:
        moves = default_moves(*vectors.shape)
    else:
        probe = 300_000
        moves = int(0.85 * seconds * probe / run(vectors, probe, 99)[1])
    made = [run(vectors, moves, seed) for seed in range(repeats)]
    plain, _, _ = run(vectors, moves, 0, GUESSED)
    length, core, clock = (statistics.median(values) for values in zip(*made, strict=True))
    given = "default" if seconds is None else f"{seconds:g} s"
    print(
        f"| {n:,} | {given} | {moves:,} | {core:.1f} | {clock:.1f} | 1/{random / length:.0f} "
        f"(1/{random / max(m[0] for m in made):.0f} worst) | 1/{random / plain:.1f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    asked = parser.parse_args()
    print(f"{datetime.date.today()}, {processor()}, one thread, half removed\n")
    print("| rows | given | moves | core s | clock s | objective beside random's | plain annealing |")
    print("|---|---|---|---|---|---|---|")
    few = rows(10_000)
    run(few[:100], 1000, 0)  # compiled once
    random = chance(few)
    for seconds in (2.0, 10.0, None):
        line(few, random, seconds, asked.repeats)
    many = rows(60_000)
    line(many, chance(many), 15.0, 1)
    if asked.large:
        draw = np.random.default_rng(1)
        more = many[draw.integers(0, len(many), 100_000)]
        more *= draw.uniform(0.9, 1.1, size=(len(more), 1)).astype(np.float32)
        more -= more.mean(axis=0)
        line(more, chance(more), None, 1)


if __name__ == "__main__":
    main()
