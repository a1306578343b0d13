"""What storing dynamics in float16 does to scores and subsets, against float32, on a real recording.

    python benchmarks/dynamics_precision.py [--data fashion-mnist] [--rows 20000] [--model mlp] [--epochs 10]

One network is trained and recorded. Then each array is written in float16 and read back, in two ways:

    plain    every array as it is
    half     as `wn.Recorder(precision="half")` does: log-odds, from which losses and probabilities follow, margins with
             right or wrong in their sign, and errors

For every score: Spearman's rank correlation with float32, how many distinct values are left, and how much of a 30 %
subset is the same, of the hardest and of the easiest examples (quotas of half an equal share). `beta` has its own.
"""

from __future__ import annotations

import argparse
import datetime
import os
from dataclasses import replace

import numpy as np
from machine import processor

import winnow as wn
from winnow.artefacts.half_dynamics import coded
from winnow.core.rank_correlation import rank_correlation

SCORES = ("aum", "el2n", "dual", "difficulty", "dynamic_uncertainty", "forgetting", "mislabelled")


def plain(signals: wn.Signals) -> wn.Signals:
    made = {
        name: values.astype(np.float16).astype(np.float32) if name != "correct" else values
        for name, values in signals.arrays.items()
    }
    return replace(signals, arrays={**made, "predictions": signals.arrays["predictions"]})


def half(signals: wn.Signals) -> wn.Signals:
    stored = coded(signals.arrays)
    beside = {"predictions": signals.arrays["predictions"]}
    return replace(signals, arrays={**stored, **beside}, axes=dict.fromkeys(stored, ("seeds", "epochs", "examples")))


def overlap(name: str, one: wn.Signals, other: wn.Signals, **more: object) -> float:
    first, second = (wn.select(name, each, keep=0.3, **more).ids for each in (one, other))  # type: ignore[arg-type]
    return np.intersect1d(first, second).size / first.size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--epochs", type=int, default=10)
    asked = parser.parse_args()
    print(f"{datetime.date.today()}; {os.cpu_count()} cores, {processor()}; {asked}", flush=True)
    source = wn.open(asked.data, limit=asked.rows)
    full = wn.observe(source, asked.model, wn.Recipe(epochs=asked.epochs), want=("dynamics", "predictions"))
    print("| score | stored | Spearman | distinct values | hardest 30 % | easiest 30 % |\n|---|---|---|---|---|---|")
    for name in SCORES:
        usual = wn.score(name, full).values
        print(f"| {name} | float32 | 1 | {np.unique(usual).size} | 1 | 1 |")
        for word, way in (("plain", plain), ("half", half)):
            other = way(full)
            found = wn.score(name, other).values
            same = [overlap("rank", full, other, score=name, policy=end) for end in ("hard", "easy")]
            print(
                f"| {name} | {word} | {rank_correlation(usual, found):.6f} | {np.unique(found).size} | "
                f"{same[0]:.4f} | {same[1]:.4f} |",
                flush=True,
            )
    for word, way in (("plain", plain), ("half", half)):
        print(f"| beta, its subset | {word} | | | {overlap('beta', full, way(full)):.4f} | |", flush=True)


if __name__ == "__main__":
    main()
