"""Fig. 5b: error against the width of a network, and of networks narrowed to 16 times the root of it.

The paper's networks learn J_6(20 r) cos(6 theta) in 2,000 passes over 2 x 10^4 points with AdamW at .001, and match
six orders; it names no activation, and says that the exponent doubles. Its passes are 314,000 steps, more than this
machine can afford for every width. So a shorter training was sought in which the error of wide networks falls with
width, on a pilot seed outside the repeats, looking at wide networks alone, 300 to 4,800 neurons or some of these:

- J_2(5 r) cos(2 theta), tanh, 800 or 2,000 steps at .0003, .001 and .01: the same at every width, or growing;
- the same, ReLU, 2,000 steps at .001: .0005 at 300, .0002 at 1,200 and at 4,800: too easy;
- J_6(20 r) cos(6 theta), ReLU, 2,000 and 8,000 steps at .001, 4,000 at .003: at least three quarters of the error of
  saying zero is left;
- J_4(10 r) cos(4 theta), half way between, ReLU, 2,000 steps at .001, with Adam, then with AdamW on this and another
  pilot seed: .0138, .0100, .0064, .0041, .0026 at 300, 600, 1,200, 2,400, 4,800, a power of width.

The last is used here. Optimiser, rate, batch, number of points, noise, order and the rule for the narrow width are the
paper's. A ReLU has one derivative, so order 2 stands beside order 6, as in `width`; this was settled before the run.

At one rate Adam moves a wider network further in a step, so part of such a law is speed. Counts carry speed whichever
neurons they are given to: hence narrow networks drawn at random, with their counts, stand beside, and the paired
ratios of errors, which say more than a ratio of exponents.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts.intervals import mean
from winnow.core import seeds

from ..comparing import holds, ratio, times, within
from ..parts import COLOURS, FULL, RANDOM, Asked, Part, interval, panels
from .harmonic import learned, sub_network, task, wide
from .parts import begun, exponent
from .teacher import Rule

Array = NDArray[np.float64]

PAPER, CHANCE = "order 6", "random rescaled"
ARMS = ("wide", PAPER, "order 2", CHANCE)
LOOKS = dict(zip(ARMS, (FULL, COLOURS[0], COLOURS[1], RANDOM), strict=True))
DOUBLED = 1.6  # what is asked of the ratio of exponents in `scaling` too
HARMONIC = (4, 10.0)
ACTIVATION = "ReLU"
TRAINING = Rule("AdamW", 0.001, 128, 2000)


@dataclass(frozen=True)
class Sizes:
    """The paper's widths go to 10^5, with 2 x 10^4 points and as many test points."""

    widths: tuple[int, ...] = (300, 600, 1200, 2400, 4800)
    points: int = 20_000
    test: int = 4000
    noise: float = 0.2
    rule: Rule = TRAINING

    def narrow(self, width: int) -> int:
        """16 times the root, as the paper has it."""
        return math.ceil(16 * math.sqrt(width))


def run(asked: Asked) -> Part:
    """Train, fit exponents, compare."""
    small = Sizes(widths=(300, 320), points=200, test=100, rule=Rule("AdamW", 0.001, 32, 20))
    sizes = small if asked.quick else Sizes()
    decided = {"sizes": asdict(sizes), "task": HARMONIC, "activation": ACTIVATION, "arms": ARMS}
    found = np.array(
        [
            asked.shelf.keep("errors", {**decided, "repeat": repeat}, lambda _, repeat=repeat: errors(sizes, repeat))
            for repeat in range(asked.seeds)
        ]
    )
    order, frequency = HARMONIC
    settings = (
        f"Two-layer {ACTIVATION} networks that learn J_{order}({frequency:g} r) cos({order} theta) from "
        f"{sizes.points:,} points of noise {sizes.noise:g}: {sizes.rule.steps:,} steps, {sizes.rule}; d' = "
        f"ceil(16 sqrt d); error at {sizes.test:,} noiseless points; {asked.seeds} seeds of data, weights and batches, "
        "all widths and arms of one paired. The paper learns J_6(20 r) cos(6 theta) in 314,000 steps and names no "
        "activation. Task, activation and steps were chosen on two pilot seeds outside these, by the wide networks "
        "alone: in few steps the error on that task, and a tanh network's on an easier one, hardly depends on width."
    )
    return Part("width-scaling", settings, table(sizes, found), verdict(sizes, found), drawing(sizes, found))


def errors(sizes: Sizes, repeat: int) -> list[list[float]]:
    """Test errors in the end, by width and arm."""
    seed = seeds.number(0, "compression", "width scaling", repeat)
    on = task(*HARMONIC, sizes.points, sizes.test, sizes.noise, seed)
    out = []
    for width in sizes.widths:
        model = wide(width, ACTIVATION, seeds.number(seed, "weights", width))
        less = sizes.narrow(width)
        places = seeds.stream(seed, "places", width).choice(width, less, replace=False)
        networks = (  # in the order of ARMS; the narrow ones are taken before the wide one is trained
            model,
            wn.narrow(model, width=less, order=6, seed=seed),
            wn.narrow(model, width=less, order=2, seed=seed),
            sub_network(model, places, np.full(less, width / less), rule=True),
        )
        batches = seeds.number(seed, "batches")
        out.append([learned(one, on, sizes.rule, batches, [sizes.rule.steps]).errors[-1] for one in networks])
    return out


def exponents(sizes: Sizes, found: Array) -> dict[str, list[float]]:
    """One exponent a seed: the wide networks' against d, the others' against d'."""
    return {arm: [exponent(trained(sizes, arm), one[:, k]) for one in found] for k, arm in enumerate(ARMS)}


def trained(sizes: Sizes, arm: str) -> list[int]:
    """The widths of the networks that an arm trains."""
    return [d if arm == "wide" else sizes.narrow(d) for d in sizes.widths]


def table(sizes: Sizes, found: Array) -> list[str]:
    """Errors by width, ratios to the wide network's, and the exponents with their ratios."""
    lines = [
        "| d | d' | " + " | ".join(ARMS) + " | " + " | ".join(f"{arm} / wide" for arm in ARMS[1:]) + " |",
        "|---" * (1 + 2 * len(ARMS)) + "|",
    ]
    for place, d in enumerate(sizes.widths):
        mine = found[:, place]
        cells = [interval(mine[:, k], 4) for k in range(len(ARMS))]
        cells += [within(times(mine[:, k], mine[:, 0])) for k in range(1, len(ARMS))]
        lines.append(f"| {d:,} | {sizes.narrow(d):,} | " + " | ".join(cells) + " |")
    fitted = exponents(sizes, found)
    cells = [interval(fitted[arm], 2) for arm in ARMS]
    cells += [within(ratio(fitted[arm], fitted["wide"])) for arm in ARMS[1:]]
    return [*lines, "| exponent | and its ratio | " + " | ".join(cells) + " |"]


def verdict(sizes: Sizes, found: Array) -> list[str]:
    """The claim, and what the numbers say of it."""
    fitted = exponents(sizes, found)
    level = np.exp(np.log(found).mean(axis=1))
    lines = [
        "Claim: narrowing width d to ceil(16 sqrt d) doubles the exponent of the scaling law; here, it is at least "
        f"{DOUBLED:g} times larger."
    ]
    if not min(fitted["wide"]) > 0:
        return [
            *lines,
            "The wide networks' error does not fall with width in every seed, so there is no law to steepen.",
        ]
    for k, arm in enumerate(ARMS[1:], 1):
        grown = ratio(fitted[arm], fitted["wide"])
        said = "" if arm == CHANCE else f": this {holds(grown, DOUBLED, at_most=False)}"
        named = f"{arm} (the paper's)" if arm == PAPER else arm
        lines.append(
            f"{begun(named)}: exponent {interval(fitted[arm], 2)} against "
            f"{interval(fitted['wide'], 2)}, ratio {within(grown)}{said}. Error over the wide network's on the same "
            f"data, all widths: {within(times(level[:, k], level[:, 0]))}."
        )
    for k, arm in enumerate(ARMS[1:-1], 1):
        against = times(level[:, k], level[:, -1])
        lines.append(
            f"{begun(arm)} against random neurons, each counted d / d' times: error {within(against)} times theirs; "
            f"that it is smaller {holds(against, 1.0, at_most=True)}."
        )
    chance = ratio(fitted[CHANCE], fitted["wide"])
    if chance.high >= DOUBLED:
        lines.append(
            f"Random neurons, each counted d / d' times, have a ratio of {within(chance)} too: the ratio of exponents "
            "by itself does not show what matching moments does. The paired ratios of errors do."
        )
    return lines


def drawing(sizes: Sizes, found: Array) -> Figure:
    """Mean error against width, and each arm's error over the wide network's."""
    figure, (left, right) = panels(2, 3.0)
    fitted = exponents(sizes, found)
    for k, arm in enumerate(ARMS):
        label = f"{arm}: exponent {np.mean(fitted[arm]):.2f}"
        look = {"color": LOOKS[arm], "marker": "o", "ms": 3, "lw": 1.2, "capsize": 2}
        every = [mean(column) for column in found[:, :, k].T]
        half = np.nan_to_num([one.half_width for one in every])
        left.errorbar(trained(sizes, arm), [one.centre for one in every], half, label=label, **look)
        if k:
            over = [times(*pair) for pair in zip(found[:, :, k].T, found[:, :, 0].T, strict=True)]
            ends = np.nan_to_num([[one.centre - one.low, one.high - one.centre] for one in over]).T
            right.errorbar(sizes.widths, [one.centre for one in over], ends, **look)
    left.set(xscale="log", yscale="log", xlabel="neurons trained (d, or d' after narrowing)", ylabel="test MSE")
    left.legend(fontsize=6, frameon=False)
    right.axhline(1, color=FULL, lw=1, ls="--")
    right.set(
        xscale="log", yscale="log", xlabel="neurons before narrowing, d", ylabel="test MSE over the wide network's"
    )
    for axes in (left, right):
        axes.set_xticks(sizes.widths, [f"{width:,}" for width in sizes.widths], fontsize=8)
        axes.xaxis.set_minor_formatter(NullFormatter())
    left.set_yticks([0.003, 0.005, 0.01, 0.015], [".003", ".005", ".01", ".015"], fontsize=8)
    right.set_yticks([0.8, 0.9, 1, 1.1, 1.2], [".8", ".9", "1", "1.1", "1.2"], fontsize=8)
    left.yaxis.set_minor_formatter(NullFormatter())
    right.yaxis.set_minor_formatter(NullFormatter())
    return figure
