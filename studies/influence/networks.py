"""Whole networks retrained from scratch on what influence keeps: the bound does not cover them, so they are measured.

A LeNet-5 is trained on a draw of images, the selector `influence` prunes by the head on its embeddings, and another
LeNet-5 learns from what is kept, from fresh weights and for as many steps as on everything. Its gap is its test loss
less that of the same weights trained on everything. Random removals of as many stand beside it; so does everything
trained from other weights, which shows how large a gap comes of chance alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts.intervals import mean
from winnow.core import seeds
from winnow.engines import Local
from winnow.training import Feed, train

from ..comparing import ratio, within
from ..parts import interval

OURS, CHANCE, AGAIN = "influence", "random", "other weights"
METHOD = "influence"


@dataclass(frozen=True)
class Sizes:
    """The paper: all of CIFAR-10 and CIFAR-100 with ResNets for 200 epochs."""

    images: int = 5_000
    shares: tuple[float, ...] = (0.3, 0.5, 0.7)
    epochs: int = 10
    batch: int = 64
    lr: float = 1e-3


QUICK = Sizes(images=200, shares=(0.3, 0.5), epochs=1)


def gaps(data: str, sizes: Sizes, repeat: int) -> Mapping[str, Any]:
    """Gaps in test loss by arm and share, and what the certificates said of the head."""
    seed = seeds.number(0, "influence", "networks", data, repeat)
    source, test = wn.open(data), wn.open(data, split="test")
    pool = source.at(np.sort(seeds.stream(seed, "pool").choice(len(source), sizes.images, replace=False)))
    recipe = wn.Recipe(epochs=sizes.epochs, batch=sizes.batch, lr=sizes.lr)
    model = wn.models.build("lenet5", classes=len(pool.classes), shape=pool.shape, seed=seed)
    train(model, Feed(pool), recipe, seed)
    embedded = wn.embed(pool, model)
    subsets = {
        str(share): wn.select(METHOD, embedded, keep=1 - share, balance=None, seed=repeat) for share in sizes.shares
    }
    alike: Any = {"test": test, "model": "lenet5", "recipe": recipe, "match_iterations": 1.0, "seed": seed}
    study = wn.evaluate(pool, subsets, seeds=[0], engine=Local(workers=1), **alike)
    again = wn.evaluate(pool, {}, seeds=[1], random=False, engine=Local(workers=1), **alike)
    losses = {outcome.arm: outcome.loss for outcome in study.outcomes}
    baseline = {arm.name: arm.baseline for arm in study.arms}
    heads = {share: subset.certificate for share, subset in subsets.items()}
    return {
        OURS: {share: losses[share] - losses["full"] for share in subsets},
        CHANCE: {share: losses[baseline[share]] - losses["full"] for share in subsets},
        AGAIN: again.outcomes[0].loss - losses["full"],
        "full": losses["full"],
        "head": {share: about["linear"] / about["random"] for share, about in heads.items()},
    }


def of_arm(found: Sequence[Mapping[str, Any]], arm: str, share: str) -> NDArray[np.float64]:
    """One gap a repeat."""
    return np.array([one[arm][share] for one in found])


def table(found: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    lines = [
        "| removed | head's change over random's | network's gap, influence | network's gap, random | over random's |",
        "|---" * 5 + "|",
    ]
    for share in found[0][OURS]:
        ours, chance = (of_arm(found, arm, share) for arm in (OURS, CHANCE))
        lines.append(
            f"| {float(share):.0%} | {interval(of_arm(found, 'head', share))} | {interval(ours)} | {interval(chance)} "
            f"| {within(ratio(ours, chance))} |"
        )
    return lines


def verdict(found: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    said = []
    for share in found[0][OURS]:
        apart = mean(of_arm(found, OURS, share) - of_arm(found, CHANCE, share))
        word = "smaller than" if apart.high < 0 else "larger than" if apart.low > 0 else "not told from"
        said.append(
            f"{word} random's at {float(share):.0%} ({apart.centre:+.3f}, {apart.low:+.3f} to {apart.high:+.3f})"
        )
    other = np.abs([one[AGAIN] for one in found])
    full = np.array([one["full"] for one in found])
    return [
        f"A whole network trained from scratch, which no bound covers: its gap after influence is {'; '.join(said)}. "
        f"Everything trained from other weights differs by {interval(other)} in size, at a loss of {interval(full)}.",
    ]
