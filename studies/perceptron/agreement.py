"""How well theory and simulation agree: every point at three sizes, carried to infinite size, beside theory."""

from __future__ import annotations

from dataclasses import dataclass

import winnow as wn

from .simulations import CROSSOVER, Plan, Point, Shelf


@dataclass(frozen=True)
class Row:
    """One point: the simulations by size, their limit, and theory."""

    point: Point
    simulations: tuple[wn.theory.Simulation, ...]
    limit: wn.theory.Extrapolation
    theory: float
    steepness: float

    @property
    def miss(self) -> float:
        """Limit less theory, in standard errors of the limit."""
        return (self.limit.error - self.theory) / self.limit.standard_error

    @property
    def at_crossover(self) -> bool:
        """Whether theory's error falls so fast here that no agreement is claimed."""
        return self.steepness >= CROSSOVER


def rows(plan: Plan, shelf: Shelf) -> list[Row]:
    """All points of the plan; the rule, not the list, says which are at the crossover."""
    out = []
    for point in (*plan.agreement, *plan.crossover):
        done = tuple(shelf.simulate(point, size, draws).simulation for size, draws in plan.sizes.items())
        out.append(Row(point, done, wn.theory.extrapolate(done), point.theory, point.steepness))
    return out
