"""Several learning curves in one table, with the advice that follows from them and the lines of their figure.

Rows are plain mappings that use the library's names as keys (`advice.py` reads them, `winnow theory` prints them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import Window, frontier, information_gain, learning_curve, optimal_window, simulate, solve, window
from .advice import best_fraction, enough_of, how_far_apart, what_it_teaches, which_to_keep

__all__ = ["CurveTable", "PolicyCurve", "curve_table"]

FINE = 97  # points of a smooth line
Row = dict[str, Any]


@dataclass(frozen=True)
class PolicyCurve:
    """A curve to compute.

    Parameters
    ----------
    policy
        hard, easy, random, a window, or `"window"` for the best window at each point.
    keep
        The fraction kept; None for the best one at each point.
    angle
        Degrees between probe and teacher.
    """

    policy: str | Window
    keep: float | None
    angle: float

    @property
    def parts(self) -> tuple[str, str, str]:
        """The parts of its name; a figure shows only those that tell curves apart."""
        probe = f"probe {self.angle:g}\N{DEGREE SIGN} off" if self.angle else "perfect probe"
        if not isinstance(self.policy, str):
            return f"window {self.policy.a:g} to {self.policy.b:g}", f"keep {self.policy.keep:.2g}", probe
        kept = "best fraction" if self.keep is None else f"keep {self.keep:g}"
        return ("best window" if self.policy == "window" else self.policy), kept, probe


@dataclass(frozen=True)
class CurveTable:
    """Curves and their rows.

    Parameters
    ----------
    curves
        The curves.
    rows
        For each curve, one row per number of kept examples.
    limits
        `total` and `smallest` of `frontier`, for the best fraction.
    information
        Whether the rows hold what one more example teaches, instead of the error.
    dimension
        Dimensions of the simulated students, if the rows hold their errors too.
    """

    curves: Sequence[PolicyCurve]
    rows: Sequence[Sequence[Row]]
    limits: Mapping[str, float | None]
    information: bool
    dimension: int | None = None

    @property
    def alphas(self) -> list[float]:
        """The numbers of kept examples per dimension."""
        return [row["alpha"] for row in self.rows[0]]

    @property
    def points(self) -> list[Row]:
        """The rows of all curves."""
        return [row for some in self.rows for row in some]

    def simulated(self, dimension: int, **how: Any) -> CurveTable:
        """Return the table with errors of trained students beside those of the theory; keywords as for `simulate`."""
        rows = [[_simulated(row, {"N": dimension, **how}) for row in some] for some in self.rows]
        return replace(self, rows=rows, dimension=dimension)

    def advice(self) -> list[str]:
        """Say which policy to use at each angle and fraction, the best fraction, and how far simulations are off."""
        if self.information:
            return [what_it_teaches(self.points)]
        said = []
        for angle in dict.fromkeys(curve.angle for curve in self.curves):
            here = [(c.keep, some) for c, some in zip(self.curves, self.rows, strict=True) if c.angle == angle]
            given = [some[-1]["keep"] for keep, some in here if keep is not None]
            free = [some[-1] for keep, some in here if keep is None]
            said += [which_to_keep(keep, angle, _finer(self.alphas)) for keep in dict.fromkeys(given)]
            if self.limits["total"] is not None:
                said.append(enough_of(self.limits["total"], angle, self.limits["smallest"]))
            elif free:
                said.append(best_fraction(min(free, key=lambda row: float(row["error"]))))
        return said if self.dimension is None else [*said, how_far_apart(self.points, self.dimension)]

    def names(self) -> tuple[list[str], str]:
        """Return a name for each curve from the parts that differ, and what all curves have in common."""
        told = [len({curve.parts[i] for curve in self.curves}) > 1 for i in range(3)]
        differing = told if any(told) else [True, True, False]

        def joined(curve: PolicyCurve, wanted: bool) -> str:
            return ", ".join(part for part, told in zip(curve.parts, differing, strict=True) if told is wanted)

        return [joined(curve, True) for curve in self.curves], joined(self.curves[0], False)

    def lines(self) -> list[tuple[str, Sequence[Row], Sequence[Row]]]:
        """Return name, rows of a smooth line and rows of the table for each curve; random comes last, always."""
        fine = _finer(self.alphas)
        found: list[tuple[str, Sequence[Row], Sequence[Row]]] = []
        random: Sequence[Row] = []
        usual = _rows(PolicyCurve("random", 1.0, 0.0), fine, self.limits, self.information)
        for name, curve, some in zip(self.names()[0], self.curves, self.rows, strict=True):
            if curve.policy == "random":
                random = some
                continue
            slow = curve.keep is None and curve.policy == "window"  # two nested searches: seconds per point
            found.append((name, some if slow else _rows(curve, fine, self.limits, self.information), some))
        return [*found, ("random", usual, random)]


def curve_table(
    alphas: Sequence[float],
    curves: Sequence[PolicyCurve],
    *,
    total: float | None = None,
    smallest: float | None = None,
    information: bool = False,
) -> CurveTable:
    """Solve the theory for several curves.

    Parameters
    ----------
    alphas
        Kept examples per dimension, in increasing order.
    curves
        The curves; equal ones appear once.
    total, smallest
        As for `frontier`: for curves with the best fraction.
    information
        Whether to find what one more example teaches, instead of the error.

    Examples
    --------
    >>> table = curve_table([1.0, 5.0], [PolicyCurve("hard", 0.2, 0.0)])
    >>> [round(row["error"], 4) for row in table.points]
    [0.4177, 0.02]
    """
    limits = {"total": total, "smallest": smallest}
    unique = list(dict.fromkeys(curves))
    return CurveTable(unique, [_rows(curve, alphas, limits, information) for curve in unique], limits, information)


def _rows(
    curve: PolicyCurve, alphas: Sequence[float], limits: Mapping[str, float | None], information: bool
) -> list[Row]:
    """Return one row per point."""
    keeps: list[Any] = [curve.keep] * len(alphas)
    if curve.keep is None:
        policy: Any = curve.policy  # frontier checks the policy
        keeps = frontier(alphas, angle=curve.angle, policy=policy, **limits).keep.tolist()
    rows = []
    ordinary = information_gain(alphas).nats if information else learning_curve(alphas).error
    for alpha, keep, usual in zip(alphas, keeps, ordinary.tolist(), strict=True):
        best = curve.policy == "window"
        chosen = optimal_window(alpha, keep, curve.angle).policy if best else curve.policy
        fraction = 1.0 if best else keep
        ends = (chosen.a, chosen.b) if isinstance(chosen, Window) else (None, None)
        row: Row = {"alpha": alpha, "policy": chosen if ends[0] is None else "window", "a": ends[0], "b": ends[1]}
        if information:
            told = information_gain(alpha, fraction, chosen)
            row |= {"keep": keep if ends[0] is None else told.keep, "information": told.nats,
                    "random_information": usual, "q": told.q, "R": told.R}  # fmt: skip
        else:
            got = solve(alpha, fraction, curve.angle, chosen)
            row |= {"keep": got.keep, "angle": got.angle, "error": got.error, "random_error": usual,
                    "kappa": got.kappa, "R": got.R, "rho": got.rho}  # fmt: skip
        rows.append(row)
    return rows


def _simulated(row: Row, how: Mapping[str, Any]) -> Row:
    policy = window(row["a"], row["b"]) if row["policy"] == "window" else row["policy"]
    keep = 1.0 if row["policy"] == "window" else row["keep"]
    got = simulate(row["alpha"], keep, row["angle"], policy=policy, **how)
    return {**row, "simulated_error": got.error, "standard_error": got.standard_error}


def _finer(alphas: Sequence[float]) -> list[float]:
    """Return the same range with more points."""
    between = np.geomspace(alphas[0], alphas[-1], FINE).tolist() if len(alphas) > 1 else []
    return sorted({*alphas, *between})
