"""Shifted tests (Fig. 25): does pruning hurt on corrupted images more than on clean ones?

Networks trained on the hardest and on the easiest by prototypes, on random images and on everything are tested on clean
test images and on five corruptions of them: noise, blur, low contrast, darkness and blocks of pixels. The corruptions
are a few lines here, in the manner of the usual benchmarks, so that every draw is seeded and no package is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

import winnow as wn
from winnow.artefacts.intervals import difference
from winnow.core import seeds

from ..comparing import signed, unchanged
from ..parts import Asked, Part, interval
from .trials import CHANCE, FULL, Cell, described, observed, retrained, sizes_of, values

Floats = NDArray[np.float64]
KEPT = (0.8, 0.5)
CLEAN = "clean"
SIDES = {"hard": "hardest", "easy": "easiest"}
CORRUPTIONS: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "noise": lambda x, rng: x + rng.normal(0, 0.2, x.shape),
    "blur": lambda x, rng: ndimage.gaussian_filter(x, (0, 0, 1.2, 1.2)),
    "low contrast": lambda x, rng: 0.4 * x + 0.6 * x.mean(axis=(1, 2, 3), keepdims=True),
    "darkness": lambda x, rng: 0.4 * x,
    "blocks": lambda x, rng: np.repeat(np.repeat(x[..., 1::3, 1::3], 3, axis=2), 3, axis=3),
}


def run(asked: Asked) -> Part:
    found = [
        asked.shelf.keep(
            "cells",
            {"data": asked.data[0], "repeat": repeat, "tests": list(CORRUPTIONS), "kept": KEPT, "quick": asked.quick},
            lambda _, repeat=repeat: cell(asked, repeat),
        )
        for repeat in range(asked.seeds)
    ]
    arms = [FULL, *(arm for share in KEPT for arm in (f"hard {share:g}", f"easy {share:g}", of_chance(asked, share)))]
    tests = (CLEAN, *CORRUPTIONS)
    lines = ["| trained on | " + " | ".join(tests) + " | mean of corrupted |", "|---" * (len(tests) + 2) + "|"]
    for arm in arms:
        row = [interval(values(found, arm, test), 1) for test in tests]
        lines.append(f"| {named(asked, arm)} | " + " | ".join(row) + f" | {interval(shifted(found, arm), 1)} |")
    settings = described(asked, "10 prototypes of the observed network, no quotas, as many epochs as everything.")
    return Part("shifts", settings, lines, verdict(asked, found))


def of_chance(asked: Asked, share: float) -> str:
    return f"{CHANCE} {round(share * sizes_of(asked).images)}"


def named(asked: Asked, arm: str) -> str:
    for share in KEPT:
        if arm == of_chance(asked, share):
            return f"random, {share:.0%}"
    return "everything" if arm == FULL else f"{SIDES[arm.split()[0]]}, {float(arm.split()[1]):.0%}"


def tests_of(asked: Asked) -> dict[str, wn.Source]:
    """The clean test images and their corruptions, with the same labels."""
    clean = wn.open(asked.data[0], split="test", limit=sizes_of(asked).tests)
    pixels = clean.read(np.arange(len(clean))).astype(np.float64) / 255
    pixels = pixels.reshape(len(clean), *clean.shape)
    names = np.array(clean.classes)[np.asarray(clean.labels)]
    out = {CLEAN: clean}
    for name, change in CORRUPTIONS.items():
        made = change(pixels, seeds.stream(0, "metrics", "corruption", name))[..., : clean.shape[1], : clean.shape[2]]
        short = [(0, 0), (0, 0), *((0, side - had) for side, had in zip(clean.shape[1:], made.shape[2:], strict=True))]
        grey = np.clip(np.rint(255 * np.pad(made, short, mode="edge")), 0, 255).astype(np.uint8)
        out[name] = wn.open((grey, names), classes=clean.classes, name=f"{clean.name}, {name}")
    return out


def cell(asked: Asked, repeat: int) -> dict[str, dict[str, float]]:
    """Accuracies of one repeat, by arm and test set."""
    scores = wn.score("prototype", observed(asked, repeat), seed=repeat)
    subsets = {
        f"{side} {share:g}": wn.select("rank", scores, keep=share, balance=None, policy=side)
        for share in KEPT
        for side in SIDES
    }
    return retrained(asked, "shifts", subsets, repeat, test=tests_of(asked))


def shifted(found: Sequence[Cell], arm: str) -> Floats:
    """Mean accuracy over the corrupted tests, one per repeat."""
    return np.mean([values(found, arm, test) for test in CORRUPTIONS], axis=0)


def verdict(asked: Asked, found: Sequence[Cell]) -> list[str]:
    lines = [
        "Paper: pruning the easy images does not hurt on shifted tests beyond what it does on clean ones; pruning the "
        "hard ones hurts both."
    ]
    for share in KEPT:
        chance = of_chance(asked, share)
        for side in SIDES:
            arm = f"{side} {share:g}"
            own = difference(values(found, arm, CLEAN), values(found, chance, CLEAN))
            moved = difference(shifted(found, arm), shifted(found, chance))
            extra = difference(
                shifted(found, arm) - shifted(found, chance), values(found, arm, CLEAN) - values(found, chance, CLEAN)
            )
            lines.append(
                f"{share:.0%} kept, the {SIDES[side]}, against random: clean {signed(own)}, corrupted {signed(moved)}; "
                f"corrupted less clean {signed(extra)}. That the shift adds no loss: {unchanged(extra)}."
            )
    return lines
