"""From forecasts to advice: how far to prune, and the sentences that explain it.

The rule: the smallest fraction of the grid at which what is asked about (`auto`, if nothing else is) loses no more than
the tolerance, to the upper end of the interval of its loss, if every larger fraction does too. The theory has no part
in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..artefacts.plan import Check, Forecast, percent
from .accuracy_forecast import KEEPS
from .pilot import Pilot
from .pilot_arms import CANDIDATE
from .pilot_gains import AUTO, Gain
from .verdict import Forecaster, Verdict

__all__ = ["advice_of", "calibration_of", "forecasts_of", "how_far", "pilot_of"]

NORMAL = 1.959964  # half-width of a 95 % interval, in standard deviations
WORDS = {
    AUTO: "what auto chooses, with soft targets",
    "random": "a random subset",
}
Table = Mapping[tuple[str, float], Forecast]


def forecasts_of(found: Forecaster, gains: Mapping[str, Gain], size: int, check: Check) -> tuple[Forecast, ...]:
    """Accuracy and loss with their 95 % intervals for every policy and fraction, and for the full data.

    The variance is that of the bootstrap, plus the spread between the two forms of the learning curve, plus the squared
    miss at the held-out pilot point, plus what a gain may change with size. That point is one doubling beyond what it
    was forecast from. So for a loss, which spans log2(1 / keep) doublings of the same curve, the miss counts as often.
    """
    policies = ["random", *(policy for policy in gains if policy != CANDIDATE)]
    rows = []
    for policy, keep in [("random", 1.0), *((policy, keep) for keep in KEEPS for policy in policies)]:
        error, spread = found.error(keep * size)
        loss, apart = found.loss(size, keep)
        gain, change = (np.zeros_like(error), 0.0) if policy == "random" else gains[policy].at(keep)
        half = NORMAL * math.hypot(float((error - gain)[1:].std()), spread, check.miss, change)
        more = NORMAL * math.hypot(float((loss - gain)[1:].std()), apart, -math.log2(keep) * check.miss, change)
        accuracy, lost = 1 - float(error[0] - gain[0]), float(loss[0] - gain[0])
        low, high = max(0.0, accuracy - half), min(1.0, accuracy + half)
        rows.append(Forecast(keep, policy, min(1.0, max(0.0, accuracy)), low, high, lost, lost + more))
    return tuple(rows)


def how_far(table: Table, tolerance: float, policy: str, surely: bool = True) -> float:
    """The smallest fraction within the tolerance, as are all larger ones; 1 if none is.

    Parameters
    ----------
    table
        The forecasts.
    tolerance
        Accuracy that may be lost.
    policy
        What is kept.
    surely
        Whether the upper end of the interval of the loss must be within the tolerance, not only its centre.
    """
    found = 1.0
    for keep in KEEPS:
        row = table[policy, keep]
        if (row.lost_high if surely else row.lost) > tolerance:
            break
        found = keep
    return found


def advice_of(
    policy: str,
    table: Table,
    keep: float,
    tolerance: float,
    size: int,
    verdict: Verdict,
    own: bool,
    curve: Sequence[Mapping[str, Any]],
    chance: float,
) -> tuple[str, ...]:
    """The advice in sentences.

    `policy` is what is asked about and `keep` how far it goes, `curve` is the pilot's learning curve, and `chance` the
    error of always predicting the largest class.
    """
    full, points = table["random", 1.0], f"{100 * tolerance:.2g} point{'s' if tolerance > 0.01 else ''}"
    everything = f"{percent(full.accuracy)} ({100 * full.low:.1f} to {100 * full.high:.1f})"
    if not verdict.learns:
        return (
            "No advice: in the pilot, more data did not significantly lower the error, so there is no learning curve. "
            f"Accuracy was {percent(curve[0]['accuracy'])} with {curve[0]['size']:,} examples and "
            f"{percent(curve[-1]['accuracy'])} with {curve[-1]['size']:,}; always predicting the largest class gives "
            f"{percent(1 - chance)}.",
        )
    words = WORDS.get(policy, f"what {policy} chooses")
    hoped = how_far(table, tolerance, policy, surely=False)
    if keep == 1.0:
        said = [
            f"Keep everything: no fraction is sure to stay within {points} of the {everything} expected with all "
            f"{size:,} examples."
        ]
    else:
        best, random = table[policy, keep], table["random", keep]
        beside = "" if policy == "random" else f" and {percent(random.accuracy)} for a random subset of that size"
        begin = "Keep" if own else "For a linear student: keep"
        said = [
            f"{begin} {words}, {keep:.0%} of {size:,}: expect {percent(best.accuracy)} accuracy "
            f"({100 * best.low:.1f} to {100 * best.high:.1f}), compared with {everything} for everything{beside}.",
            f"All fractions down to {keep:.0%} are forecast to stay within {points} of everything, to the end of their "
            f"intervals: at most {100 * max(0.0, best.lost_high):.1f} points are lost."
            + ("" if policy == "random" else f" {_alone(how_far(table, tolerance, 'random'))}"),
        ]
    if hoped < keep:
        row = table[policy, hoped]
        said.append(
            f"If the middle of the forecast is enough for you, {words} may go down to {hoped:.0%}: "
            f"{100 * row.lost:+.1f} points lost, at most {100 * row.lost_high:.1f}."
        )
    if policy != "random":
        said.append(
            "These forecasts are those of random subsets plus the difference that pilot subsets showed; the intervals "
            "have room for that difference to vanish or to double at full size."
        )
    if not own:
        said.append(
            "All of this is for random subsets and a linear student. Use --pilot to find out what auto does for your "
            "network."
        )
    return tuple(said)


def _alone(keep: float) -> str:
    return f"Random subsets do so down to {keep:.0%}." if keep < 1 else "Random subsets do so at no fraction."


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
