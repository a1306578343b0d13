"""Figures 1A, 2 and 7 of the paper: error against what is kept, theory as lines and simulation as points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import winnow as wn
from winnow.report.palette import LIGHT

from .simulations import TOTAL, Plan, Point, Shelf, Timed
from .style import ALPHA, ERROR, FULL, INK, LOOKS, RANDOM, SOFT, WIDTH, logarithmic, measured, note, panels

TIMES = "\N{MULTIPLICATION SIGN}"
SMALLER = 20.0  # a second, smaller total, to show that the frontier depends on it


def errors_and_frontier(plan: Plan, shelf: Shelf) -> Figure:
    """Figure 1A: one curve a fraction, and the frontiers of two totals."""
    figure, (axes,) = panels(1, 4.6)
    logarithmic(axes)
    for total, place in ((TOTAL, (2.7, 0.0037)), (SMALLER, (21.5, 0.0275))):
        alphas = np.unique(np.concatenate([np.geomspace(0.4, 1.6, 12), np.geomspace(1.6, 4, 45), [total]]))
        found = wn.theory.frontier(alphas, total=total)
        axes.plot(found.alpha, found.error, color=LIGHT["m6"], linewidth=6, alpha=0.35, solid_capstyle="butt")
        note(axes, f"frontier of a total of {total:g}", *place, LIGHT["m6"], fontweight="bold")
    alphas = np.geomspace(0.4, 100, 120)
    for keep in plan.keeps:
        colour, marker = LOOKS[keep]
        curve = wn.theory.learning_curve(alphas, keep)
        axes.plot(alphas, curve.error, color=colour)
        measured(
            axes, (shelf.simulate(p, plan.N, plan.draws) for p in plan.perfect() if p.keep == keep), colour, marker
        )
        note(axes, f"keep {keep:g}" if keep < 1 else "keep all", 100, curve.error[-1], colour, shift=(5, 0))
    axes.set_xlim(0.4, 190)
    axes.set_xlabel(ALPHA)
    axes.set_ylabel(ERROR)
    return figure


def imperfect_probes(plan: Plan, shelf: Shelf) -> Figure:
    """Figure 2: the same for probes that are off by an angle, with what remains at large sizes."""
    angles = (0.0, *plan.angles)
    figure = Figure(figsize=(WIDTH, 6.2), layout="constrained", dpi=150)
    grid = figure.subplots(2, len(angles), sharex=True, sharey="row", squeeze=False, height_ratios=(3, 2))
    for (upper, lower), angle in zip(grid.T, angles, strict=True):
        logarithmic(upper)
        logarithmic(lower, y=False)
        for keep in plan.keeps:
            points = [p for p in (*plan.perfect(), *plan.imperfect()) if p.keep == keep]
            own = [shelf.simulate(p, plan.N, plan.draws) for p in points if keep == 1.0 or p.angle == angle]
            _at_angle(upper, lower, keep, angle, own)
        if angle:
            _what_remains(upper, lower, angle)
        upper.set_title(f"probe off by {angle:g}°" if angle else "perfect probe", loc="left", fontsize=9.5, color=INK)
        lower.set_xlabel(ALPHA)
    grid[0][0].set_ylabel(ERROR)
    grid[1][0].set_ylabel(f"error {TIMES} kept / C")
    grid[1][0].set_ylim(0, 1.15)
    grid[0][0].set_xlim(0.4, 600)
    figure.legend(handles=_handles(grid[0][0], plan), loc="outside upper left", ncols=6, columnspacing=1.2)
    return figure


def _at_angle(upper: Any, lower: Any, keep: float, angle: float, done: Sequence[Timed]) -> None:
    """One fraction's curve and points, as errors above and as multiples of C / alpha below."""
    colour, marker = LOOKS[keep]
    constant = wn.theory.power_law_constant()
    alphas = np.geomspace(0.4, 600, 120)
    errors = wn.theory.learning_curve(alphas, keep, angle).error
    upper.plot(alphas, errors, color=colour, linewidth=1.3)
    lower.plot(alphas, errors * alphas / constant, color=colour, linewidth=1.3)
    measured(upper, done, colour, marker)
    measured(lower, done, colour, marker, per=constant)
    end = float(wn.theory.asymptotic_prefactor(keep, angle)) / constant
    lower.plot([420, 600], [end, end], color=colour, linewidth=3.5, solid_capstyle="butt")


def _what_remains(upper: Any, lower: Any, angle: float) -> None:
    """The paper's power law of f_min, its Eq. 80 corrected, and the true infimum."""
    far = np.array([12.0, 600.0])
    dashes = {"color": LIGHT["m4"], "linestyle": (0, (5, 2)), "linewidth": 1.6}
    dots = {"color": INK, "linestyle": ":", "linewidth": 1.6}
    for level, looks in ((wn.theory.minimum_keep(angle), dashes), (math.sin(math.radians(angle)), dots)):
        upper.plot(far, wn.theory.power_law_constant() * level / far, **looks)
        lower.plot(far, [level, level], **looks)


def _handles(axes: Any, plan: Plan) -> list[Any]:
    out = []
    for keep in plan.keeps:
        colour, marker = LOOKS[keep]
        looks = {"color": colour, "marker": marker, "markerfacecolor": LIGHT["paper"], "linewidth": 1.3}
        out += axes.plot([], [], label=f"keep {keep:g}" if keep < 1 else "keep all", **looks)
    out += axes.plot([], [], color=LIGHT["m4"], linestyle=(0, (5, 2)), label="f_min")
    return out + axes.plot([], [], color=INK, linestyle=":", label="sine of the angle")


def policies(plan: Plan, shelf: Shelf) -> Figure:
    """Figure 7: hard, easy, random and the best window; and where that window lies."""
    figure, (left, right) = panels(2, 3.7)
    keep, alphas = plan.keep, np.geomspace(0.2, 12, 60)
    logarithmic(left)
    best = [wn.theory.optimal_window(float(alpha), keep) for alpha in alphas]
    lines = {
        "hard": (wn.theory.learning_curve(alphas, keep).error, LIGHT["m2"], "D"),
        "easy": (wn.theory.learning_curve(alphas, keep, policy="easy").error, LIGHT["m3"], "^"),
        "random": (wn.theory.learning_curve(alphas).error, RANDOM, "s"),
        "best window": (np.array([one.error for one in best]), LIGHT["m1"], "o"),
    }
    points = {
        "hard": [Point(alpha, keep) for alpha in plan.alphas],
        "easy": plan.easy(),
        "random": [Point(alpha) for alpha in plan.alphas],
        "best window": plan.windows(),
    }
    for name, (errors, colour, marker) in lines.items():
        left.plot(alphas, errors, color=colour, linewidth=2.4 if name == "best window" else 1.4)
        measured(left, (shelf.simulate(p, plan.N, plan.draws) for p in points[name]), colour, marker)
    left.axhline(0.5, color=FULL, linewidth=1, linestyle=(0, (1, 2)))
    note(left, "chance", 12, 0.5, FULL, shift=(0, 6), ha="right")
    left.set_ylim(top=0.7)
    for name, place, shift in (("hard", 26, (4, 8)), ("easy", 48, (4, 8)), ("random", 44, (2, 10)),
                               ("best window", 20, (-68, -8))):  # fmt: skip
        errors, colour, _ = lines[name]
        note(left, name, alphas[place], errors[place], colour, shift=shift, fontweight="bold")
    left.set_xlabel(ALPHA)
    left.set_ylabel(ERROR)
    _windows(right, alphas, best)
    right.set_title(f"the best window, {keep:g} kept", loc="left", fontsize=9.5, color=INK)
    left.set_title(f"four policies, {keep:g} kept", loc="left", fontsize=9.5, color=INK)
    return figure


def _windows(axes: Any, alphas: NDArray[np.float64], best: Sequence[wn.theory.BestWindow]) -> None:
    """The best window as a band of ranks, 0 the hardest example of the data and 1 the easiest."""
    logarithmic(axes, y=False)
    low = np.array([math.erf(one.a / math.sqrt(2)) for one in best])
    high = low + np.array([one.keep for one in best])
    axes.fill_between(alphas, low, high, color=LIGHT["m1"], alpha=0.25, linewidth=0)
    axes.plot(alphas, low, color=LIGHT["m1"])
    axes.plot(alphas, high, color=LIGHT["m1"])
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["hardest", "0.25", "half", "0.75", "easiest"])
    axes.set_xlabel(ALPHA)
    note(axes, "kept", alphas[12], 0.9, LIGHT["m1"], fontweight="bold")
    note(axes, "dropped", alphas[8], 0.4, SOFT)
    note(axes, "dropped", alphas[44], 0.6, SOFT)
