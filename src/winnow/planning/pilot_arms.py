"""The arms of a pilot: what `prune` would choose from the pool, with its soft targets, beside random draws.

The pool is observed as `prune` observes a source. Each arm then takes half and a quarter of it:

    soft random    the random draws of the pilot, with soft targets
    candidate      what `auto` would try on the whole source at this fraction, with the same soft targets
    a method       if the plan is about a named one, as `prune` would choose it

The candidate is that of the whole source: with few examples per class `auto` covers the classes, and a pool has fewer
of them than the source it stands for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores, Signals, Source
from ..core.rank_correlation import rank_correlation
from ..core.request import requested
from ..core.run import Run
from ..engines import Engine
from ..pruning.auto import automatic
from ..pruning.candidate import bare, drawn_candidate, suspects, weighted_targets, without_suspects
from ..pruning.prune import prune
from ..pruning.resolved_request import Request, request_of
from ..scores.score import score as score_signals
from ..selectors.method_string import parse_method
from ..signals.observe import observe
from .pilot_students import PoolPart

__all__ = ["CANDIDATE", "PRUNED", "SOFT_RANDOM", "PoolArm", "PoolObservation", "observed_pool", "pool_arms"]

PRUNED = (0.5, 0.25)  # of the pool; both are fractions of the random parts too, so that random can be compared
SOFT_RANDOM, CANDIDATE = "soft random", "candidate"


@dataclass(frozen=True, eq=False)
class PoolArm:
    """One way to choose and train a fraction of the pool."""

    policy: str
    keep: float
    request: Request

    def part(self, pool: Source, signals: Signals, random: NDArray[np.int64], number: int) -> PoolPart:
        """The part of the pool of one training; `random` is the random draw of the same number."""
        soft = weighted_targets(pool, signals, self.request, self.keep)
        if self.policy == SOFT_RANDOM:
            return PoolPart(random, soft=soft)
        clean = without_suspects(pool, signals, self.request)
        given = scored(pool, signals, self.request)
        subset = drawn_candidate(pool, signals, given, clean, self.request, number)
        return PoolPart(subset.indices(pool), subset.weights if subset.weighted else None, soft)


@dataclass(frozen=True, eq=False)
class PoolObservation:
    """What was observed of the pool.

    Parameters
    ----------
    signals
        As `prune` would record them.
    reliability
        Rank correlation of the candidate's score between two single trainings; None if it has no score.
    suspects
        Share of labels that look wrong.
    seconds
        Seconds of observing.
    """

    signals: Signals
    reliability: float | None
    suspects: float
    seconds: float


def pool_arms(source: Source, pool: Source, size: int, method: str, **options: Any) -> list[PoolArm]:
    """The arms for a plan about a method.

    Parameters
    ----------
    source, pool
        The whole source, which decides the candidate of `auto`, and the pool.
    size
        Number of examples whose training the steps are matched to.
    method
        What the plan is about; for `random` there is nothing to calibrate.
    **options
        As for `prune`.
    """
    if method == "random":
        return []
    recipe, factor = options["recipe"], options["match_iterations"]
    steps = recipe.matched_steps(len(pool), size, factor)  # the teacher trains like every student of its size
    options = {
        **options,
        "recipe": dataclasses.replace(recipe, epochs=max(1, round(steps / recipe.batches(len(pool))))),
    }
    arms = []
    for keep in PRUNED:
        asked = request_of(requested(prune, pool, keep, veto=0, **options))
        chosen = automatic(source, keep)
        auto = dataclasses.replace(asked, method=chosen, plan=parse_method(chosen.name))
        arms += [PoolArm(SOFT_RANDOM, keep, auto), PoolArm(CANDIDATE, keep, auto)]
        if method != "auto":
            arms.append(PoolArm(method, keep, request_of(requested(prune, pool, keep, method=method, **options))))
    return arms


def observed_pool(pool: Source, arms: Sequence[PoolArm], seed: int, run: Run, engine: Engine) -> PoolObservation:
    """Observe what the arms need, and once more with another seed to see how well two trainings agree."""
    asked = arms[0].request
    want = sorted({name for arm in arms for name in arm.request.want})
    how: dict[str, Any] = {"seed": seed, "out": run, "engine": engine}
    signals = observe(pool, asked.observer, asked.recipe, asked.numbers, want, **how)
    scored_by = next((arm.request for arm in arms if arm.request.plan.score is not None), None)
    reliability = None
    if scored_by is not None:
        first = scored(pool, signals, scored_by)
        assert isinstance(first, Scores)
        if first.reliability is None:
            other = observe(pool, asked.observer, asked.recipe, [max(asked.numbers) + 1], list(scored_by.want), **how)
            second = scored(pool, other, scored_by)
            assert isinstance(second, Scores)
            reliability = rank_correlation(first.values, second.values)
        else:
            reliability = of_one_seed(first.reliability, len(asked.numbers) / 2)
    flagged = suspects(pool, signals)
    wrong = 0.0 if flagged is None else float(flagged.mean())
    return PoolObservation(signals, reliability, wrong, run.seconds("observe/"))


def scored(pool: Source, signals: Signals, request: Request) -> Signals | Scores:
    """What the selector of a request works on."""
    near, name = signals.take(pool.ids), request.plan.score
    if name is not None:
        return score_signals(name, near, **request.plan.score_parameters)
    return near if request.plan.needs else bare(pool)


def of_one_seed(reliability: float, seeds: float) -> float:
    """The reliability of a score from one seed, given that from so many: Spearman and Brown's formula, inverted."""
    return reliability / (seeds - (seeds - 1) * reliability)
