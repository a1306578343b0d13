"""Score the examples for a wide network with its narrowed copy: agreement with the wide network's own scores, and cost.

Each seed draws a wide network with one hidden layer. Its scores come from its own training. Beside it: the narrowed
copy (`wn.narrow`, before training), a small network of the same width with weights of its own, and another wide
network, which shows how far two trainings of the same kind agree. All see the same batches.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import nn

import winnow as wn
from winnow.artefacts.intervals import mean
from winnow.core import seeds
from winnow.engines import Local
from winnow.sources.holdout import sample

from ..comparing import signed
from ..parts import Asked, Part, interval

SCORES = ("el2n", "aum")
ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}


@dataclass(frozen=True)
class Sizes:
    """Examples, neurons of the wide network and of the narrow ones, and epochs."""

    n: int = 1_000
    wide: int = 1_024
    narrow: tuple[int, ...] = (128, 32)
    epochs: int = 6

    @property
    def recipe(self) -> wn.Recipe:
        """How every network is trained."""
        return wn.Recipe(epochs=self.epochs, batch=64, lr=1e-3)


QUICK = Sizes(n=80, wide=64, narrow=(24,), epochs=2)


def run(asked: Asked) -> Part:
    sizes = QUICK if asked.quick else Sizes()
    found = {
        (data, activation): [one(asked, data, activation, sizes, seed) for seed in range(asked.seeds)]
        for data in asked.data
        for activation in ACTIVATIONS
    }
    settings = (
        f"Up to {sizes.n:,} training examples; one hidden layer of {sizes.wide:,} neurons, narrowed to "
        f"{' and '.join(map(str, sizes.narrow))}; {sizes.epochs} epochs of AdamW, batch 64; {asked.seeds} seeds of the "
        "wide network. Cost is processor time of narrowing and training, relative to training the wide network."
    )
    return Part("narrowed", settings, table(found), verdict(found))


def one(asked: Asked, data: str, activation: str, sizes: Sizes, seed: int) -> dict[str, Any]:
    settings = {"data": data, "activation": activation, "sizes": asdict(sizes), "seed": seed}
    return asked.shelf.keep("seed", settings, lambda _: compared(data, activation, sizes, seed))


def network(inputs: int, width: int, outputs: int, activation: str, seed: int) -> nn.Module:
    """One hidden layer, with weights of a seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seeds.number(seed, "narrowed probe", width) % 2**31)
        return nn.Sequential(
            nn.Flatten(), nn.Linear(inputs, width), ACTIVATIONS[activation](), nn.Linear(width, outputs)
        )  # fmt: skip


def compared(data: str, activation: str, sizes: Sizes, seed: int) -> dict[str, Any]:
    """Scores of every kind of probe beside those of the wide network."""
    source = wn.open(data)
    source = sample(source, min(sizes.n, len(source)), seeds.number(0, "narrowed probe", data))
    inputs, outputs = int(np.prod(source.shape)), source.outputs

    def probed(net: nn.Module, before: float = 0.0) -> tuple[dict[str, Any], float]:
        clock = time.process_time()
        model = wn.models.FineTune(net, head="keep")
        signals = wn.observe(source, model, sizes.recipe, 1, ("dynamics",), seed=seed, engine=Local(workers=1))
        spent = time.process_time() - clock
        return {name: wn.score(name, signals).values for name in SCORES}, spent + before

    probed(network(inputs, min(sizes.narrow), outputs, activation, seed))  # whatever is done once is done now
    wide, other = (network(inputs, sizes.wide, outputs, activation, drawn) for drawn in (seed, 1000 + seed))
    own, cost = probed(wide)
    out: dict[str, Any] = {"wide again": told(own, *probed(other), cost)}
    for width in sizes.narrow:
        clock = time.process_time()
        copy = wn.narrow(wide, width, seed=seed)
        out[f"narrowed {width}"] = told(own, *probed(copy, time.process_time() - clock), cost)
        out[f"small {width}"] = told(own, *probed(network(inputs, width, outputs, activation, seed)), cost)
    return out


def told(own: Mapping[str, Any], found: Mapping[str, Any], spent: float, cost: float) -> dict[str, float]:
    """Rank correlations with the wide network's own scores, the share of its hardest tenth found, and relative cost."""
    made = {f"rank {name}": float(spearmanr(own[name], found[name]).statistic) for name in SCORES}
    hardest = [set(np.argsort(-scores["el2n"], kind="stable")[: len(scores["el2n"]) // 10]) for scores in (own, found)]
    return {**made, "hardest": len(hardest[0] & hardest[1]) / max(1, len(hardest[0])), "cost": spent / cost}


def table(found: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]) -> list[str]:
    lines = [
        "| data | activation | probe | Spearman, el2n | Spearman, aum | hardest tenth found (%) | cost |",
        "|---|---|---|---|---|---|---|",
    ]
    for (data, activation), runs in found.items():
        for probe in runs[0]:
            got = [run[probe] for run in runs]
            lines.append(
                f"| {data} | {activation} | {probe} | {interval([g['rank el2n'] for g in got])} "
                f"| {interval([g['rank aum'] for g in got])} | {interval([100 * g['hardest'] for g in got], 0)} "
                f"| {np.median([g['cost'] for g in got]):.2f} |"
            )
    return lines


def verdict(found: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]) -> list[str]:
    lines = [
        "Does the narrowed copy score more like the wide network than a small network of the same width does? "
        "Differences of the rank correlation, paired by seed (▲ ▼: the 95 % interval leaves zero out):"
    ]
    for (data, activation), runs in found.items():
        for width in [probe.split()[1] for probe in runs[0] if probe.startswith("narrowed")]:
            words = []
            for name in SCORES:
                ours, small = (
                    [run[f"{probe} {width}"][f"rank {name}"] for run in runs] for probe in ("narrowed", "small")
                )
                words.append(f"{name} {signed(mean(np.subtract(ours, small)))}")
            lines.append(f"{data}, {activation}, {width} neurons: {', '.join(words)}.")
    return lines
