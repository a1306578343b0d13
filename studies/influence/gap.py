"""Fig. 2: does the predicted gap in test loss agree with the observed one?

Theorem 1 bounds the gap by the change of the parameters times the slope of the test loss, to first order, and the paper
plots the change against observed gaps. Here both factors are there, for the removals of the part `curve`, whose results
are taken from its shelf. Beside the theorem's bound stands the prediction to second order: slope times change, with
its sign, and half the curvature of the test loss along the change. The change is the linear prediction; nothing that
needs retraining enters. The slope is that of the reported test images, so this is a check of the theorem and no
forecast. Networks trained from scratch are in `networks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from winnow.artefacts.intervals import mean

from ..comparing import within
from ..parts import COLOURS, INK, RANDOM, SOFT, Asked, Part, interval, panels
from ..shelf import Shelf
from . import curve, networks
from .curve import CHANCE, LOOKS, METHODS, OURS, Cells, values

ORDER = 0.1  # "more than one order of magnitude"


def run(asked: Asked) -> Part:
    sizes, data = networks.QUICK if asked.quick else networks.Sizes(), asked.data[0]
    nets = [
        asked.shelf.keep(
            "networks",
            {"data": data, "sizes": asdict(sizes), "repeat": repeat},
            lambda _, repeat=repeat: networks.gaps(data, sizes, repeat),
        )
        for repeat in range(asked.seeds)
    ]
    folder = asked.out.parent / "curve"
    heads = curve.cells(replace(asked, shelf=Shelf(folder, "influence curve"), out=folder))
    settings = (
        f"{data}: heads as in the part `curve` ({len(heads)} draws); networks: LeNet-5 on {asked.seeds} draws of "
        f"{sizes.images:,} training images, AdamW {sizes.lr:g}, batches of {sizes.batch}, as many steps for all as "
        f"{sizes.epochs} passes over everything; one random removal a share and draw."
    )
    lines = [*table(heads), "", *networks.table(nets)]
    return Part("gap", settings, lines, [*verdict(heads), *networks.verdict(nets)], drawing(heads, nets))


def bounds(found: Sequence[Cells], method: str, share: str) -> NDArray[np.float64]:
    """Theorem 1 for one method and share, to first order: one number a repeat."""
    return values(found, method, share, "linear") * values(found, method, share, "slope")


def foreseen(found: Sequence[Cells], method: str, share: str) -> NDArray[np.float64]:
    """The gap predicted to second order: one number a repeat."""
    return values(found, method, share, "first") + values(found, method, share, "second")


def within_bound(found: Sequence[Cells], method: str, share: str) -> tuple[int, int]:
    """In how many removals the observed gap is within the bound, and of how many."""
    every = [one for repeat in found for one in repeat[method][share]]
    return sum(abs(one["gap"]) <= one["linear"] * one["slope"] for one in every), len(every)


def table(found: Sequence[Cells]) -> Sequence[str]:
    lines = [
        "| removed | method | bound: change times slope | size of the gap | within the bound | predicted gap | "
        "observed gap |",
        "|---" * 7 + "|",
    ]
    for share in found[0][OURS]:
        for method in METHODS:
            inside, many = within_bound(found, method, share)
            observed = values(found, method, share, "gap")
            lines.append(
                f"| {float(share):.0%} | {method} | {interval(bounds(found, method, share), 5)} "
                f"| {interval(values(found, method, share, 'gap', size=True), 5)} | {inside} of {many} "
                f"| {interval(foreseen(found, method, share), 5)} | {interval(observed, 5)} |"
            )
    return lines


def verdict(found: Sequence[Cells]) -> Sequence[str]:
    shares = list(found[0][OURS])
    lines = [
        "Claim: the observed gap agrees with the theorem's bound and goes with it; pruning by influence has a bound "
        "and a gap more than an order of magnitude below random's."
    ]
    for method in METHODS:
        counts = [within_bound(found, method, share) for share in shares]
        inside, many = (sum(one) for one in zip(*counts, strict=True))
        tight = mean([np.median(each) for each in shares_of_bound(found, method)])
        fails = [f"{float(share):.0%}" for share, (held, of) in zip(shares, counts, strict=True) if held < of]
        where = f", not in all at {', '.join(fails)}" if fails else ""
        lines.append(
            f"Heads, {method}: the observed gap is within the bound in {inside} of {many} removals{where}; the median "
            f"gap is {within(tight)} of its bound, so agreement {agreement(tight.low, tight.high)}."
        )
    together = mean([correlation([repeat]) for repeat in found])
    lines.append(f"Bound and size of the gap over all methods and shares: rank correlation {within(together)}.")
    lines.append(f"Bound and size of the gap of influence over random's: {'; '.join(smaller(found, shares))}.")
    return lines


def smaller(found: Sequence[Cells], shares: Sequence[str]) -> list[str]:
    """Bound and gap over random's at each share removed, and whether the gap's is below an order of magnitude."""
    said = []
    for share in shares:
        bound = bounds(found, OURS, share).mean() / bounds(found, CHANCE, share).mean()
        size = curve.judged(found, share)["size"]
        said.append(
            f"at {float(share):.0%} {bound:.3f} and {within(size, 3)}, an order of magnitude in the gap "
            f"{curve.between(size, -ORDER, ORDER)}"
        )
    return said


def shares_of_bound(found: Sequence[Cells], method: str) -> list[list[float]]:
    """Observed gaps over their bounds, by repeat."""
    return [
        [abs(one["gap"]) / (one["linear"] * one["slope"]) for every in repeat[method].values() for one in every]
        for repeat in found
    ]


def agreement(low: float, high: float) -> str:
    """What the gap's share of its bound says of the claim that they agree."""
    if low > 1:
        return "fails: the terms that the theorem drops are larger than the bound"
    if high < 0.5:
        return "is loose by a factor of two or more"
    return "is within a factor of two" if low >= 0.5 and high <= 1 else "is not decided by these draws"


def correlation(found: Sequence[Cells]) -> float:
    """The rank correlation of bounds and sizes of gaps over methods and shares."""
    pairs = [
        (bounds(found, method, share).mean(), values(found, method, share, "gap", size=True).mean())
        for method in METHODS
        for share in found[0][method]
    ]
    return float(stats.spearmanr(*zip(*pairs, strict=True)).statistic)


def drawing(found: Sequence[Cells], nets: Sequence[Mapping[str, Any]]) -> Figure:
    figure, axes = panels(3, 2.9)
    for method in METHODS:
        every = [one for repeat in found for removals in repeat[method].values() for one in removals]
        change = np.array([(one["linear"], one["actual"]) for one in every])
        gap = np.array([(one["linear"] * one["slope"], abs(one["gap"])) for one in every])
        for axis, points in zip(axes, (change, gap), strict=False):
            axis.plot(*points.T, ls="none", marker="o", ms=2.5, alpha=0.6, color=LOOKS[method], label=method)
    for axis in axes[:2]:
        low, high = axis.get_xlim()
        axis.set(xscale="log", yscale="log")
        low = min(line.get_xdata().min() for line in axis.lines)
        axis.plot([low, high], [low, high], color=INK, lw=0.8)
    axes[0].set(xlabel="predicted change", ylabel="actual change", title="change of the head")
    axes[1].set(xlabel="bound: change times slope", ylabel="size of the gap", title="test loss of the head")
    axes[0].legend(fontsize=6, frameon=False)
    networks_panel(axes[2], nets)
    for axis in axes:
        axis.title.set_size(8)
    return figure


def networks_panel(axis: Any, nets: Sequence[Mapping[str, Any]]) -> None:
    """Gaps of networks trained from scratch."""
    shares = list(nets[0][networks.OURS])
    at = [100 * float(share) for share in shares]
    for arm, colour in ((networks.OURS, COLOURS[0]), (networks.CHANCE, RANDOM)):
        every = np.array([networks.of_arm(nets, arm, share) for share in shares])
        axis.plot(at, every.mean(axis=1), color=colour, marker="o", ms=4, lw=1.3)
        axis.plot(at, every, color=colour, ls="none", marker=".", ms=3, alpha=0.5)
        axis.text(at[-1] + 3, every[-1].mean(), arm, color=colour, fontsize=6, va="center")
    noise = float(np.mean(np.abs([one[networks.AGAIN] for one in nets])))
    axis.axhspan(-noise, noise, color=SOFT, alpha=0.25, lw=0)
    axis.text(at[0], -noise, "other weights", color=SOFT, fontsize=6, va="top")
    axis.set(xlabel="removed, %", ylabel="gap in test loss", title="networks from scratch", xticks=at)
    axis.set_xlim(at[0] - 5, at[-1] + 28)
