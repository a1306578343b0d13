"""Fig. 5b: error against the width of a network, and of networks narrowed to 16 times the root of it.

The networks, the easy task and the training are those of `width` (tanh, Adam). The paper matches six orders and
says that the exponent doubles. As in `scaling`, narrow networks drawn at random, with their counts, stand beside it,
and the paired ratio of errors, which says more than a ratio of exponents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import winnow as wn
from winnow import seeds

from .harmonic import learned, sub_network, task, wide
from .parts import COLOURS, FULL, RANDOM, Asked, Part, exponent, holds, interval, panels, ratio, times, within
from .teacher import Rule

ARMS = ("wide", "narrowed", "random rescaled")
LOOKS = dict(zip(ARMS, (FULL, COLOURS[0], RANDOM), strict=True))
DOUBLED = 1.6  # what the issue of this study asks of the ratio of exponents


TRAINING = Rule("Adam", 0.001, 128, 800)


@dataclass(frozen=True)
class Sizes:
    """The paper's widths go to 10^5, with 2 x 10^4 points and as many test points."""

    widths: tuple[int, ...] = (300, 600, 1200, 2400, 4800)
    order: int = 6
    points: int = 20_000
    test: int = 4000
    noise: float = 0.2
    rule: Rule = TRAINING

    def narrow(self, width: int) -> int:
        """16 times the root, as the paper has it."""
        return math.ceil(16 * math.sqrt(width))


def run(asked: Asked) -> Part:
    """Train, fit exponents, compare."""
    small = Sizes(widths=(300, 320), points=200, test=100, rule=Rule("Adam", 0.001, 32, 20))
    sizes = small if asked.quick else Sizes()
    found = np.array(
        [
            asked.shelf.keep(
                "errors",
                {"sizes": asdict(sizes), "repeat": repeat},
                lambda _, repeat=repeat: errors(sizes, repeat),
            )
            for repeat in range(asked.seeds)
        ]
    )
    settings = (
        f"Two-layer tanh networks that learn J_2(5 r) cos(2 theta) from {sizes.points:,} points of noise "
        f"{sizes.noise:g}: {sizes.rule.steps} steps of {sizes.rule.optimiser} at {sizes.rule.lr:g}, batches of "
        f"{sizes.rule.batch}; order {sizes.order}; error at {sizes.test:,} noiseless points; {asked.seeds} seeds of "
        "data, weights and batches, all widths and arms of one paired."
    )
    return Part("width-scaling", settings, table(sizes, found), verdict(sizes, found), drawing(sizes, found))


def errors(sizes: Sizes, repeat: int) -> list[list[float]]:
    """Test errors in the end, by width and arm."""
    seed = seeds.number(0, "compression", "width scaling", repeat)
    on = task(2, 5.0, sizes.points, sizes.test, sizes.noise, seed)
    out = []
    for width in sizes.widths:
        model = wide(width, "tanh", seeds.number(seed, "weights", width))
        less = sizes.narrow(width)
        places = seeds.stream(seed, "places", width).choice(width, less, replace=False)
        networks: Mapping[str, object] = {
            "narrowed": wn.narrow(model, width=less, order=sizes.order),
            "random rescaled": sub_network(model, places, np.full(less, width / less), rule=True),
            "wide": model,
        }
        batches = seeds.number(seed, "batches")
        out.append([learned(networks[arm], on, sizes.rule, batches, [sizes.rule.steps]).errors[-1] for arm in ARMS])
    return out


def exponents(sizes: Sizes, found: NDArray[np.float64]) -> dict[str, list[float]]:
    """One exponent a seed: the wide networks' against d, the others' against d'."""
    at = {arm: sizes.widths if arm == "wide" else [sizes.narrow(d) for d in sizes.widths] for arm in ARMS}
    return {arm: [exponent(at[arm], one[:, k]) for one in found] for k, arm in enumerate(ARMS)}


def table(sizes: Sizes, found: NDArray[np.float64]) -> list[str]:
    """Errors by width, ratios to the wide network's, and the exponents."""
    lines = [
        "| d | d' | wide | narrowed | random rescaled | narrowed / wide | random / wide |",
        "|---|---|---|---|---|---|---|",
    ]
    for place, d in enumerate(sizes.widths):
        mine = found[:, place]
        cells = [interval(mine[:, k], 4) for k in range(3)] + [within(times(mine[:, k], mine[:, 0])) for k in (1, 2)]
        lines.append(f"| {d:,} | {sizes.narrow(d):,} | " + " | ".join(cells) + " |")
    fitted = exponents(sizes, found)
    cells = [interval(fitted[arm], 2) for arm in ARMS]
    return [*lines, "| exponent | | " + " | ".join(cells) + " | | |"]


def verdict(sizes: Sizes, found: NDArray[np.float64]) -> list[str]:
    """The claim, and what the numbers say of it."""
    fitted = exponents(sizes, found)
    lines = [
        "Claim: narrowing width d to ceil(16 sqrt d) doubles the exponent of the scaling law; here, at least "
        f"{DOUBLED:g} times."
    ]
    for k, arm in enumerate(ARMS[1:], 1):
        grown = ratio(fitted[arm], fitted["wide"])
        paired = times(found[:, :, k].mean(axis=1), found[:, :, 0].mean(axis=1))
        said = "" if arm != "narrowed" else f": this {holds(grown, DOUBLED, at_most=False)}"
        lines.append(
            f"{arm.capitalize()}: exponent {interval(fitted[arm], 2)} against {interval(fitted['wide'], 2)}, ratio "
            f"{within(grown)}{said}. Error over the wide network's on the same data: {within(paired)}."
        )
    if not min(fitted["wide"]) > 0:
        lines.append(
            "The wide networks' error does not fall with width in every seed here, so there is no law to steepen; what "
            "can be said is how near the narrowed network's error is to the wide one's."
        )
    return lines


def drawing(sizes: Sizes, found: NDArray[np.float64]) -> Figure:
    """Mean error against width."""
    figure, (axes,) = panels(1, 3.2)
    for k, arm in enumerate(ARMS):
        at = sizes.widths if arm == "wide" else [sizes.narrow(d) for d in sizes.widths]
        axes.plot(at, found[:, :, k].mean(axis=0), color=LOOKS[arm], marker="o", markersize=4, label=arm)
        for one in found:
            axes.plot(at, one[:, k], color=LOOKS[arm], marker=".", markersize=3, linewidth=0, alpha=0.5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("neurons of the network that is trained")
    axes.set_ylabel("test error")
    axes.legend(frameon=False, fontsize=8)
    return figure
