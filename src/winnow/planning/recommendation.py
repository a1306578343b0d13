"""From forecasts to advice: which policy, which fraction, and the sentences that explain them.

The rules: take the smallest fraction of the grid at which the best policy is forecast to stay within the tolerance of
the full data, if every larger fraction does too. Among policies with equal forecasts, take the simplest. Consider only
rankings whose forecast was right on the pilot. If the pilot contradicts the theory's order, take the policy that was
best in the pilot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..artefacts.plan import Check, Forecast, percent
from .accuracy_forecast import KEEPS
from .pilot import PRUNED, Pilot
from .verdict import CLEAR, Forecaster, Verdict

__all__ = ["advice_of", "calibration_of", "choice_of", "failed", "forecasts_of", "how_far", "pilot_of"]

NORMAL = 1.959964  # half-width of a 95 % interval, in standard deviations
POLICIES = ("random", "hard", "easy", "window")  # simplest first: it is taken if the others are no better
WORDS = {
    "hard": "the hard examples",
    "easy": "the easy examples",
    "random": "a random subset",
    "window": "the examples of medium difficulty, neither the hardest nor the easiest",
}
Table = Mapping[tuple[str, float], Forecast]


def forecasts_of(found: Forecaster, size: int, held_out: Sequence[Check]) -> tuple[Forecast, ...]:
    """Accuracy with its 95 % interval for every policy and fraction, and for the full data (`random`, fraction 1).

    The variance is that of the bootstrap, plus the spread between the two forms, plus the mean squared miss on held-out
    pilot points of the same kind: random, or ranked with the nearest fraction kept.
    """

    def missed(policy: str, keep: float) -> float:
        alike = [check for check in held_out if (check.policy == "random") == (policy == "random")]
        near = min(abs(math.log(check.keep / keep)) for check in alike)
        return float(np.mean([c.miss**2 for c in alike if abs(math.log(c.keep / keep)) <= near + 1e-9]))

    rows = []
    for policy, keep in [("random", 1.0), *((policy, keep) for keep in KEEPS for policy in POLICIES)]:
        errors, spread = found.error(size, keep, policy)
        half = NORMAL * math.sqrt(float(errors[1:].var()) + spread**2 + missed(policy, keep))
        accuracy = 1 - float(errors[0])
        rows.append(Forecast(keep, policy, accuracy, max(0.0, accuracy - half), min(1.0, accuracy + half)))
    return tuple(rows)


def choice_of(table: Table, tolerance: float, verdict: Verdict, held_out: Sequence[Check]) -> tuple[str, float]:
    """The policy and fraction to advise; `everything` if nothing stays within the tolerance or nothing was learned.

    A ranking is considered only where the pilot tested it: not below the smallest fraction tried, and only if the
    forecast was right at the nearest held-out point (for the window, those of both hard and easy).
    """
    if not verdict.learns:
        return "everything", 1.0

    def held(policy: str, keep: float) -> bool:
        tried = [check for check in held_out if check.policy == policy]
        return min(tried, key=lambda check: abs(math.log(check.keep / keep))).hit

    def allowed(keep: float) -> Sequence[str]:
        if verdict.instead:
            return (verdict.instead[min(verdict.instead, key=lambda measured: abs(measured - keep))],)
        if not verdict.ranks or keep < min(PRUNED):
            return ("random",)
        good = [policy for policy in ("hard", "easy") if held(policy, keep)]
        return ("random", *good, *(("window",) if len(good) == 2 else ()))

    return how_far(table, tolerance, allowed)


def failed(held_out: Sequence[Check]) -> bool:
    """Whether the forecast of any ranking missed."""
    return any(not check.hit for check in held_out if check.policy != "random")


def how_far(table: Table, tolerance: float, allowed: Callable[[float], Sequence[str]]) -> tuple[str, float]:
    """The smallest fraction whose best allowed policy stays within the tolerance, as do all larger fractions."""
    least = table["random", 1.0].accuracy - tolerance
    found = ("everything", 1.0)
    for keep in KEEPS:
        best = max(table[policy, keep].accuracy for policy in allowed(keep))
        if best < least:
            break
        found = (next(p for p in allowed(keep) if table[p, keep].accuracy >= best - CLEAR), keep)
    return found


def advice_of(
    policy: str,
    table: Table,
    keep: float,
    alone: float,
    tolerance: float,
    size: int,
    verdict: Verdict,
    own: bool,
    missed: bool,
    curve: Sequence[Mapping[str, Any]],
    chance: float,
) -> tuple[str, ...]:
    """The advice in sentences.

    `missed` says whether the forecast of any ranking missed on the pilot, `curve` is the pilot's learning curve, and
    `chance` the error of always predicting the largest class.
    """
    full, points = table["random", 1.0], f"{100 * tolerance:.2g} point{'s' if tolerance > 0.01 else ''}"
    everything = f"{percent(full.accuracy)} ({100 * full.low:.1f} to {100 * full.high:.1f})"
    said = []
    if not verdict.learns:
        return (
            "No advice: in the pilot, more data did not significantly lower the error, so the theory does not apply. "
            f"Accuracy was {percent(curve[0]['accuracy'])} with {curve[0]['size']:,} examples and "
            f"{percent(curve[-1]['accuracy'])} with {curve[-1]['size']:,}; always predicting the largest class gives "
            f"{percent(1 - chance)}.",
        )
    if policy == "everything":
        said.append(
            f"Keep everything: keeping {KEEPS[0]:.0%} is not forecast to stay within {points} of the {everything} "
            f"expected with all {size:,} examples."
        )
    else:
        best, random = table[policy, keep], table["random", keep]
        beside = "" if policy == "random" else f" and {percent(random.accuracy)} for a random subset of that size"
        begin = "Keep" if own else "For a linear student: keep"
        said.append(
            f"{begin} {WORDS[policy]}, {keep:.0%} of {size:,}: expect {percent(best.accuracy)} accuracy "
            f"({100 * best.low:.1f} to {100 * best.high:.1f}), compared with {everything} for everything{beside}."
        )
        reach = f"Random subsets do so down to {alone:.0%}." if alone < 1 else "Random subsets do so at no fraction."
        said.append(
            f"All fractions down to {keep:.0%} are forecast to stay within {points} of everything; the interval "
            f"allows a loss of {100 * max(0.0, full.accuracy - best.low):.1f} points."
            + (
                " No ranking is forecast to be clearly better."
                if policy == "random" and verdict.ranks and not verdict.instead and not missed
                else ""
            )
            + ("" if policy == "random" else f" {reach}")
        )
    if verdict.instead:
        said.append(
            "The pilot contradicts the theory's order of policies: the choice of policy follows the pilot's "
            "measurements; the fraction and the accuracy still come from the forecast."
        )
    elif verdict.learns and not verdict.ranks:
        said.append("Probes do not agree on which examples are hard, so only random subsets are considered.")
    elif verdict.learns and missed:
        said.append("Rankings are considered only where the forecast was right at the nearest pilot point.")
    if not own:
        said.append("All of this is for a linear student. Your network may need the opposite: use --pilot to find out.")
    return tuple(said)


def calibration_of(found: Forecaster, size: int, chance: float) -> dict[str, Any]:
    """The fitted values, with 95 % bootstrap intervals."""
    forms = {
        fit.form: {
            "dimension": float(fit.dimension[0]),
            "dimension_interval": _ends(fit.dimension),
            "exponent": float(fit.exponent[0]),
            "exponent_interval": _ends(fit.exponent),
            "floor": float(fit.floor[0]),
            "floor_interval": _ends(fit.floor),
            "weight": float(fit.weight[0]),
        }
        for fit in found.fits
    }
    return {
        "forms": forms,
        "chance": chance,
        "reliability": float(found.reliability[0]),
        "reliability_interval": _ends(found.reliability),
        "angle": float(found.angle[0]),
        "angle_interval": _ends(found.angle),
        "probe_angle": float(found.probe_angle(size)[0]),
    }


def _ends(values: Any) -> list[float]:
    return [float(end) for end in np.quantile(values[1:], (0.025, 0.975))]


def pilot_of(pilot: Pilot, own: bool, size: int) -> dict[str, Any]:
    """The pilot in plain values, with its random learning curve (mean accuracy by size)."""
    curve = [
        {"size": looks[0].size, "accuracy": float(np.mean([look.correct.mean() for look in looks]))}
        for (policy, _), looks in pilot.looks.items()
        if policy == "random"
    ]
    return {
        "student": "your own network" if own else "a linear student",
        "own_network": own,
        "pool": pilot.pool,
        "held": pilot.held,
        "trainings": sum(len(looks) for looks in pilot.looks.values()),
        "seconds": pilot.seconds,
        "examples": size,
        "factor": size / pilot.pool,
        "curve": curve,
    }
