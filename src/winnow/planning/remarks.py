"""Remarks of a plan: what more observation would cost and bring, and what the theory says. They decide nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..artefacts.plan import PilotArm, percent
from ..core.units import seconds_text
from .pilot_arms import PRUNED
from .verdict import Forecaster

__all__ = ["of_several_seeds", "on_proxy", "on_seeds", "on_theory"]

MORE = (2, 3, 5)  # seeds to speak of


def of_several_seeds(reliability: float, seeds: int) -> float:
    """The reliability of a score averaged over seeds, by Spearman and Brown: k r / (1 + (k - 1) r).

    Parameters
    ----------
    reliability
        Correlation r between the scores of two single seeds.
    seeds
        The number of seeds k.
    """
    return seeds * reliability / (1 + (seeds - 1) * reliability)


def on_seeds(reliability: float | None, seeds: int, seconds: float) -> list[str]:
    """What more observed seeds buy; nothing if the score was not observed twice or two trainings do not agree at all.

    Parameters
    ----------
    reliability
        Correlation between the scores of two single seeds.
    seeds
        The number of seeds that the plan is for.
    seconds
        Cost of one more.
    """
    if reliability is None:
        return []
    cost = "" if math.isnan(seconds) else f"; each costs about {seconds_text(seconds)}"
    if reliability <= 0:
        return [f"Two trainings do not agree on the score ({reliability:.2f}): more seeds would not help it{cost}."]
    more = [f"{of_several_seeds(reliability, k):.2f} from {k}" for k in MORE if k > seeds]
    now = f"{of_several_seeds(reliability, seeds):.2f} from {seeds}"
    return [
        f"Seeds of observation: the score's reliability is about {', '.join([now, *more])} "
        f"(Spearman-Brown, from two trainings on the pilot's pool){cost}."
    ]


def on_proxy(proxy: str, seconds: float, usual: float) -> list[str]:
    """What observing and trying with a cheaper network would cost, if it is cheaper."""
    if not seconds < usual:
        return []
    return [
        f"Observing and trying with {proxy} instead would take about {seconds_text(seconds)} instead of "
        f"{seconds_text(usual)} (--observer {proxy}); what it would choose was not piloted."
    ]


def on_theory(found: Forecaster, size: int, keep: float, pool: int, arms: Sequence[PilotArm], method: str) -> list[str]:
    """What the perceptron theory says of the hardest examples, beside what was measured if a method was asked for."""
    share = min(keep, PRUNED[0])
    said = (
        f"The perceptron theory alone would put the hardest {share:.0%} at "
        f"{percent(1 - found.hard_error(size, share))}; it decides nothing here."
    )
    for arm in arms:
        if arm.policy == method and arm.keep == PRUNED[0]:
            mean = sum(arm.accuracies) / len(arm.accuracies)
            theory = percent(1 - found.hard_error(pool, arm.keep))
            said += f" At half of the pool it says {theory} for the hardest; {method} measured {percent(mean)}."
    return [said]
