"""What a pruning can take over from the pilot of a plan: pairs of trainings that tried its candidate.

The pilot observed and trained a pool, a part of the source, so neither its signals nor its subsets are of use for the
whole. But it trained the same candidate and random draws with the same soft targets, from the same initial weights, at
a fraction near the one asked for. These differences are pairs of the veto that are paid for. A difference can change
with size, so one pair is still trained on the source itself; only if it has the sign of the pilot's mean are the others
spared.
"""

from __future__ import annotations

import math

from ..artefacts.plan import Plan
from ..core.errors import InputError
from ..core.files import plain
from ..core.parameter_names import argument, of
from ..core.request import VerbRequest

__all__ = ["earlier_differences"]

NEAR = 1.5  # a fraction of the pilot may be so many times larger or smaller than that asked for
SAME = ("source", "model", "observer", "recipe", "match_iterations", "seed")  # must be those of the plan


def earlier_differences(asked: VerbRequest, candidate: str) -> tuple[float, ...]:
    """Accuracy of the candidate less that of random with soft targets, one difference per seed of the pilot.

    Empty without a plan, if its pilot tried another candidate or only fractions far from the one asked for, or if the
    number of pairs is given.

    Parameters
    ----------
    asked
        A request of `prune`; raises if it is not what the plan was made for.
    candidate
        The method that `auto` stands for.
    """
    plan: Plan | None = asked.plan
    if plan is None:
        return ()
    if asked.method != "auto" or asked.keep is None:
        raise InputError(
            f"{of('plan', 'prune')} is for {argument('method', 'prune', 'auto')} with {argument('keep', 'prune')}: its "
            "pilot tried what auto chooses at a fraction."
        )
    made, now = plan.provenance.get("parameters", {}), plain(asked.settings())
    differs = [name for name in SAME if made.get(name) != now.get(name)]
    if differs:
        raise InputError(
            f"{of('plan', 'prune')} must be made for the same source, network and training; it differs in "
            f"{', '.join(differs)}."
        )
    if not plan.arms:
        raise InputError(f"{of('plan', 'prune')} must have a pilot of your own network; make it with pilot=True.")
    if asked.veto is not None or asked.metric not in (None, "accuracy", "r2"):  # the pilot is about accuracy
        return ()
    arms = {(arm.policy, arm.keep): arm for arm in plan.arms}
    tried = [keep for policy, keep in arms if policy == "candidate" and arms[policy, keep].method == candidate]
    near = [keep for keep in tried if abs(math.log(keep / asked.keep)) <= math.log(NEAR)]
    if not near:
        return ()
    keep = min(near, key=lambda one: abs(math.log(one / asked.keep)))
    ours, theirs = arms["candidate", keep].accuracies, arms["soft random", keep].accuracies
    return tuple(a - b for a, b in zip(ours, theirs, strict=True))
