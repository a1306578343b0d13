"""The smallest subset that stays within a tolerance, found by testing a fixed sequence of sizes from large to small.

**The sequence.** The fractions are fixed before anything is measured: 0.8, 0.64, 0.51, ..., each four fifths of the
one before. At each, one subset is chosen, and it passes if an upper limit of its loss (`loss_limit`) is within the
tolerance. The search goes on to the next smaller one after a pass and ends at the first that does not pass. The
smallest that passed is the result.

**Why each test may use the full level.** Let k be the first size of the sequence whose true loss exceeds the
tolerance. A wrong claim needs a pass at k or below, and nothing below k is reached without a pass at k. So the search
is wrong only if the one test at k is, which has probability at most 1 - confidence: no correction for the number of
sizes, and it does not matter that the tests share seeds, examples and reference, nor whether losses grow steadily as
less is kept.

**Where to look** (`largest`) may be chosen freely from anything except these measurements, such as the forecast of a
plan from pilots on the training data: the argument above holds for any sequence that is fixed before validation data
are used. A start that is too small can waste the search, since everything is kept if the first size fails, but it
cannot make a claim wrong. Geometric steps keep the total small: all subsets together cost less than 4 trainings on
everything per seed, and most of it at sizes that a smaller result has to pass anyway.

**Adding seeds.** A size is tested with a few seeds first, and with more, up to a fixed maximum, only if that may
decide it. Looking several times at level 1 - confidence would be wrong too often. So the looks are at fixed numbers
of seeds S_1 < ... < S_L, and the error allowed is divided among them: up to look j

    (1 - confidence) (S_j / S_L)^2

is spent, and each look gets what that adds (alpha spending). P(pass at some look) <= sum of P(pass at look j) = 1 -
confidence by the union bound, whatever rule decides whether to look again, because stopping earlier only removes
chances to pass. That rule is: stop if the forecast limit at S_L, with the loss lower than now by one standard error
of what the further seeds may change, is still above the tolerance.

**The claim** is about this subset, this model and this recipe: the expected metric over seeds and over examples like
the validation examples is at most `tolerance` below that of the reference, all of `source`. For a scikit-learn
estimator, a seed is a draw of nine tenths of the training set (`resample`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source, Subset
from ..artefacts.class_metrics import BESIDE, class_mean, metric_of
from ..core import checks
from ..core.errors import InputError
from ..core.run import Run
from ..engines import Engine, engine_of
from ..models.identity import is_estimator
from ..training import Recipe
from ..training.estimators import check as check_estimator
from ..training.recipe import recipe_of
from .evaluate import learned
from .loss_limit import PairedLoss
from .resample import LEFT_OUT
from .retrain import Protocol, Training, retrain_all
from .test_sets import exam, trainable
from .tolerance_result import Search, ToleranceLook

__all__ = ["ToleranceLook", "Search", "fractions", "looks", "smallest_within"]

OWNER = "the search within a tolerance"
RATIO = 0.8  # of one fraction to the one before
LOOKS = 2  # at most, per size


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
    most: int = 12,
    confidence: float = 0.95,
    largest: float = 0.8,
    smallest: float = 0.05,
    match_iterations: float = 0.0,
    metric: str | None = None,
    reference: str | None = None,
    seed: int = 0,
    engine: Engine | None = None,
) -> Search:
    """Find the smallest fraction whose accuracy (R2 for regression, or another metric) stays within a tolerance.

    Parameters
    ----------
    tolerance
        How much of the metric may be lost, as a number: 0.005 is half a point of accuracy.
    choose
        Returns the subset for a fraction of the source. It is trained with its weights and soft targets, if it has any.
    source
        The training data, without the validation examples; all of it is the reference.
    validation
        Held-out examples to measure on; never the test set.
    run
        Where finished trainings are stored.
    model, recipe
        What to train and how: a network, or a scikit-learn estimator, which has no recipe.
    seeds, most
        The number of trainings of a size at the first look and at the last; at least two.
    confidence
        Confidence of the claim that the loss is within the tolerance.
    largest, smallest
        The fractions where the sequence begins and ends.
    match_iterations, metric
        As for `evaluate`; the tolerance is about this metric.
    reference
        The source in words, for the claim.
    seed
        Seed of everything random, together with the numbers of the trainings.
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
    checks.integer("seeds", OWNER, seeds, low=2)
    checks.integer("most", OWNER, most, low=seeds)
    checks.number("confidence", OWNER, confidence, low=0.5, high=1, open_high=True)
    checks.number("largest", OWNER, largest, low=0, high=1, open_low=True, open_high=True)
    checks.number("smallest", OWNER, smallest, low=0, high=largest, open_low=True)
    checks.number("match_iterations", OWNER, match_iterations, low=0, high=1)
    if is_estimator(model):
        check_estimator(source, model, recipe=recipe, match_iterations=match_iterations, by_weight=False, owner=OWNER)
    how = recipe_of(OWNER, recipe)
    seen, exams, network = learned(OWNER, source, {"validation": measured_on}, model, how)
    protocol = Protocol(
        seen,
        (exams["validation"],),
        network,
        how,
        float(match_iterations),
        seed,
        "search",
        keep_examples=True,
        metric=metric_of(source.task, metric, OWNER),
        resampled=is_estimator(model),
    )
    trainer = _Trainer(protocol, run, engine_of(OWNER, engine))
    stops = looks(seeds, most)
    sequence = fractions(largest, max(smallest, 2 / len(source)))
    found, chosen = _descend(trainer, choose, sequence, stops, tolerance, confidence)
    return Search(
        keep=1.0 if chosen is None else len(chosen) / len(source),
        subset=chosen,
        looks=tuple(found),
        sequence=sequence,
        tolerance=tolerance,
        confidence=confidence,
        metric=protocol.metric,
        reference=reference or f"all {len(source)} training examples",
        full_size=len(source),
        full_value=trainer.value(trainer.full) if found else None,
        validation=len(measured_on),
        seeds=stops,
        settings={
            "match_iterations": float(match_iterations),
            **({"resampled": LEFT_OUT} if protocol.resampled else {}),
        },
    )


def fractions(largest: float, smallest: float) -> tuple[float, ...]:
    """Return the sequence to test: geometric, ending at the smallest.

    >>> [round(fraction, 3) for fraction in fractions(0.8, 0.3)]
    [0.8, 0.64, 0.512, 0.41, 0.328, 0.3]
    """
    steps = [largest]
    while steps[-1] * RATIO > smallest:
        steps.append(steps[-1] * RATIO)
    return tuple(steps) if steps[-1] <= smallest else (*steps, smallest)


def looks(seeds: int, most: int) -> tuple[int, ...]:
    """Return the numbers of seeds at which a size is looked at.

    >>> looks(5, 12)
    (5, 12)
    """
    return tuple(sorted({round(count) for count in np.geomspace(seeds, most, LOOKS)}))


def levels(stops: Sequence[int], confidence: float) -> list[float]:
    """Return the confidence of each look, by alpha spending: see the module."""
    spent = (1 - confidence) * np.square(np.array(stops) / stops[-1])
    return [float(1 - part) for part in np.diff(spent, prepend=0.0)]


class _Trainer:
    """Trains the reference and subsets with the same seeds, each once, and holds the qualities (seeds x examples)."""

    def __init__(self, protocol: Protocol, run: Run, engine: Engine) -> None:
        self.protocol, self._run, self._engine = protocol, run, engine
        self._full = Subset(protocol.source.ids)
        self._held: dict[int, list[NDArray[np.float64]]] = {}
        exam = protocol.tests[0]
        self._labels = np.asarray(exam.labels)[exam.order]
        self.classes = self._labels if protocol.metric in BESIDE else None

    def value(self, marks: NDArray[np.float64]) -> float:
        """The metric of marks, seeds x examples, mean over seeds."""
        return float(marks.mean()) if self.classes is None else class_mean(marks.mean(0), self.classes)

    @property
    def full(self) -> NDArray[np.float64]:
        """Qualities of the reference, as far as trained."""
        return np.array(self._held[len(self._full)], dtype=np.float64)

    def pair(self, subset: Subset, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the qualities of the reference and of a subset under the first seeds; trains what is missing."""
        wanted = []
        for one in (self._full, subset):
            size = len(one)
            arm = "full" if one is self._full else f"{size / len(self._full):.3g}"
            folder = "search/full" if one is self._full else f"search/size-{size}"
            held = self._held.setdefault(size, [])
            wanted += [Training(arm, one, number, folder) for number in range(len(held), count)]
        results = retrain_all(self._run, self._engine, self.protocol, wanted, f"trying {len(subset)} examples")
        for training, result in zip(wanted, results, strict=True):
            marks = result.marks[0].marks(self.protocol.metric, self._labels, len(self.protocol.source.classes))
            self._held[len(training.subset)].append(marks)
        ours, theirs = (np.array(self._held[len(one)][:count], dtype=np.float64) for one in (self._full, subset))
        return ours, theirs

    def check(self, subset: Subset) -> None:
        """Raise if the subset is not of this source, or cannot be trained on."""
        source, model = self.protocol.source, self.protocol.model
        subset.indices(source)
        if is_estimator(model):
            check_estimator(source, model, recipe=None, match_iterations=0, by_weight=subset.weighted, owner=OWNER)


def _descend(
    trainer: _Trainer,
    choose: Callable[[float], Subset],
    sequence: Sequence[float],
    stops: Sequence[int],
    tolerance: float,
    confidence: float,
) -> tuple[list[ToleranceLook], Subset | None]:
    """Test the sizes of the sequence until one does not hold; return all looks and the smallest subset that held."""
    found: list[ToleranceLook] = []
    best, size = None, len(trainer.protocol.source)
    for fraction in sequence:
        subset = choose(fraction)
        trainer.check(subset)
        if not 2 <= len(subset) < size:
            continue  # sizes are whole numbers: this one has been tested, or cannot be trained on
        size = len(subset)
        found += _look(trainer, subset, stops, tolerance, confidence)
        if not found[-1].holds:
            break
        best = subset
    return found, best


def _look(
    trainer: _Trainer, subset: Subset, stops: Sequence[int], tolerance: float, confidence: float
) -> list[ToleranceLook]:
    """Look at one size with more and more seeds, until it holds, cannot hold any more, or the looks are used up."""
    source = trainer.protocol.source
    shares = levels(stops, confidence)
    made = []
    for count, level in zip(stops, shares, strict=True):
        full, ours = trainer.pair(subset, count)
        binary, area = source.task == "classification", trainer.protocol.metric == "auroc"
        paired = PairedLoss.of(full - ours, binary=binary, classes=trainer.classes, area=area)
        upper = paired.upper(level)
        holds = bool(upper <= tolerance)
        made.append(
            ToleranceLook(
                len(subset) / len(source), len(subset), count, level, trainer.value(ours), paired.loss, upper, holds
            )
        )
        change = math.sqrt(paired.seed_variance * (1 / count - 1 / stops[-1]))
        if holds or paired.upper(shares[-1], seeds=stops[-1]) - change > tolerance:
            break
    return made
