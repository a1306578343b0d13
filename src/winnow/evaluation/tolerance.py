"""The smallest fraction that stays within a tolerance, found by a short search on validation data.

The full data and each tried fraction are trained with the same seeds. With q_si the quality of the model of
seed s on validation example i (right or wrong; for regression see `retrain`), d_si = q_si(full) -
q_si(subset), S seeds and n examples, the loss is D = mean of d_si, and its upper confidence limit

    U = D + sqrt( (t se_seeds)^2 + (z se_examples)^2 )
    se_seeds    = sd over s of (mean over i of d_si) / sqrt(S)
    se_examples = sd over i of (mean over s of d_si) / sqrt(n)

with t and z the one-sided quantiles of Student's distribution (S - 1 degrees of freedom) and of the normal one.
The first term is the variation from training, the second that from the validation set; noise of seed and example
together enters both, so the sum is conservative. For right and wrong, one example lost and one gained are added to
se_examples, so that agreement on a few examples does not count as certainty.

A fraction holds if U <= tolerance. Several fractions are tried and the smallest that holds is taken, which favours
lucky ones; each limit is therefore taken at confidence 1 - (1 - confidence) / probes (Bonferroni), and the stated
confidence is that of the whole search.

`loss_curve.fit` suggests the next fraction, between the largest that failed and the smallest that held. The result is
always a fraction that was measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source, Subset
from ..core import checks
from ..core.errors import InputError
from ..core.run import Run
from ..core.seeds import several as seeds_from
from ..engines import Engine, engine_of
from ..training import Recipe
from ..training.recipe import recipe_of
from .evaluate import network_of
from .loss_curve import fit
from .retrain import Protocol, Training, retrain_all
from .test_sets import exam, trainable

__all__ = ["Probe", "Search", "smallest_within", "upper_limit"]

OWNER = "the search within a tolerance"
CLOSE = 1.15  # if the ends of the bracket differ by less than this factor, another round of trainings is not worth it
FIRST = 0.5


@dataclass(frozen=True)
class Probe:
    """One tried fraction: what it kept, the mean loss, its upper limit, and whether that is within tolerance."""

    fraction: float
    size: int
    value: float
    loss: float
    upper: float
    holds: bool


def smallest_holding(found: Iterable[Probe]) -> Probe | None:
    """The smallest fraction that held, if any did."""
    return min((probe for probe in found if probe.holds), key=lambda probe: probe.size, default=None)


@dataclass(frozen=True, eq=False)
class Search:
    """The result of a search.

    Parameters
    ----------
    keep
        The smallest fraction that held; 1 if none did.
    subset
        Its examples; None if none held and everything is kept.
    probes
        All measurements, in the order tried.
    tolerance, confidence
        The arguments.
    metric
        `accuracy` or `r2`.
    full_size
        The number of examples in the full data, without the validation examples.
    full_value
        The metric of the full data on the validation set, mean over seeds.
    validation
        Number of validation examples.
    seeds
        The seeds of the trainings of each fraction.
    looks
        The number of fractions that the limits are corrected for.
    """

    keep: float
    subset: Subset | None
    probes: tuple[Probe, ...]
    tolerance: float
    confidence: float
    metric: str
    full_size: int
    full_value: float
    validation: int
    seeds: tuple[int, ...]
    looks: int
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The result as a sentence."""
        sure = f"{100 * self.confidence:g} % confidence"
        basis = f"on {self.validation} validation examples over {len(self.seeds)} seeds"
        full = f"the {self.metric} of all {self.full_size} training examples"
        within = f"stays within {self.tolerance:g} of {full} {basis} with {sure}"
        won = self.winner
        if won is not None:
            return (
                f"{won.fraction:.3g} is the smallest of {len(self.probes)} fractions tried that {within}; "
                f"it loses {won.loss:.4g}, at most {won.upper:.4g}."
            )
        nearest = min(self.probes, key=lambda probe: probe.upper, default=None)
        why = (
            ""
            if nearest is None
            else (f"; the closest, {nearest.fraction:.3g}, loses {nearest.loss:.4g}, at most {nearest.upper:.4g}")
        )
        return f"None of the {len(self.probes)} fractions tried {within}{why}. Everything is kept."

    @property
    def winner(self) -> Probe | None:
        """The smallest fraction that held."""
        return smallest_holding(self.probes)

    def certificate(self) -> dict[str, Any]:
        """Return what was requested and measured, as JSON-like values."""
        return {
            "claim": self.sentence,
            "holds": self.subset is not None,
            "metric": self.metric,
            "tolerance": self.tolerance,
            "confidence": self.confidence,
            "correction": f"one-sided limits, each at confidence 1 - {1 - self.confidence:.6g} / {self.looks} "
            f"(Bonferroni), because up to {self.looks} fractions are tried and the smallest that holds "
            "is taken",
            "full_size": self.full_size,
            "full_value": self.full_value,
            "validation_examples": self.validation,
            "seeds": list(self.seeds),
            "measured": [asdict(probe) for probe in self.probes],
            **self.settings,
        }


def smallest_within(
    tolerance: float,
    choose: Callable[[float], Subset],
    source: Source,
    validation: Source,
    *,
    run: Run,
    model: Any = "auto",
    recipe: Recipe | None = None,
    seeds: int = 5,
    confidence: float = 0.95,
    probes: int = 6,
    smallest: float = 0.05,
    match_iterations: float = 0.0,
    seed: int = 0,
    engine: Engine | None = None,
) -> Search:
    """Find the smallest fraction whose accuracy (R2 for regression) stays within a tolerance.

    Parameters
    ----------
    tolerance
        How much of the metric may be lost, as a number: 0.005 is half a point of accuracy.
    choose
        Returns the subset for a fraction of the source.
    source
        The training data, without the validation examples.
    validation
        Held-out examples to measure on; never the test set.
    run
        Where finished trainings are stored.
    model, recipe
        What to train and how.
    seeds
        The number of trainings per fraction, or their seeds; at least two.
    confidence
        Confidence of the claim that the loss is within the tolerance.
    probes
        The maximum number of fractions to try.
    smallest
        The smallest fraction to try.
    match_iterations
        As for `evaluate`.
    seed
        Seed of everything random, together with `seeds`.
    engine
        Where trainings run.

    Returns
    -------
    Search
        The smallest fraction that held, its subset, and all measurements.
    """
    checks.number("tolerance", OWNER, tolerance, low=0, high=1, open_high=True)
    trainable(OWNER, source)
    measured_on = exam("validation", OWNER, source, validation)
    if len(measured_on) < 2:
        raise InputError(f"validation of {OWNER} must have at least 2 examples; got {len(measured_on)}.")
    numbers = seeds_from(OWNER, seeds, low=2)
    checks.number("confidence", OWNER, confidence, low=0.5, high=1, open_high=True)
    checks.integer("probes", OWNER, probes, low=1)
    checks.number("smallest", OWNER, smallest, low=0, high=1, open_low=True, open_high=True)
    checks.number("match_iterations", OWNER, match_iterations, low=0, high=1)
    protocol = Protocol(
        source,
        (measured_on,),
        network_of(source, model),
        recipe_of(OWNER, recipe),
        float(match_iterations),
        seed,
        "search",
        keep_examples=True,
    )
    ask = _Asker(protocol, tuple(numbers), run, engine_of(OWNER, engine), tolerance, 1 - (1 - confidence) / probes)
    full = ask.qualities("full", Subset(source.ids), "full")
    found, chosen = _probe(ask, choose, full, probes, max(smallest, 2 / len(source)))
    won = smallest_holding(found)
    return Search(
        keep=1.0 if won is None else won.fraction,
        subset=None if won is None else chosen[won.size],
        probes=tuple(found),
        tolerance=tolerance,
        confidence=confidence,
        metric="accuracy" if source.task == "classification" else "r2",
        full_size=len(source),
        full_value=float(full.mean()),
        validation=len(measured_on),
        seeds=tuple(numbers),
        looks=probes,
        settings={"match_iterations": float(match_iterations)},
    )


def upper_limit(differences: NDArray[np.float64], confidence: float, *, binary: bool) -> tuple[float, float]:
    """Return the mean of the differences (seeds x examples) and its one-sided upper limit, by the module's formula.

    Parameters
    ----------
    differences
        The loss of each example under each seed.
    confidence
        Confidence of this one limit.
    binary
        Whether examples are right or wrong, so that one lost and one gained are added.
    """
    from scipy import stats

    seeds, examples = differences.shape
    centre = float(differences.mean())
    by_seed, by_example = differences.mean(1), differences.mean(0)
    if binary:
        by_example = np.append(by_example, [1.0, -1.0])
    luck = stats.t.ppf(confidence, seeds - 1) * by_seed.std(ddof=1) / math.sqrt(seeds)
    sampling = stats.norm.ppf(confidence) * by_example.std(ddof=1) / math.sqrt(examples)
    return centre, centre + float(math.hypot(luck, sampling))


@dataclass(frozen=True)
class _Asker:
    """Trains on a subset with every seed and compares it with the full data."""

    protocol: Protocol
    seeds: tuple[int, ...]
    run: Run
    engine: Engine
    tolerance: float
    confidence: float

    def qualities(self, arm: str, subset: Subset, folder: str) -> NDArray[np.float64]:
        """Quality of each validation example with each seed."""
        trainings = [Training(arm, subset, number, f"search/{folder}") for number in self.seeds]
        results = retrain_all(self.run, self.engine, self.protocol, trainings, f"trying {arm}")
        return np.array([result.marks[0].examples for result in results], dtype=np.float64)

    def probe(self, fraction: float, subset: Subset, full: NDArray[np.float64]) -> Probe:
        """Whether a subset holds."""
        size = len(subset)
        ours = self.qualities(f"{fraction:.3g}", subset, f"size-{size}")
        loss, upper = upper_limit(full - ours, self.confidence, binary=self.protocol.source.task == "classification")
        return Probe(
            size / len(self.protocol.source), size, float(ours.mean()), loss, upper, bool(upper <= self.tolerance)
        )


def _probe(
    ask: _Asker, choose: Callable[[float], Subset], full: NDArray[np.float64], probes: int, smallest: float
) -> tuple[list[Probe], dict[int, Subset]]:
    """Try fractions until the bracket is close or the probes are used up."""
    found: list[Probe] = []
    chosen: dict[int, Subset] = {}
    while len(found) < probes:
        fraction = next_fraction(found, ask.tolerance, smallest)
        if fraction is None:
            break
        subset = choose(fraction)
        subset.indices(ask.protocol.source)  # raises for ids that are not the source's
        if len(subset) in chosen or len(subset) < 2 or len(subset) >= len(ask.protocol.source):
            break  # sizes are whole numbers, and none is left in between
        chosen[len(subset)] = subset
        found.append(ask.probe(fraction, subset, full))
    return found, chosen


def next_fraction(found: list[Probe], tolerance: float, smallest: float) -> float | None:
    """Return the fraction to try next, or None if another is not worth trying."""
    high = min((probe.fraction for probe in found if probe.holds), default=1.0)
    low = max((probe.fraction for probe in found if not probe.holds), default=None)
    floor = smallest if low is None else low
    if high / floor < CLOSE:
        return None
    if not found:
        return FIRST if smallest < FIRST else math.sqrt(smallest)
    # The limit, not the loss, must be within the tolerance, so leave room for its distance from the loss.
    margin = float(np.mean([probe.upper - probe.loss for probe in found]))
    curve = fit([probe.fraction for probe in found], [probe.loss for probe in found])
    wanted = curve.fraction(tolerance - margin)
    width = math.log(high / floor)
    # Stay away from ends that are known; the smallest fraction itself may be tried if it has not been.

    lowest = math.log(floor) + (0.0 if low is None else 0.2 * width)
    highest = math.log(high) - 0.2 * width
    return math.exp(min(max(math.log(max(wanted, 1e-9)), lowest), highest))
