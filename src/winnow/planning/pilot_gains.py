"""What a chosen subset gains over a random one: measured on pilot subsets, carried over to the full data.

With e(f) the pilot's error of a policy that keeps a fraction f of the pool, its gain there is

    g(f) = e_random(f) - e_policy(f),    at f = 1/2 and 1/4 of the pool, and g(1) = 0,

in between it is linear in log f, and below the smallest fraction tried it stays the same. At full size a policy is
forecast to have the error of random less g(f). What `auto` gives depends on its veto: with p the share of the bootstrap
in which the candidate is ahead of random with the same soft targets, g = p g_candidate + (1 - p) g_soft random.

A gain changes with size, mostly it shrinks as the error of random falls. How much is not known from one pilot, so the
interval has room for it: a standard deviation of half the gain (a gain that vanishes or doubles is inside 95 %), of
`DRIFT` per halving however small the gain, and below the smallest fraction tried of the last step per further halving.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..artefacts.plan import PilotArm
from .pilot import Pilot
from .pilot_arms import CANDIDATE, PRUNED, SOFT_RANDOM
from .verdict import Replicates

__all__ = ["AUTO", "Gain", "gains_of", "pilot_arms_of"]

Array = NDArray[np.float64]
AUTO = "auto"
CHANGE = 0.5  # of a gain, as a standard deviation
DRIFT = 0.0025  # per halving, at most that of one halving


@dataclass(frozen=True)
class Gain:
    """The gain of one policy over random at each fraction of the pool that was tried, one value per replicate."""

    points: Mapping[float, Array]

    def at(self, keep: float) -> tuple[Array, float]:
        """The gain at any fraction, and the standard deviation of its change with size."""
        halvings = -math.log2(keep)
        knots = [0.0, *(-math.log2(tried) for tried in PRUNED)]
        values = np.stack([np.zeros_like(self.points[PRUNED[0]]), *(self.points[tried] for tried in PRUNED)])
        right = min(int(np.searchsorted(knots, halvings)), len(knots) - 1)
        share = min(1.0, (halvings - knots[right - 1]) / (knots[right] - knots[right - 1])) if right else 0.0
        gain = values[right - 1] + share * (values[right] - values[right - 1]) if right else values[0]
        beyond = max(0.0, halvings - knots[-1]) * abs(float(values[-1][0] - values[-2][0]))
        return gain, math.hypot(CHANGE * float(gain[0]), DRIFT * min(1.0, halvings), beyond)


def gains_of(pilot: Pilot, seen: Replicates) -> dict[str, Gain]:
    """The gains of every policy that the pilot trained, and of `auto`; empty if it trained random parts only."""
    policies = {policy for policy, _ in pilot.looks} - {"random"}
    found = {
        policy: Gain({keep: seen.errors["random", keep] - seen.errors[policy, keep] for keep in PRUNED})
        for policy in sorted(policies)
    }
    if CANDIDATE in found:
        found[AUTO] = Gain({keep: _after_veto(found, keep) for keep in PRUNED})
    return found


def _after_veto(found: Mapping[str, Gain], keep: float) -> Array:
    chosen, random = found[CANDIDATE].points[keep], found[SOFT_RANDOM].points[keep]
    ahead = float((chosen - random > 0)[1:].mean())
    return ahead * chosen + (1 - ahead) * random


def pilot_arms_of(pilot: Pilot, seen: Replicates, gains: Mapping[str, Gain]) -> tuple[PilotArm, ...]:
    """What the pilot trained besides random parts, as measured."""
    arms = []
    for (policy, keep), looks in pilot.looks.items():
        if policy != "random":
            gain = gains[policy].points[keep]
            right = tuple(float(look.correct.mean()) for look in looks)
            method = pilot.methods[policy, keep]
            error = float(gain[1:].std())
            arms.append(PilotArm(policy, method, keep, looks[0].size, right, float(gain[0]), error))
    return tuple(arms)
