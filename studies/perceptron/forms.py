"""Figure 11A of the paper: forms fitted to the frontier of a fixed total."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.figure import Figure

import winnow as wn
from winnow.report.palette import LIGHT

from .simulations import TOTAL, Plan, Shelf
from .style import ALPHA, ERROR, FULL, INK, logarithmic, measured, panels

FORM_LOOKS = {
    "power": (LIGHT["m1"], (0, (5, 2))),
    "floor": (LIGHT["m4"], "-"),
    "exponential": (LIGHT["m2"], "-."),
    "stretched": (LIGHT["m3"], ":"),
}
FALL = 4.0  # the frontier of TOTAL has fallen by then, and is within 1 % of its end


@cache
def frontier_fits() -> dict[str, wn.theory.ScalingFit]:
    """The four forms fitted to theory's frontier: over its whole range, and over the fall alone."""
    found = [wn.theory.frontier(np.geomspace(0.5, end, 60), total=TOTAL) for end in (TOTAL, FALL)]
    fits = [wn.theory.fit_scaling(one.alpha, one.error, bootstrap=0) for one in found]
    return dict(zip(("whole", "fall"), fits, strict=True))


def forms(plan: Plan, shelf: Shelf) -> Figure:
    """Figure 11A: the frontier of a fixed total and the forms fitted to it."""
    figure, axes = panels(2, 3.8, sharey=True)
    done = [shelf.simulate(p, plan.N, plan.draws) for p in plan.frontier()]
    titles = {"whole": "fitted to the whole frontier", "fall": f"fitted up to {FALL:g}"}
    for panel, (name, fit) in zip(axes, frontier_fits().items(), strict=True):
        logarithmic(panel)
        low, high = float(fit.sizes.min()), float(fit.sizes.max())
        dense = wn.theory.frontier(
            np.unique(np.r_[np.geomspace(low, high, 40), np.linspace(1.7, 2.3, 40)]), total=TOTAL
        )
        panel.plot(dense.alpha, dense.error, color=LIGHT["m6"], linewidth=6, alpha=0.35, solid_capstyle="butt")
        grid = np.geomspace(low, high, 100)
        ranked = sorted(fit.forms.values(), key=lambda one: one.aic)
        for one in ranked:
            colour, dashes = FORM_LOOKS[one.name]
            label = f"{one.name}, {one.aic - ranked[0].aic:+.1f}"
            panel.plot(grid, fit.predict(grid, one.name), color=colour, linestyle=dashes, linewidth=1.5, label=label)
        measured(panel, (item for item in done if low <= item.simulation.alpha <= 1.001 * high), FULL, "o")
        panel.set_title(titles[name], loc="left", fontsize=9.5, color=INK)
        panel.set_xlabel(ALPHA)
        ticks = [tick for tick in (0.5, 1, 2, 4, 10, 30, 100) if low <= tick <= 1.001 * high]
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.legend(title="form, AICc above the best", title_fontsize=8, fontsize=8, loc="upper right")
    axes[0].set_ylabel(ERROR)
    axes[0].set_ylim(2e-3, 1.0)
    return figure
