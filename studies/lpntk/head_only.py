"""Head only, with the paper's numbers of images: Figure 18 at 1 % and 5 % of 60,000, which is 600 and 3,000.

The part `pruning` had 40 and 200 images, 1 % and 5 % of 4,000. Here a network is trained on the whole training split,
its lpNTK features are projected, each class is clustered, and only images of the largest clusters are kept; by the
kernel as the paper does, and by its cosine. Random images of the same number stand beside them. Every set is trained
from the same weights for as many steps as one epoch of everything takes, and measured on the whole test split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts.intervals import Interval, difference
from winnow.core import seeds
from winnow.engines import Local

from ..comparing import claimed, signed
from ..parts import Asked, Part, interval
from .pruning import BATCH, CLUSTERS, DIM, NETWORK, RATE, SHARES, recipe

KINDS = ("raw", "cosine")
NAMES = {"raw": "head only", "cosine": "head only, cosine"}
Cell = Mapping[str, float]


@dataclass(frozen=True)
class Sizes:
    """Training images, epochs of the kernel's network, epochs whose steps every training has, and the test limit."""

    images: int = 60_000
    kernel_epochs: int = 2
    epochs: int = 1
    tests: int | None = None


QUICK = Sizes(400, 2, 1, 100)


def run(asked: Asked) -> Part:
    """Choose, retrain and compare, for every data set and repeat."""
    sizes = QUICK if asked.quick else Sizes()
    found = {
        data: [
            asked.shelf.keep(
                "cells",
                {"data": data, "sizes": asdict(sizes), "shares": SHARES, "repeat": repeat},
                lambda seed, data=data, repeat=repeat: cell(data, sizes, repeat, seed, asked.out),
            )
            for repeat in range(asked.seeds)
        ]
        for data in asked.data[:1]
    }
    steps = sizes.epochs * -(-sizes.images // BATCH)
    settings = (
        f"LeNet-5, {sizes.images:,} training images, kernel after {sizes.kernel_epochs} epochs, "
        f"{CLUSTERS:.0%} clusters per class, features projected to {DIM}; every training {steps:,} steps, batch "
        f"{BATCH}, AdamW at {RATE:g} falling to zero, measured on "
        f"{'all' if sizes.tests is None else sizes.tests} test images; {asked.seeds} repeats, each with a kernel, "
        "weights and random draws of its own."
    )
    return Part("head-only", settings, table(found), verdict(found))


def cell(data: str, sizes: Sizes, repeat: int, seed: int, out: Path) -> dict[str, float]:
    """Accuracies of one repeat in per cent, by arm."""
    pool = wn.open(data)
    drawn = seeds.stream(seed, "draw").choice(len(pool), sizes.images, replace=False)
    source = pool if sizes.images == len(pool) else pool.at(np.sort(drawn))
    signals = wn.observe(
        source, NETWORK, recipe=recipe(sizes.kernel_epochs), seeds=1, want="lpntk", gradient_dim=DIM, seed=seed,
        engine=Local(workers=1),
    )  # fmt: skip
    subsets = {
        f"{kind} {share:g}": wn.select(
            "lpntk_head_only", signals, keep=share, balance=None, seed=seed, clusters=CLUSTERS, kind=kind
        )
        for kind in KINDS
        for share in SHARES
    }
    study = wn.evaluate(
        source,
        subsets,
        test=wn.open(data, split="test", limit=sizes.tests),
        model=NETWORK,
        recipe=recipe(sizes.epochs),
        seeds=[repeat],
        match_iterations=1.0,
        same_steps=False,
        seed=seed,
        out=out / "evaluate" / f"{Path(data).name}-{sizes.images}-{repeat}",
        engine=Local(workers=1),
    )
    found = {name: 100 * study.of(name)[repeat].value for name in (*subsets, "full")}
    for name in subsets:
        found[f"random {name.split()[1]}"] = 100 * study.of(str(study.arm(name).baseline))[repeat].value
    return found


def values(found: Sequence[Cell], arm: str) -> NDArray[np.float64]:
    """One accuracy per repeat."""
    return np.array([one[arm] for one in found])


def gap(found: Sequence[Cell], kind: str, share: float) -> Interval:
    """The paired difference to random, in points."""
    return difference(values(found, f"{kind} {share:g}"), values(found, f"random {share:g}"))


def table(found: Mapping[str, Sequence[Cell]]) -> list[str]:
    lines = ["| data | kept | arm | accuracy, % | against random |", "|---" * 5 + "|"]
    for data, cells in found.items():
        lines.append(f"| {data} | 100% | everything | {interval(values(cells, 'full'), 2)} | |")
        for share in SHARES:
            lines.append(f"| {data} | {share:.0%} | random | {interval(values(cells, f'random {share:g}'), 2)} | |")
            for kind in KINDS:
                own = interval(values(cells, f"{kind} {share:g}"), 2)
                lines.append(f"| {data} | {share:.0%} | {NAMES[kind]} | {own} | {signed(gap(cells, kind, share))} |")
    return lines


def verdict(found: Mapping[str, Sequence[Cell]]) -> list[str]:
    lines = ["Paper: at 1 % and at 5 %, examples of the head alone beat random ones."]
    for data, cells in found.items():
        for share in SHARES:
            for kind in KINDS:
                one = gap(cells, kind, share)
                lines.append(
                    f"{data}, {NAMES[kind]}, {share:.0%} kept, {len(cells)} repeats: {signed(one)} points against "
                    f"random: {claimed(one)}."
                )
    return lines
