"""Figure 1F of the paper: the information of one more kept example, from theory, from counting and as printed."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure
from scipy.special import erfinv, log_ndtr, ndtr

import winnow as wn
from winnow.report.palette import LIGHT

from .counting import DIMENSIONS, counted_gain
from .simulations import Plan, Shelf
from .style import ALPHA, LOOKS, SOFT, logarithmic, note, panels

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
STEPS = np.linspace(-9.0, 9.0, 19)
PLACES = {1.0: (0.54, 0.47), 0.5: (1.08, 0.97), 0.1: (1.0, 3.1), 0.01: (2.08, 6.0)}  # keep -> its label


def counts(plan: Plan, shelf: Shelf) -> list[dict[str, float]]:
    """The information counted by sampling faultless students, at every point of the plan."""
    N, sets = (DIMENSIONS, max(2, plan.draws // 2)) if plan.N > 20 else (10, 3)
    rows = []
    for alpha, keep in plan.counts:
        settings = {"alpha": alpha, "keep": keep, "N": N, "sets": sets}
        found = shelf.keep("counts", settings, lambda seed, a=alpha, k=keep: counted_gain(a, k, N, sets, seed))
        rows.append({**settings, **found, "theory": wn.theory.information_gain(alpha, keep).nats})
    return rows


def mended_76(keep: float, R: float) -> float:
    """The printed Eq. 76 with its sign turned and its alpha left out; it takes the overlap q for R."""
    gamma, ratio, rest = math.sqrt(2.0) * float(erfinv(keep)), math.sqrt(R / (1.0 - R)), math.sqrt(1.0 - R)
    # where R is close to 1 both H are steps: the panels are cut on the scale of each
    cuts = np.unique(np.concatenate([STEPS, STEPS / ratio, (STEPS * rest - gamma) / math.sqrt(R)]))
    cuts = cuts[np.abs(cuts) <= STEPS[-1]]
    half = np.diff(cuts)[:, None] / 2.0
    t = (cuts[:-1, None] + half + half * NODES).ravel()
    density = (half * WEIGHTS).ravel() * np.exp(-t * t / 2.0) / math.sqrt(2.0 * math.pi)
    inside = ndtr(-ratio * t) - ndtr(-(gamma + math.sqrt(R) * t) / rest)
    return float(-2.0 / keep * density @ (inside * log_ndtr(-ratio * t)))


def mended_at(alpha: float, keep: float) -> float:
    """The mended Eq. 76 at the right R: Eq. 73, which should give it one, need not have an extremum."""
    return mended_76(keep, float(wn.theory.information_gain(alpha, keep).R))


def information(plan: Plan, shelf: Shelf) -> Figure:
    """Figure 1F: information per example, right and as Eq. 76 would have it."""
    figure, (axes,) = panels(1, 4.6)
    logarithmic(axes)
    alphas = np.unique(np.concatenate([np.geomspace(0.1, 30, 40), np.linspace(1.5, 2.6, 45)]))
    for keep, place in PLACES.items():
        colour, _ = LOOKS[keep]
        found = wn.theory.information_gain(alphas, keep)
        axes.plot(alphas, found.nats, color=colour, zorder=3)
        if keep < 1.0:
            printed = [mended_76(keep, R) for R in found.R.tolist()]
            axes.plot(alphas, printed, color=colour, linestyle=(0, (4, 2)), linewidth=1.2)
        note(axes, f"keep {keep:g}" if keep < 1 else "keep all", *place, colour, fontweight="bold")
    axes.plot([5, 30], [0.2, 1 / 30], color=LIGHT["paper"], linestyle=":", linewidth=1.6, zorder=5)
    note(axes, "all tend to 1 / \N{GREEK SMALL LETTER ALPHA} (dotted)", 9, 1 / 9, SOFT, shift=(8, 6))
    note(axes, "dashed: Eq. 76 with its\nsign and its \N{GREEK SMALL LETTER ALPHA} mended", 2.9, 0.8, SOFT)
    for row in counts(plan, shelf):
        colour, marker = LOOKS[row["keep"]]
        looks = {"color": colour, "marker": marker, "markersize": 4.2, "markerfacecolor": LIGHT["paper"], "zorder": 4}
        axes.errorbar(row["alpha"], row["nats"], row["standard_error"], markeredgewidth=1.2, elinewidth=1.3, **looks)
    axes.set_xlabel(ALPHA)
    axes.set_ylabel("information of one more example, nats")
    return figure
