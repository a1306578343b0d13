"""How alike are the metrics (Fig. 5), and what do they do to class balance (Fig. 20)?

All scores of the paper, and some more, come from the same images: dynamics and embeddings of two trainings, and an
ensemble of networks on random 70 % of them. Rank correlations are those of all images together. For class balance, half
of the images are kept, the hardest or the easiest, without any quota.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import winnow as wn
from winnow.artefacts.intervals import mean
from winnow.artefacts.quotas import class_balance

from ..parts import Asked, Part, interval
from .trials import described, observed

SCORES = (
    "el2n", "grand", "forgetting", "aum", "difficulty", "memorization", "dichotomous", "ensemble_influence",
    "disagreement", "entropy", "prototype", "class_prototype",
)  # fmt: skip
MODELS = 20
KEPT = 0.5


def run(asked: Asked) -> Part:
    models = 10 if asked.quick else MODELS
    found = [
        asked.shelf.keep(
            "scores",
            {"data": asked.data[0], "repeat": repeat, "models": models, "scores": SCORES, "quick": asked.quick},
            lambda _, repeat=repeat: measured(asked, repeat, models),
        )
        for repeat in range(asked.seeds)
    ]
    settings = described(asked, f"Nothing is retrained here; two trainings and {models} networks of the ensemble.")
    return Part("similarity", settings, table(found), verdict(found))


def measured(asked: Asked, repeat: int, models: int) -> dict[str, Any]:
    """Rank correlations of all scores, and the class balance of the hard and the easy half."""
    want = ("logits", "embeddings", "gradient_norms", "ensemble")
    signals = observed(asked, repeat, want=want, seeds=2, ensemble=models)
    ranks = np.array([stats.rankdata(wn.score(name, signals).values) for name in SCORES])
    labels, classes = np.asarray(signals.labels), len(signals.classes)
    balance = {}
    for name in SCORES:
        scores = wn.score(name, signals)
        for side in ("hard", "easy"):
            kept = wn.select("rank", scores, keep=KEPT, balance=None, policy=side).ids
            balance[f"{name} {side}"] = class_balance(labels[np.isin(signals.ids, kept)], classes)
    drawn = wn.select("random", wn.score("el2n", signals), keep=KEPT, balance=None, seed=repeat).ids
    balance["random"] = class_balance(labels[np.isin(signals.ids, drawn)], classes)
    return {"alike": np.corrcoef(ranks).tolist(), "balance": balance}


def alike(found: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    """Rank correlations, a table per repeat."""
    return np.array([one["alike"] for one in found])


def table(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Mean rank correlations, and class balance of the halves."""
    centre = alike(found).mean(axis=0)
    lines = ["Rank correlation, mean over repeats.", "", "| | " + " | ".join(SCORES) + " |"]
    lines.append("|---" * (len(SCORES) + 1) + "|")
    for i, name in enumerate(SCORES):
        cells = " | ".join("" if j > i else f"{centre[i, j]:.2f}" for j in range(len(SCORES)))
        lines.append(f"| {name} | {cells} |")
    lines += ["", "Class balance of half of the images (1: classes of equal size).", ""]
    lines += ["| score | hardest half | easiest half |", "|---|---|---|"]
    chance = interval([one["balance"]["random"] for one in found])
    lines.append(f"| random | {chance} | {chance} |")
    for name in SCORES:
        halves = [interval([one["balance"][f"{name} {side}"] for one in found]) for side in ("hard", "easy")]
        lines.append(f"| {name} | {halves[0]} | {halves[1]} |")
    return lines


def verdict(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the tables say."""
    each = alike(found)
    below = np.tril_indices(len(SCORES), -1)
    order = np.argsort(each.mean(axis=0)[below])
    pairs = [(SCORES[below[0][k]], SCORES[below[1][k]], each[:, below[0][k], below[1][k]]) for k in order]
    told = [f"{a} and {b} {interval(v, 2)}" for a, b, v in (*pairs[-3:][::-1], *pairs[:3])]
    prototype = np.array([SCORES.index("prototype") in (i, j) for i, j in zip(*below, strict=True)])
    rest = [each[:, below[0], below[1]][:, some].mean(axis=1) for some in (prototype, ~prototype)]
    lower = {
        side: sum(
            mean([one["balance"][f"{name} {side}"] - one["balance"]["random"] for one in found]).high < 0
            for name in SCORES
        )
        for side in ("hard", "easy")
    }
    return [
        "Paper: metrics agree only in part, the self-supervised prototypes least; and every metric makes classes less "
        "balanced, whichever side is pruned (Fig. 20).",
        f"The three most alike and the three least: {'; '.join(told)}.",
        f"Mean correlation with the prototypes, here of embeddings trained with labels, {interval(rest[0], 2)}; of the "
        f"other pairs {interval(rest[1], 2)}.",
        f"Balance falls below random's, by the interval, for {lower['hard']} of {len(SCORES)} scores if the hardest "
        f"half is kept and for {lower['easy']} if the easiest is.",
    ]
