"""The veto: is a chosen subset better than a random one with the same soft targets?

A score that helps on one data set can ruin another, and nothing about the data says so beforehand. So the candidate is
measured before it is used: parts of the data are held out, a few pairs of short trainings differ only in which examples
they see, and the held-out part says which did better. A candidate that is not ahead is not used; the answer is then a
random subset with the same soft targets.

Each pair k has its own held-out part, its own draw of both subsets and its own initial weights, which both trainings
share. With d_k the difference of the metric on part k, m their mean over K pairs and s their standard deviation, the
candidate holds if

    m K / s^2 + PRIOR / SPREAD^2 > 0,

that is, if the expected difference is above zero given the pairs and what was seen before: on the development data of
`studies/winning`, candidates were half a point above random on average, and differed by half a point. A spread of one
point leaves more to the pairs, which decide alone where they agree. Few pairs on small parts are noisy: going by m > 0
alone turned good candidates away.

Trainings are as long as the user's, or down to half of that so that all of them together cost a little less than one
training on everything: a quarter was seen to rank methods wrongly, and half is too short where few examples are kept.
Test data have no part in this. If examples have a time, the held-out part is the latest one for every pair; only the
draws and the initial weights differ then.

Of a very small source, too little can be held out to tell anything. Then nothing is tried: a candidate that covers the
classes is used as it is, and for any other the subset is random.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..artefacts import Source, Subset
from ..artefacts.class_metrics import WORDS, in_percent
from ..artefacts.intervals import Interval, mean
from ..core.errors import DataError
from ..core.run import Run
from ..engines import Engine
from ..evaluation.evaluate import learned
from ..evaluation.retrain import Protocol, Training, retrain_all
from ..models.identity import is_estimator
from ..sources.holdout import hold_out
from ..training.recipe import Recipe

__all__ = ["FEWEST", "PAIRS", "Untried", "Veto", "can_be_tried", "extent", "random_instead", "veto"]

PAIRS = 3  # pairs of trainings
MORE_PAIRS = 5  # if the held-out parts are small
SMALL = 1000  # examples; a smaller part says little by itself
HELD_OUT = 0.2
MOST = 5000  # examples held out at most
FEWEST = 20  # examples held out at least; on fewer, one example is worth more than any difference to be found
SHORTEST = 0.5  # of the epochs
BUDGET = 0.85  # trainings on everything that all pairs may cost, if half the epochs are enough for that
PRIOR, SPREAD = 0.005, 0.01  # the difference expected before any pair, and how far it may be from that

Draw = Callable[[Source, int], Subset]  # a subset of a part of the source, by the number of the draw


@dataclass(frozen=True)
class Veto:
    """What was measured: differences to random with the same targets, one per pair."""

    method: str
    differences: tuple[float, ...]
    candidate: float
    random: float
    seconds: float
    epochs: int
    held_out: int
    soft: bool = True  # whether both had soft targets
    earlier: int = 0  # how many of the differences are from the pilot of a plan

    def joined(self, earlier: tuple[float, ...]) -> Veto | None:
        """The same with differences from a pilot before its own; None if their means have different signs."""
        if (math.fsum(earlier) > 0) != (math.fsum(self.differences) > 0):
            return None
        return replace(self, differences=(*earlier, *self.differences), earlier=len(earlier))

    @property
    def interval(self) -> Interval:
        """The mean difference with its interval over pairs."""
        return mean(self.differences)

    @property
    def holds(self) -> bool:
        """Whether the candidate is used."""
        pairs = len(self.differences)
        variance = statistics.variance(self.differences) if pairs > 1 else SPREAD**2
        return self.interval.centre * pairs * SPREAD**2 + PRIOR * variance > 0

    def sentence(self, metric: str) -> str:
        """What was found, in words."""
        gap = self.interval
        of = "" if metric == "accuracy" else f" of {WORDS[metric]}"
        scale, unit = (100.0, f" points{of}") if in_percent(metric) else (1.0, of)
        size = f"{scale * gap.centre:+.1f}" if scale > 1 else f"{gap.centre:+.3f}"
        found = f"{self.method} was {size}{unit} against {self.against} on held-out data"
        own = f", {self.earlier} of them from the pilot of the plan" if self.earlier else ""
        each = f"trainings of {self.epochs} epoch{'s' * (self.epochs != 1)}" if self.epochs else "fits"
        count = len(self.differences)
        pairs = f"({count} pair{'s' * (count != 1)} of {each}{own})"
        if not self.holds:
            return f"{found} {pairs}; {random_instead(self.soft)}"
        return f"{found} {pairs}" + ("" if gap.centre > 0 else ", too close to turn it down")

    @property
    def against(self) -> str:
        """What it was compared with."""
        return "random with the same soft targets" if self.soft else "random"

    def certificate(self) -> dict[str, Any]:
        """All of it, for the certificate of the subset."""
        gap = self.interval
        return {
            "candidate": self.method,
            "against": self.against,
            "difference": gap.centre,
            "low": None if math.isnan(gap.low) else gap.low,
            "high": None if math.isnan(gap.high) else gap.high,
            "differences": list(self.differences),
            "candidate_metric": self.candidate,
            "random_metric": self.random,
            "pairs": len(self.differences),
            "pairs_from_plan": self.earlier,
            "epochs": self.epochs,
            "held_out": self.held_out,
            "holds": self.holds,
        }


def extent(
    n: int, keep: float, match_iterations: float, pairs: int | None, recipe: Recipe
) -> tuple[float, int, Recipe]:
    """The share of n examples held out, the number of pairs and how they train; for `pairs`, see `veto`."""
    share = min(HELD_OUT, MOST / n)
    cost = 2 * (1 - share) * keep ** (1 - match_iterations)  # of a pair, in trainings on everything
    most = PAIRS if share * n >= SMALL else MORE_PAIRS
    count = pairs or min(most, max(PAIRS, int(BUDGET / cost)))
    length = min(1.0, max(SHORTEST, BUDGET / (count * cost)))
    return share, count, replace(recipe, epochs=max(1, math.ceil(length * recipe.epochs)))


@dataclass(frozen=True)
class Untried:
    """What is said instead if a source is too small to try anything on."""

    method: str
    holds: bool  # whether the candidate is used all the same
    soft: bool = True  # whether the subset has soft targets

    def sentence(self, metric: str) -> str:
        """What was decided, in words; there is no metric."""
        if self.holds:
            return "too few examples to try it"
        return f"too few examples to try {self.method}; {random_instead(self.soft)}"

    def certificate(self) -> dict[str, Any]:
        """All of it, for the certificate of the subset."""
        return {"candidate": self.method, "pairs": 0, "held_out": 0, "holds": self.holds}


def random_instead(soft: bool) -> str:
    """What is done if a candidate is not used, in words."""
    return "so the subset is random" + (", with soft targets" if soft else "")


def can_be_tried(source: Source) -> bool:
    """Return whether enough of the source can be held out to try a candidate on."""
    try:
        _, part = hold_out(source, min(HELD_OUT, MOST / len(source)))
    except DataError:  # some classes are too small to be on both sides
        return False
    return len(part) >= FEWEST


def veto(
    method: str,
    source: Source,
    candidate: Draw,
    random: Draw,
    *,
    keep: float,
    model: Any,
    recipe: Recipe,
    match_iterations: float,
    seed: int,
    pairs: int | None,
    run: Run,
    engine: Engine,
    folder: str = "veto",
    metric: str = "accuracy",
) -> Veto:
    """Measure a candidate against random on held-out parts of the source.

    Parameters
    ----------
    method
        The candidate's name.
    source
        All examples to choose from.
    candidate, random
        Draw a subset of a part of the source, with its soft targets.
    keep
        The fraction that both keep.
    model, recipe, match_iterations
        How to train.
    seed
        Seed of everything random.
    pairs
        Number of pairs; if not given, three, or up to five if the parts are small and the subset too.
    run, engine, folder
        Where finished trainings are kept, where they run, and the folder of the run that they are kept in.
    metric
        What is compared.
    """
    share, count, shorter = extent(len(source), keep, match_iterations, pairs, recipe)
    source, _, network = learned("prune", source, {}, model, recipe)
    gaps, ours, theirs, seconds, held, soft = [], 0.0, 0.0, 0.0, 0, False
    for number in range(count):
        rest, part = hold_out(source, share, seed * count + number, ("veto", "held out"))
        held += len(part)
        protocol = Protocol(rest, (part,), network, shorter, match_iterations, seed, purpose="veto", metric=metric)
        arms = {"candidate": candidate(rest, number), "random": random(rest, number)}
        soft = arms["random"].targets is not None
        trainings = [Training(name, subset, number, f"{folder}/{name}") for name, subset in arms.items()]
        results = retrain_all(run, engine, protocol, trainings, "trying the candidate")
        first, second = (result.marks[0].of(metric) for result in results)
        gaps.append(first - second)
        ours, theirs = ours + first / count, theirs + second / count
        seconds += sum(result.seconds for result in results)
    fits = is_estimator(network)  # and has neither epochs nor soft targets
    epochs, soft = (0, False) if fits else (shorter.epochs, soft)
    return Veto(method, tuple(gaps), ours, theirs, seconds, epochs, held, soft)
