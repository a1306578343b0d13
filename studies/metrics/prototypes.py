"""Table 1: how many prototypes? The hardest 80 % by distance to the nearest of k centroids, for k from 1 to many.

Embeddings are those of the observed network, which saw the labels; `backbones` asks about others. The claim is that any
k within a factor of ten of the number of classes does alike, and that very few or very many do worse.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import winnow as wn

from ..comparing import signed
from ..parts import Asked, Part, interval
from .trials import CHANCE, FULL, Cell, described, gap, observed, retrained, said, sizes_of, values

CLUSTERS = (1, 3, 10, 30, 100, 1000)
KEPT = 0.8
CLASSES = 10


def run(asked: Asked) -> Part:
    clusters = tuple(k for k in CLUSTERS if k <= sizes_of(asked).images)
    found = [
        asked.shelf.keep(
            "cells",
            {"data": asked.data[0], "repeat": repeat, "k": clusters, "kept": KEPT, "quick": asked.quick},
            lambda _, repeat=repeat: cell(asked, repeat, clusters),
        )
        for repeat in range(asked.seeds)
    ]
    chance = f"{CHANCE} {round(KEPT * sizes_of(asked).images)}"
    lines = ["| prototypes | accuracy, % | against random | against one per class |", "|---|---|---|---|"]
    lines.append(f"| everything | {interval(values(found, FULL), 2)} | | |")
    lines.append(f"| random | {interval(values(found, chance), 2)} | | |")
    for k in clusters:
        own = "" if k == CLASSES else signed(gap(found, f"k {k}", f"k {CLASSES}"))
        lines.append(
            f"| {k} | {interval(values(found, f'k {k}'), 2)} | {signed(gap(found, f'k {k}', chance))} | {own} |"
        )
    settings = described(asked, f"{KEPT:.0%} kept, the hardest, without quotas, for as many epochs as everything.")
    return Part("prototypes", settings, lines, verdict(found, clusters, chance))


def cell(asked: Asked, repeat: int, clusters: Sequence[int]) -> dict[str, dict[str, float]]:
    """Accuracies of one repeat."""
    signals = observed(asked, repeat)
    subsets = {
        f"k {k}": wn.select("rank", wn.score("prototype", signals, k=k, seed=repeat), keep=KEPT, balance=None)
        for k in clusters
    }
    return retrained(asked, "prototypes", subsets, repeat)


def verdict(found: Sequence[Cell], clusters: Sequence[int], chance: str) -> list[str]:
    lines = [
        "Paper: any number of prototypes within a factor of ten of the number of classes does alike; very few or very "
        "many do worse; and pruning a fifth by prototypes beats random."
    ]
    near = [k for k in clusters if k != CLASSES and CLASSES / 10 < k <= 10 * CLASSES]
    far = [k for k in clusters if k not in near and k != CLASSES]
    for words, some in (("within a factor of ten", near), ("beyond it", far)):
        told = []
        for k in some:
            one = gap(found, f"k {k}", f"k {CLASSES}")
            word = "not told apart" if not one.excludes_zero else "worse" if one.centre < 0 else "better"
            told.append(f"k = {k} {signed(one)} ({word})")
        if told:
            lines.append(f"Against k = {CLASSES}, {words}: {'; '.join(told)}.")
    spread = np.mean([gap(found, f"k {k}", f"k {CLASSES}").half_width for k in clusters if k != CLASSES])
    lines.append(
        f"One prototype per class against random: {said(found, f'k {CLASSES}', chance)}; differences are known to "
        f"about ± {spread:.1f} points here."
    )
    return lines
