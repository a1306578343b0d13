"""Self-supervised prototypes: those of a backbone trained without labels, with labels, and not at all.

A small convolutional network is trained on the images of a repeat: by VICReg, which sees no label, or with labels for
as many steps. Its features give the prototypes; so do those of the untrained network and the raw pixels. A LeNet-5 is
then trained on the hardest 80 and 50 % by each. The paper has only SwAV on ImageNet, and says that it does as well as
the best metrics with labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats
from torch import nn

import winnow as wn
from winnow.engines import Local

from ..comparing import signed
from ..parts import Asked, Part, interval
from .trials import BATCH, CHANCE, FULL, RATE, Cell, described, drawn, gap, observed, retrained, said, sizes_of, values

METHOD, WIDTH = "vicreg", 8
KEPT = (0.8, 0.5)
LABELS, NONE, UNTRAINED, PIXELS = BACKBONES = ("with labels", "without labels", "untrained", "raw pixels")
STEPS, QUICK_STEPS, SSL_BATCH = 300, 3, 128


def run(asked: Asked) -> Part:
    steps = QUICK_STEPS if asked.quick else STEPS
    found = [
        asked.shelf.keep(
            "cells",
            {"data": asked.data[0], "repeat": repeat, "steps": steps, "kept": KEPT, "quick": asked.quick},
            lambda _, repeat=repeat: cell(asked, repeat, steps),
        )
        for repeat in range(asked.seeds)
    ]
    cells, ranks = [one["cells"] for one in found], [one["ranks"] for one in found]
    lines = [
        "| kept | prototypes of | accuracy, % | against random | rank correlation with aum |",
        "|---" * 5 + "|",
        f"| 100% | everything | {interval(values(cells, FULL), 2)} | | |",
    ]
    for share in KEPT:
        chance = of_chance(asked, share)
        lines.append(f"| {share:.0%} | random | {interval(values(cells, chance), 2)} | | |")
        for name in BACKBONES:
            arm = f"{name} {share:g}"
            lines.append(
                f"| {share:.0%} | {name} | {interval(values(cells, arm), 2)} | {signed(gap(cells, arm, chance))} | "
                f"{interval([one[name] for one in ranks], 2)} |"
            )
    settings = described(
        asked,
        f"Backbone: convnet of width {WIDTH}, {steps} steps of {METHOD} at batch {SSL_BATCH}, or of AdamW at {RATE:g} "
        f"with labels at batch {BATCH}; 10 prototypes, no quotas.",
    )
    return Part("backbones", settings, lines, verdict(asked, cells))


def of_chance(asked: Asked, share: float) -> str:
    return f"{CHANCE} {round(share * sizes_of(asked).images)}"


def cell(asked: Asked, repeat: int, steps: int) -> dict[str, Any]:
    """Accuracies of one repeat, and how far each backbone's ranking is that of a score with labels."""
    source = drawn(asked, repeat)
    hard = wn.score("aum", observed(asked, repeat)).values
    scores = {name: wn.score("prototype", made, seed=repeat) for name, made in embedded(source, repeat, steps).items()}
    subsets = {
        f"{name} {share:g}": wn.select("rank", scores[name], keep=share, balance=None)
        for name in BACKBONES
        for share in KEPT
    }
    ranks = {name: float(stats.spearmanr(hard, one.values).statistic) for name, one in scores.items()}
    return {"cells": retrained(asked, "backbones", subsets, repeat), "ranks": ranks}


def embedded(source: wn.Source, repeat: int, steps: int) -> dict[str, wn.Signals]:
    """Embeddings of the images by each backbone."""
    start = backbone(source, repeat)
    unlabelled = wn.relabel.accelerate(METHOD, source, backbone=backbone(source, repeat), steps=steps, seed=repeat)
    epochs = max(1, round(steps * BATCH / len(source)))
    labelled = wn.observe(
        source, f"convnet:width={WIDTH}", recipe=wn.Recipe(epochs=epochs, batch=BATCH, lr=RATE), want=("embeddings",),
        seed=repeat, engine=Local(workers=1),
    )  # fmt: skip
    return {
        LABELS: labelled,
        NONE: wn.embed(source, unlabelled.backbone, "", seed=repeat),
        UNTRAINED: wn.embed(source, start, "", seed=repeat),
        PIXELS: wn.embed(source, "raw"),
    }


def backbone(source: wn.Source, seed: int) -> nn.Module:
    """A convolutional network without its head, with weights drawn by the seed."""
    network = wn.models.build("convnet", classes=2, shape=source.shape, width=WIDTH, seed=seed)
    network.set_submodule("head", nn.Identity())
    return network


def verdict(asked: Asked, cells: Sequence[Cell]) -> list[str]:
    lines = [
        "Paper: prototypes of a self-supervised network, which need no labels, prune as well as the best metrics that "
        "need them."
    ]
    for share in KEPT:
        chance = of_chance(asked, share)
        one = gap(cells, f"{NONE} {share:g}", f"{LABELS} {share:g}")
        lines.append(
            f"{share:.0%} kept: without labels against random {said(cells, f'{NONE} {share:g}', chance)}; against "
            f"prototypes of a network trained with labels {signed(one)} points; that, against random: "
            f"{said(cells, f'{LABELS} {share:g}', chance)}."
        )
    widths = np.mean([gap(cells, f"{name} {share:g}", of_chance(asked, share)).half_width
                      for name in BACKBONES for share in KEPT])  # fmt: skip
    return [*lines, f"Differences to random are known to about ± {widths:.1f} points here."]
