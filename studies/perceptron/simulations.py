"""What is simulated, and the shelf it is kept on.

Every simulation has a seed of its own: points must be independent, or their chi-squares could not be added up.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from winnow.methods.theory.simulate import StandardErrors

from .. import shelf

Policy = str | wn.theory.Window

CROSSOVER = 2.0  # a point is at the crossover if theory has the error fall there faster than alpha to this power

TOTAL = 100.0  # examples per dimension before pruning, for the frontier


@dataclass(frozen=True)
class Point:
    """One setting of the theory: kept examples per dimension, fraction, degrees, policy."""

    alpha: float
    keep: float = 1.0
    angle: float = 0.0
    policy: Policy = "hard"

    @property
    def words(self) -> dict[str, Any]:
        """The setting as JSON can hold it, an open window too, and 2 no other than 2.0."""
        policy = self.policy if isinstance(self.policy, str) else f"window {self.policy.a!r} {self.policy.b!r}"
        return {"alpha": float(self.alpha), "keep": float(self.keep), "angle": float(self.angle), "policy": policy}

    @property
    def theory(self) -> float:
        """The error that theory expects."""
        return wn.theory.solve(self.alpha, self.keep, self.angle, self.policy).error

    @property
    def steepness(self) -> float:
        """How fast theory has the error fall here: -d log error / d log alpha."""
        step = 0.01
        ends = [self.alpha * np.exp(-step), self.alpha * np.exp(step)]
        errors = wn.theory.learning_curve(ends, self.keep, self.angle, self.policy).error
        return float(np.log(errors[0] / errors[1])) / (2 * step)


@dataclass(frozen=True)
class Timed:
    """A simulation and the processor seconds that one of its students took."""

    simulation: wn.theory.Simulation
    seconds: float


# Chosen before anything was simulated: all policies, angles and fractions, and theory's steepness below CROSSOVER.
AGREEMENT = (
    Point(0.5, policy="random"),
    Point(2, policy="random"),
    Point(5, policy="random"),
    Point(1, 0.5),
    Point(3, 0.5),
    Point(3, 0.1),
    Point(6, 0.2),
    Point(1, 0.3, 10),
    Point(5, 0.5, 10),
    Point(8, 0.2, 10),
    Point(0.5, 0.2, 20),
    Point(5, 0.5, 20),
    Point(10, 0.3, 20),
    Point(1, 0.5, 40),
    Point(5, 0.3, 40),
    Point(8, 0.8, 40),
    Point(1, 0.2, 0, "easy"),
    Point(3, 0.2, 0, "easy"),
    Point(2, 0.3, 20, "easy"),
    Point(5, 0.5, 40, "easy"),
    Point(2, policy=wn.theory.window(0.6, 0.93)),
    Point(3, angle=10, policy=wn.theory.window(0.5, 1.2)),
    Point(5, angle=40, policy=wn.theory.window(0.3, 1.0)),
)
AT_CROSSOVER = (Point(2, 0.2), Point(2, 0.1), Point(5, 0.1, 10))


@dataclass(frozen=True)
class Plan:
    """The sizes of a study: what `--draws` and `--quick` decide."""

    draws: int
    sizes: dict[int, int]  # dimensions -> draws, for the agreement
    N: int  # dimensions of the figures' students
    keeps: tuple[float, ...]
    angles: tuple[float, ...]
    alphas: tuple[float, ...]
    front: tuple[float, ...]  # alphas at which the frontier is simulated
    keep: float  # the fraction of the figure of policies
    agreement: tuple[Point, ...]
    crossover: tuple[Point, ...]
    counts: tuple[tuple[float, float], ...]  # (alpha, keep) whose information is counted

    @classmethod
    def of(cls, draws: int, quick: bool) -> Plan:
        """The full study, or one of a few seconds that shows that everything runs."""
        if quick:
            few = min(draws, 6)
            return cls(few, {10: few, 20: few, 40: few}, 20, (1.0, 0.2), (10.0,), (0.5, 3.0), (1.0, 4.0), 0.2,
                       AGREEMENT[3:5], AT_CROSSOVER[:1], ((1.0, 0.5),))  # fmt: skip
        sizes = {100: 2 * draws, 200: draws, 400: max(2, round(0.6 * draws))}
        alphas = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0)
        front = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0)
        counts = tuple((alpha, keep) for keep in (1.0, 0.5, 0.1) for alpha in (0.5, 1.0, 2.0, 4.0))
        return cls(draws, sizes, 200, (1.0, 0.5, 0.2, 0.1), (10.0, 20.0), alphas, front, 0.2,
                   AGREEMENT, AT_CROSSOVER, counts)  # fmt: skip

    def perfect(self) -> list[Point]:
        """Hard examples by a perfect probe."""
        return [Point(alpha, keep) for keep in self.keeps for alpha in self.alphas]

    def imperfect(self) -> list[Point]:
        """Hard examples by probes that are off by an angle; without pruning the angle does not matter."""
        some = [keep for keep in self.keeps if keep < 1.0]
        return [Point(alpha, keep, angle) for angle in self.angles for keep in some for alpha in self.alphas]

    def easy(self) -> list[Point]:
        """Easy examples by a perfect probe."""
        return [Point(alpha, self.keep, 0.0, "easy") for alpha in self.alphas]

    def windows(self) -> list[Point]:
        """The best window of each size."""
        found = [wn.theory.optimal_window(alpha, self.keep) for alpha in self.alphas]
        return [Point(best.alpha, policy=best.policy) for best in found]

    def frontier(self) -> list[Point]:
        """The frontier of a fixed total: the best fraction that the total allows at each size."""
        found = wn.theory.frontier(self.front, total=TOTAL)
        return [Point(alpha, keep) for alpha, keep in zip(found.alpha.tolist(), found.keep.tolist(), strict=True)]

    def everything(self) -> list[tuple[Point, int, int]]:
        """All simulations with a student: (point, dimensions, draws)."""
        drawn = [*self.perfect(), *self.imperfect(), *self.easy(), *self.windows(), *self.frontier()]
        plan = [(point, self.N, self.draws) for point in drawn]
        for size, draws in self.sizes.items():
            plan += [(point, size, draws) for point in (*self.agreement, *self.crossover)]
        return list(dict.fromkeys(plan))


class Shelf(shelf.Shelf):
    """The simulations of a run directory; what is not there yet is made and put there."""

    def __init__(self, folder: Path, workers: int | None) -> None:
        super().__init__(folder, "perceptron")
        self._workers = workers

    def simulate(self, point: Point, N: int, draws: int) -> Timed:
        """The students of one point."""
        policy = point.words["policy"]

        def make(seed: int) -> dict[str, Any]:
            made = wn.theory.simulate(
                point.alpha, point.keep, point.angle, N, draws, seed, point.policy, workers=self._workers
            )
            return asdict(made) | {"policy": policy, "errors": made.errors.tolist()}

        values, seconds = self.timed("students", {**point.words, "N": N, "draws": draws}, make)
        spread = StandardErrors(**values.pop("standard_errors"))
        values |= {"policy": point.policy, "standard_errors": spread, "errors": np.array(values["errors"])}
        return Timed(wn.theory.Simulation(**values), seconds / draws)
