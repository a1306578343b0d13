"""Figure 8A of the paper: error against the time it takes to find the student."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import winnow as wn

from .simulations import Plan, Shelf
from .style import ERROR, LOOKS, logarithmic, measured, note, panels


@dataclass(frozen=True)
class Cost:
    """Processor seconds of one student at the figures' N: seconds = at_one alpha^(power + bend log alpha)."""

    keep: float
    at_one: float
    power: float
    bend: float
    scatter: float  # of log seconds about the fit

    def seconds(self, alphas: NDArray[np.float64]) -> NDArray[np.float64]:
        """The seconds that the fit expects."""
        return np.asarray(self.at_one * alphas ** (self.power + self.bend * np.log(alphas)))


def costs(plan: Plan, shelf: Shelf) -> list[Cost]:
    """The cost of a student, fitted for each fraction by least squares of log seconds on log alpha and its square."""
    out = []
    for keep in plan.keeps:
        done = [shelf.simulate(p, plan.N, plan.draws) for p in plan.perfect() if p.keep == keep]
        logs = np.log([[item.simulation.alpha, item.seconds] for item in done])
        order = min(2, len(done) - 1)
        levels = np.polynomial.polynomial.polyfit(logs[:, 0], logs[:, 1], order)
        misses = logs[:, 1] - np.polynomial.polynomial.polyval(logs[:, 0], levels)
        scatter = float(np.sqrt((misses**2).sum() / max(1, len(done) - order - 1)))
        at_one, power, bend = np.exp(levels[0]), levels[1], levels[2] if order == 2 else 0.0
        out.append(Cost(keep, float(at_one), float(power), float(bend), scatter))
    return out


def compute(plan: Plan, shelf: Shelf) -> Figure:
    """Figure 8A: error against the seconds that our solver takes to find one student."""
    figure, (axes,) = panels(1, 4.2)
    logarithmic(axes)
    alphas = np.geomspace(plan.alphas[0], plan.alphas[-1], 80)
    for cost in costs(plan, shelf):
        colour, marker = LOOKS[cost.keep]
        errors = wn.theory.learning_curve(alphas, cost.keep).error
        axes.plot(cost.seconds(alphas), errors, color=colour)
        done = (shelf.simulate(p, plan.N, plan.draws) for p in plan.perfect() if p.keep == cost.keep)
        measured(axes, done, colour, marker, x="seconds")
        words = f"keep {cost.keep:g}" if cost.keep < 1 else "keep all"
        note(axes, words, float(cost.seconds(alphas[-1:])[0]), errors[-1], colour, shift=(9, 0))
    axes.set_xlabel(f"processor seconds of our solver for one student in {plan.N} dimensions")
    axes.set_ylabel(ERROR)
    axes.margins(x=0.12)
    return figure
