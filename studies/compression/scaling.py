"""Fig. 5a: how error falls with the number of points, and with the number left after compression.

d points are compressed to ceil(16 sqrt d), order 6, so that an error that falls like d^-a would fall like d'^-2a if
compression cost nothing. Both exponents come from one line through the logarithms of all sizes, for each teacher. They
lean on few sizes, so the paired ratio of the two errors on the same data stands beside them, 1 if nothing is lost. A
random subset of the same size shows what the same number of points gives without choosing.

Every student of every size is trained for the same number of batches of the same size; in the authors' code the budget
grows with the data. The rate is ten times the paper's .001, with which students of all points stay at six times the
error after 2,048 steps (on a teacher that is not among the seeds): at that rate the figure would show the optimiser.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from winnow.artefacts.intervals import Interval, mean
from winnow.core import seeds

from ..comparing import holds, ratio, times, within
from ..parts import COLOURS, FULL, RANDOM, Asked, Part, interval, panels, written
from .parts import begun, exponent
from .teacher import Rule, Teacher, trained
from .training_set import chosen

BOUND = 1.6
ARMS = ("full", "order 6", "loss-aware 6", "loss-aware 2", "random")
PAPER = "order 6"
TEACHERS = 2  # for each seed asked for
LOOKS = {"full": FULL, "random": RANDOM, **dict(zip(ARMS[1:-1], COLOURS, strict=False))}

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """The paper's: noise 3, width 50, 2 x 10^4 test points, 10 instances, batches of 512, 2,048 of them."""

    points: tuple[int, ...] = (1000, 2000, 4000, 8000, 16_000, 32_000)
    test: int = 10_000
    width: int = 50
    noise: float = 3.0


RULE = Rule("AdamW", 0.01, 512, 2048)


def kept(points: int) -> int:
    """How many are left, as in the paper."""
    return math.ceil(16 * math.sqrt(points))


def run(asked: Asked) -> Part:
    sizes = Sizes(points=(500, 1000, 2000), test=200, width=8) if asked.quick else Sizes()
    rule = Rule("AdamW", 0.01, 64, 20) if asked.quick else RULE
    found = np.array(
        [
            asked.shelf.keep(
                "errors",
                {"rule": rule.settings(), "sizes": asdict(sizes), "arms": ARMS, "repeat": repeat},
                lambda _, repeat=repeat: errors(sizes, rule, repeat).tolist(),
            )
            for repeat in range(TEACHERS * asked.seeds)
        ]
    )
    settings = (
        f"A ReLU teacher of width {sizes.width} with noise of sd {sizes.noise:g}; d points to ceil(16 sqrt d); "
        f"students of the same shape, {rule.steps:,} steps, {rule}, at every size; test error against the noiseless "
        f"teacher at {sizes.test:,} points; {len(found)} teachers with their own data and initial weights, all "
        f"sizes and arms of one paired (smaller sets are the first points of larger ones)."
    )
    return Part("scaling", settings, table(sizes, found), verdict(sizes, found), drawing(sizes, found))


def errors(sizes: Sizes, rule: Rule, repeat: int) -> Array:
    """Test errors (arm, size) of one teacher."""
    seed = seeds.number(0, "compression", "scaling", repeat)
    teacher = Teacher(sizes.width, seed)
    everything = teacher.sample(max(sizes.points), sizes.noise, seed, "train")
    test = teacher.sample(sizes.test, 0.0, seed, "test")
    given = []
    for arm in ARMS:
        for size in sizes.points:
            full = everything.at(np.arange(size))
            given.append(full if arm == "full" else chosen(arm, full, kept(size), seed))
    last = trained(given, test, rule, sizes.width, seed, [rule.steps])
    return last.reshape(len(ARMS), len(sizes.points))


def exponents(sizes: Sizes, found: Array) -> Mapping[str, Array]:
    """Each teacher's exponent: of full against d, of the others against d'."""
    after = [kept(size) for size in sizes.points]
    return {
        arm: np.array([exponent(sizes.points if arm == "full" else after, one[i]) for one in found])
        for i, arm in enumerate(ARMS)
    }


def paired(found: Array) -> Mapping[str, tuple[Interval, ...]]:
    """The ratio of each arm's error to full's on the same data, at each size, as a geometric mean over teachers."""
    pairs = {arm: zip(found[:, i].T, found[:, 0].T, strict=True) for i, arm in enumerate(ARMS) if i}
    return {arm: tuple(times(ours, full) for ours, full in every) for arm, every in pairs.items()}


def table(sizes: Sizes, found: Array) -> Sequence[str]:
    lines = [
        "| d | d' | " + " | ".join(ARMS) + " | " + " | ".join(f"{arm} / full" for arm in ARMS[1:]) + " |",
        "|---" * (1 + 2 * len(ARMS)) + "|",
    ]
    over = paired(found)
    for j, size in enumerate(sizes.points):
        cells = [interval(found[:, i, j]) for i in range(len(ARMS))]
        cells += [within(over[arm][j]) for arm in ARMS[1:]]
        lines.append(f"| {size:,} | {kept(size):,} | " + " | ".join(cells) + " |")
    alphas = exponents(sizes, found)
    cells = [written(mean(alphas[arm]), 2) for arm in ARMS]
    cells += [within(ratio(alphas[arm], alphas["full"])) for arm in ARMS[1:]]
    lines.append("| exponent | and its ratio | " + " | ".join(cells) + " |")
    return lines


def verdict(sizes: Sizes, found: Array) -> Sequence[str]:
    alphas = exponents(sizes, found)
    lines = [
        f"Claim: compressing d points to ceil(16 sqrt d) doubles the exponent of the scaling law; here, it is at least "
        f"{BOUND} times larger."
    ]
    for arm in ARMS[1:]:
        one = ratio(alphas[arm], alphas["full"])
        ours, full = (np.exp(np.log(found[:, i]).mean(1)) for i in (ARMS.index(arm), 0))
        all_sizes = times(ours, full)
        outcome = f": this {holds(one, BOUND, at_most=False)}" if arm != "random" else ""
        named = f"{arm} (the paper's)" if arm == PAPER else arm
        lines.append(
            f"{begun(named)}: exponent {written(mean(alphas[arm]), 2)} against {written(mean(alphas['full']), 2)}, "
            f"ratio {within(one)}{outcome}. Error over full's on the same data, all sizes: {within(all_sizes)}; at the "
            f"largest {within(paired(found)[arm][-1])}."
        )
    chance = ratio(alphas["random"], alphas["full"])
    if chance.high >= BOUND:
        lines.append(
            f"Random subsets of d' points, on a steeper stretch of the curve than d points, have a ratio of "
            f"{within(chance)} too: the ratio of exponents by itself does not show what compression does. The paired "
            f"ratio of errors does."
        )
    return lines


def drawing(sizes: Sizes, found: Array) -> Figure:
    figure, (left, right) = panels(2, 3.0)
    after = [kept(size) for size in sizes.points]
    alphas = exponents(sizes, found)
    for i, arm in enumerate(ARMS):
        at = sizes.points if arm == "full" else after
        every = [mean(column) for column in found[:, i].T]
        middle = np.array([one.centre for one in every])
        half = np.nan_to_num([one.half_width for one in every])
        label = f"{arm}: exponent {alphas[arm].mean():.2f}"
        left.errorbar(at, middle, half, color=LOOKS[arm], marker="o", ms=3, lw=1.2, capsize=2, label=label)
        if i:
            over = paired(found)[arm]
            ends = np.nan_to_num([[one.centre - one.low, one.high - one.centre] for one in over]).T
            right.errorbar(
                sizes.points, [one.centre for one in over], ends, color=LOOKS[arm], marker="o", ms=3, lw=1.2, capsize=2
            )
    left.set(xscale="log", yscale="log", xlabel="points trained on (d, or d' after choosing)", ylabel="test MSE")
    left.legend(fontsize=6, frameon=False)
    right.axhline(1, color=FULL, lw=1, ls="--")
    right.set(xscale="log", yscale="log", xlabel="points before choosing, d", ylabel="test MSE over full's")
    return figure
