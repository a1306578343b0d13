"""Weak and strong probes: how much must the network that scores the images have learned?

The theory says that a probe at a larger angle to the truth must keep less hard examples, and that keeping the hardest
by a weak one does harm. Here the probe is a LeNet-5 that has trained for 1, 2, 4 or 8 epochs, on all images or, the
weakest, on a tenth of them. The score is the error of its prediction (EL2N at that moment). 80 and 50 % are kept, the
hardest, with half of an equal share for each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import winnow as wn
from winnow.engines import Local
from winnow.training import Feed, predict, train

from ..comparing import claimed, signed
from ..parts import Asked, Part, interval
from .trials import CHANCE, FULL, NETWORK, Cell, described, drawn, gap, recipe, retrained, said, sizes_of, values

EPOCHS = (1, 3, 10)
TENTH = 0.1
KEPT = (0.8, 0.5)
BALANCE = 0.5
WEAK, STRONG = "a tenth", f"{EPOCHS[-1]} epochs"
PROBES = (WEAK, *(f"{epochs} epochs" for epochs in EPOCHS))


def run(asked: Asked) -> Part:
    found = [
        asked.shelf.keep(
            "cells",
            {"data": asked.data[0], "repeat": repeat, "epochs": EPOCHS, "kept": KEPT, "quick": asked.quick},
            lambda _, repeat=repeat: cell(asked, repeat),
        )
        for repeat in range(asked.seeds)
    ]
    cells, right = [one["cells"] for one in found], [one["right"] for one in found]
    lines = [
        "| kept | probe | its own accuracy, % | accuracy, % | against random |",
        "|---" * 5 + "|",
        f"| 100% | everything | | {interval(values(cells, FULL), 2)} | |",
    ]
    for share in KEPT:
        chance = f"{CHANCE} {round(share * sizes_of(asked).images)}"
        lines.append(f"| {share:.0%} | random | | {interval(values(cells, chance), 2)} | |")
        for probe in PROBES:
            arm = f"{probe} {share:g}"
            lines.append(
                f"| {share:.0%} | {probe} | {interval([one[probe] for one in right], 1)} | "
                f"{interval(values(cells, arm), 2)} | {signed(gap(cells, arm, chance))} |"
            )
    settings = described(
        asked, f"Probes: trained on all images for 1 to {EPOCHS[-1]} epochs, or on a tenth for {EPOCHS[-1]}; their own "
        "accuracy is that on the images they score."
    )  # fmt: skip
    return Part("probes", settings, lines, verdict(asked, cells))


def cell(asked: Asked, repeat: int) -> dict[str, Any]:
    """Accuracies of one repeat, and those of the probes."""
    source = drawn(asked, repeat)
    feed = Feed(source)
    labels = np.asarray(source.labels)[feed.order]
    subsets, right = {}, {}
    for probe in PROBES:
        part = wn.select("random", feed_scores(source, labels), keep=TENTH, seed=repeat) if probe == WEAK else None
        own = feed if part is None else Feed(source.at(part.indices(source)), feed.scaling)
        network = wn.models.build(NETWORK, classes=len(source.classes), shape=source.shape, seed=repeat)
        epochs = EPOCHS[-1] if part is not None else int(probe.split()[0])
        plan = recipe(epochs if not asked.quick else 1)
        list(Local(workers=1).map(lambda _, n=network, f=own, r=plan: train(n, f, r, repeat), [0]))
        logits = predict(network, feed, plan)
        signals = wn.Signals(
            feed.ids, {"logits": np.asarray(logits)[None, None]}, "classification", labels, source.classes, epochs=(1,)
        )
        right[probe] = 100 * float((np.asarray(logits).argmax(1) == labels).mean())
        scores = wn.score("el2n", signals, epoch="last")
        for share in KEPT:
            subsets[f"{probe} {share:g}"] = wn.select("rank", scores, keep=share, balance=BALANCE)
    return {"cells": retrained(asked, "probes", subsets, repeat), "right": right}


def feed_scores(source: wn.Source, labels: Any) -> wn.Signals:
    """Signals that hold nothing but labels, for draws with as many of each class."""
    nothing = {"losses": np.zeros((1, 1, len(source)), dtype=np.float32)}
    return wn.Signals(source.ids, nothing, "classification", np.asarray(source.labels), source.classes, epochs=(1,))


def verdict(asked: Asked, cells: Sequence[Cell]) -> list[str]:
    lines = [
        "Theory of the paper: the better the probe, the more keeping the hardest gains; by a weak one it does harm."
    ]
    for share in KEPT:
        chance = f"{CHANCE} {round(share * sizes_of(asked).images)}"
        one = gap(cells, f"{STRONG} {share:g}", f"{WEAK} {share:g}")
        lines.append(
            f"{share:.0%} kept: the strongest probe against random {said(cells, f'{STRONG} {share:g}', chance)}; the "
            f"weakest {said(cells, f'{WEAK} {share:g}', chance)}; strongest against weakest "
            f"{signed(one)}: {claimed(one)}."
        )
    return lines
