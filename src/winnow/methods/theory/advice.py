"""Advice from the theory, as sentences built from its numbers.

Rows are mappings that use the library's names as keys: alpha, keep, angle, policy, error, random_error and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import best_keep, learning_curve

__all__ = ["best_fraction", "enough_of", "how_far_apart", "what_it_teaches", "which_to_keep"]

TIE = 1e-3  # a policy is better than random if it lowers the error by more than this fraction
Row = Mapping[str, Any]


def which_to_keep(keep: float, angle: float, alphas: Sequence[float]) -> str:
    """Say which of hard, easy and random gives the lowest error, and over which range of alpha.

    Parameters
    ----------
    keep
        The fraction kept.
    angle
        Degrees between probe and teacher.
    alphas
        Kept examples per dimension, in increasing order. A change of policy is reported between two of them.
    """
    if keep == 1.0:
        return "Everything is kept, so neither the policy nor the probe matters."
    grid = np.asarray(alphas, dtype=np.float64)
    errors = {word: learning_curve(grid, keep, angle, word).error for word in ("random", "hard", "easy")}
    worth = np.stack([errors["random"] * (1 - TIE), errors["hard"], errors["easy"]])
    best = [list(errors)[place] for place in worth.argmin(axis=0)]
    turns = [i for i in range(1, len(best)) if best[i] != best[i - 1]]
    stretches = [f"{best[i - 1]} ones up to about {np.sqrt(grid[i - 1] * grid[i]):.2g}" for i in turns]
    where = f"beyond (from {grid[0]:.3g} to {grid[-1]:.3g}" if turns else f"(from {grid[0]:.3g} to {grid[-1]:.3g}"
    where = f"(at {grid[-1]:.3g}" if len(best) == 1 else where
    ends = ", ".join(f"{word} {values[-1]:.4g}" for word, values in sorted(errors.items(), key=lambda e: e[1][-1]))
    return (
        f"With {_probe(angle)} and {keep:.2g} of the data kept, keep {', '.join([*stretches, best[-1]])} ones {where} "
        f"kept per dimension). At {grid[-1]:.3g} the errors are: {ends}."
    )


def enough_of(total: float, angle: float, smallest: float | None = None) -> str:
    """Say how small a fraction of the data does as well as all of it.

    Parameters
    ----------
    total
        Examples per dimension before pruning.
    angle
        Degrees between probe and teacher.
    smallest
        The smallest fraction allowed.
    """
    best = best_keep(total=total, angle=angle, smallest=smallest)
    start = f"Of {total:g} examples per dimension, with {_probe(angle)},"
    full = float(best.full_error or 0.0)  # a total was given, so there is one
    if best.bound == "all":
        return f"{start} no smaller fraction does as well as all of them, which give error {full:.4g}."
    return (
        f"{start} the hardest {best.keep:.2g} ({best.alpha:.3g} per dimension) are enough: error {best.error:.4g}, "
        f"{best.error / full - 1:+.1%} relative to all of them; the same number at random gives "
        f"{best.random_error:.4g}."
    )


def best_fraction(row: Row) -> str:
    """Say which fraction is best for one number of kept examples: one row of a frontier."""
    return (
        f"With {_probe(row['angle'])} and {row['alpha']:.3g} examples kept per dimension, the best fraction to keep "
        f"({row['policy']}) is {row['keep']:.2g}: error {row['error']:.4g}; random ones give {row['random_error']:.4g}."
    )


def what_it_teaches(rows: Sequence[Row]) -> str:
    """Say at which alpha one more selected example gains most over a random one."""
    best = max(rows, key=lambda row: float(row["information"] / row["random_information"]))
    return (
        f"Of these points, one more {best['policy']} example (keep {best['keep']:.2g}) gains most over a random one at "
        f"{best['alpha']:.3g} kept per dimension: {best['information']:.4g} nats against "
        f"{best['random_information']:.4g}."
    )


def how_far_apart(rows: Sequence[Row], dimension: int) -> str:
    """Say how far the simulated errors are from the theory.

    Parameters
    ----------
    rows
        Each has `simulated_error` and its `standard_error`.
    dimension
        The dimension of the simulated students.
    """
    misses = [abs(row["simulated_error"] - row["error"]) / max(row["standard_error"], 1e-300) for row in rows]
    worst = max(range(len(rows)), key=misses.__getitem__)
    return (
        f"{sum(miss <= 2 for miss in misses)} of {len(rows)} simulated errors lie within 2 standard errors of the "
        f"theory; the farthest, at {rows[worst]['alpha']:.3g} kept per dimension, is {misses[worst]:.1f} away. The "
        f"theory is for many dimensions: at {dimension} expect a shift of the order of 1/{dimension}."
    )


def _probe(angle: float) -> str:
    return "a perfect probe" if angle == 0 else f"a probe {angle:g} degrees off"
