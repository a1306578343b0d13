"""The grid: how much a method gains over random by size and fraction, beside what the perceptron theory says.

The theory knows one number, alpha: examples per dimension. What a dimension is on real data is fitted, as `winnow plan`
does it: the theory's learning curve is laid through the errors of random subsets of all sizes. The theory then says
what keeping the hardest does to the error at that alpha, with a perfect probe (angle 0) or a weak one. A ratio below
one is a gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import winnow as wn
from winnow.planning.accuracy_forecast import Calibration, calibrate

__all__ = ["fitted", "grid_told", "theory_ratio"]

HARDEST, RANDOM = "el2n", "random"
ANGLES = (0.0, 30.0)


def grid_told(record: wn.BenchRecord) -> list[str]:
    """Two tables: points over random of every method by size and fraction; and the errors of the hardest beside theory.

    Parameters
    ----------
    record
        Of one data set at several sizes.
    """
    sizes = named_sizes(record)
    places = sorted(record.columns, key=lambda place: (sizes[place[0]], -place[1]))
    methods = list(dict.fromkeys(one.method for one in record.cells if not one.soft and not math.isnan(one.gap)))
    real = record.real()
    lines = ["| images | kept | " + " | ".join(methods) + " |", "|---" * (len(methods) + 2) + "|"]
    for data, keep in places:
        row = []
        for method in methods:
            one = record.of(method)[data, keep]
            mark = "" if not real[method, data, keep] else " ▲" if one.gap > 0 else " ▼"
            row.append(f"{100 * one.gap:+.2f} ± {100 * one.reach:.2f}{mark}")
        lines.append(f"| {sizes[data]:,} | {keep:g} | " + " | ".join(row) + " |")
    return [*lines, "", *beside_theory(record, sizes, places)]


def beside_theory(record: wn.BenchRecord, sizes: dict[str, int], places: Sequence[tuple[str, float]]) -> list[str]:
    """The error of the hardest over that of random, as measured and as the theory has it."""
    fit = fitted(record, sizes)
    lines = [
        "| images | kept | alpha of all | alpha kept | random's error, % | error of the hardest over random's | "
        + " | ".join(f"theory, probe off by {angle:g}°" for angle in ANGLES)
        + " |",
        "|---" * (6 + len(ANGLES)) + "|",
    ]
    signs = []
    for data, keep in places:
        whole = float(fit.alpha(sizes[data])[0])
        random, hard = (100 * (1 - record.of(name)[data, keep].value) for name in (RANDOM, HARDEST))
        said = [theory_ratio(keep * whole, keep, angle) for angle in ANGLES]
        signs.append((hard < random, said[0] < 1))
        lines.append(
            f"| {sizes[data]:,} | {keep:g} | {whole:.2g} | {keep * whole:.2g} | {random:.1f} | {hard / random:.2f} | "
            + " | ".join(f"{one:.2f}" for one in said)
            + " |"
        )
    agree = sum(a == b for a, b in signs)
    fitted_as = (
        f"a floor of {100 * float(fit.floor[0]):.1f} % error"
        if fit.form == "floor"
        else f"alpha as a power {float(fit.exponent[0]):.2f}"
    )
    return [
        *lines,
        "",
        f"Effective dimension {float(fit.dimension[0]):,.0f} images, with {fitted_as}, fitted to random subsets of "
        f"{len(signs)} sizes. Theory and trainings agree on whether the hardest gain in {agree} of {len(signs)} cells.",
    ]


def fitted(record: wn.BenchRecord, sizes: dict[str, int]) -> Calibration:
    """The theory's learning curve through the errors of random subsets; the better of its two forms."""
    errors: dict[int, list[float]] = {}
    for row in record.outcomes:
        if row.method == RANDOM and not row.soft:
            errors.setdefault(round(row.keep * sizes[row.data]), []).append(math.log(1 - row.value))
    known = sorted(errors)
    means = [float(np.mean(errors[size])) for size in known]
    scatter = sum(float(np.var(errors[size]) * len(errors[size])) for size in known)
    chance = 0.9  # ten classes of equal size
    fits = calibrate(known, [means], [len(errors[size]) for size in known], [scatter], chance)
    return max(fits, key=lambda fit: float(fit.weight[0]))


def theory_ratio(alpha: float, keep: float, angle: float) -> float:
    """The theory's error after keeping the hardest, over that of as many random examples."""
    return float(wn.theory.solve(alpha, keep, angle, "hard").error / wn.theory.solve(alpha).error)


def named_sizes(record: wn.BenchRecord) -> dict[str, int]:
    """Training examples by the record's names, `NAME:SIZE`, from few to many."""
    found = {name: int(name.rsplit(":", 1)[1]) for name in record.data}
    return dict(sorted(found.items(), key=lambda pair: pair[1]))
