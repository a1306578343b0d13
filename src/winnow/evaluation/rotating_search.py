"""The search within a tolerance by rotating folds: the smallest fraction whose subsets hold, measured on every example.

The sequence from large to small, its stopping rule and the reason why no correction for the number of sizes is needed
are those of `tolerance`. Three things differ.

**Folds.** Each training is without one fold of the source and is measured on it (`rotating_folds`, `fold_limit`): the
training of seed s is without fold s mod K. The subset of each fraction is chosen for each fold from what is left. What
is tested is therefore the way of choosing, and the subset that is finally returned is chosen in that way from
everything: nothing is held out from it.

**Looks** are at 1 and 2 trainings per fold. Their levels are exact for looks that share as little as possible
(`joint_levels`), so the second is at 95.2 % instead of the 95.6 % of the union bound. The second is left out only if
the loss is above the tolerance by more than half the width of its limit: one training per fold is noisy, and a fraction
given up too early ends the search.

**Steps.** 0.8, 0.64, 0.51, and from there nine tenths of the one before: small sizes are cheap, and there a step of a
fifth is what the result would most be rounded by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source, Subset
from ..artefacts.class_metrics import BESIDE, class_mean, metric_of
from ..artefacts.training_result import Result
from ..core import checks
from ..core.run import Run
from ..engines import Engine, Job, Needs, engine_of, run_jobs
from ..models.identity import is_estimator
from ..training import Recipe
from ..training.estimators import check as check_estimator
from ..training.recipe import recipe_of
from .evaluate import learned
from .fold_limit import FoldLoss, joint_levels
from .resample import LEFT_OUT
from .retrain import Protocol, Training, retrain
from .test_sets import exam, trainable
from .tolerance import OWNER, RATIO
from .tolerance_result import Search, ToleranceLook

__all__ = ["Turn", "rotating_fractions", "smallest_rotating"]

FINE = 0.9  # of one fraction to the one before, where they are small
COARSE = (0.8, RATIO * 0.8, RATIO**2 * 0.8)
LOOKS = (1, 2)  # trainings per fold
Marks = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Turn:
    """One fold's turn to be measured on.

    Parameters
    ----------
    source
        Everything but the fold; all of it is the reference.
    validation
        The fold.
    choose
        Returns the subset for a fraction of `source`.
    """

    source: Source
    validation: Source
    choose: Callable[[float], Subset]


def rotating_fractions(smallest: float) -> tuple[float, ...]:
    """Return the sequence to test.

    >>> [round(fraction, 3) for fraction in rotating_fractions(0.35)]
    [0.8, 0.64, 0.512, 0.461, 0.415, 0.373, 0.35]
    """
    steps = [fraction for fraction in COARSE if fraction > smallest]
    while len(steps) >= len(COARSE) and steps[-1] * FINE > smallest / math.sqrt(FINE):  # no tiny last step
        steps.append(steps[-1] * FINE)
    return (*steps, smallest)


def smallest_rotating(
    tolerance: float,
    turns: Sequence[Turn],
    *,
    run: Run,
    model: Any = "auto",
    recipe: Recipe | None = None,
    confidence: float = 0.95,
    smallest: float = 0.05,
    metric: str | None = None,
    seed: int = 0,
    engine: Engine | None = None,
) -> Search:
    """Find the smallest fraction whose subsets stay within a tolerance of everything, measured on each fold in turn.

    Parameters
    ----------
    tolerance
        How much of the metric may be lost.
    turns
        One per fold; together their folds are the whole source.
    run, model, recipe, confidence, smallest, metric, seed, engine
        As for `smallest_within`.

    Returns
    -------
    Search
        The smallest fraction that held, and all measurements. It has no subset: that is chosen from the whole source.
    """
    checks.number("tolerance", OWNER, tolerance, low=0, high=1, open_high=True)
    checks.number("confidence", OWNER, confidence, low=0.5, high=1, open_high=True)
    checks.number("smallest", OWNER, smallest, low=0, high=1, open_low=True, open_high=True)
    how, task = recipe_of(OWNER, recipe), turns[0].source.task
    word, fits = metric_of(task, metric, OWNER), is_estimator(model)
    protocols = []
    for turn in turns:
        source = trainable(OWNER, turn.source)
        if fits:
            check_estimator(source, model, recipe=recipe, match_iterations=0, by_weight=False, owner=OWNER)
        held = {"validation": exam("validation", OWNER, source, turn.validation)}
        seen, exams, network = learned(OWNER, source, held, model, how)
        tests = (exams["validation"],)
        protocols.append(Protocol(seen, tests, network, how, 0.0, seed, "search", True, metric=word, resampled=fits))
    trainer = _Trainer(tuple(protocols), run, engine_of(OWNER, engine))
    sequence = rotating_fractions(max(smallest, 2 / min(len(turn.source) for turn in turns)))
    found, keep = _descend(trainer, turns, sequence, tolerance, confidence)
    return Search(
        keep=keep,
        subset=None,
        looks=tuple(found),
        sequence=sequence,
        tolerance=tolerance,
        confidence=confidence,
        metric=word,
        reference="training on everything",
        full_size=round(np.mean([len(turn.source) for turn in turns])),
        full_value=trainer.value(None) if found else None,
        validation=sum(len(turn.validation) for turn in turns),
        seeds=tuple(count * len(turns) for count in LOOKS),
        settings={"match_iterations": 0.0, **({"resampled": LEFT_OUT} if fits else {})},
        folds=len(turns),
    )


def retrain_turn(protocols: tuple[Protocol, ...], turned: tuple[int, Training]) -> Result:
    """Train one new model without a fold, and measure it on the fold."""
    fold, training = turned
    return retrain(protocols[fold], training)


class _Trainer:
    """Trains the reference and subsets without each fold, with the same seeds, each once."""

    def __init__(self, protocols: tuple[Protocol, ...], run: Run, engine: Engine) -> None:
        self.protocols, self._run, self._engine = protocols, run, engine
        self._full = [Subset(protocol.source.ids) for protocol in protocols]
        self._held: dict[tuple[int, int], list[Marks]] = {}
        exams = [protocol.tests[0] for protocol in protocols]
        self._labels = [np.asarray(exam.labels)[exam.order] for exam in exams]
        self.classes = self._labels if protocols[0].metric in BESIDE else None

    def value(self, subsets: Sequence[Subset] | None) -> float:
        """The metric of subsets, or of the reference, over all folds and trainings so far."""
        marks = [self._marks(fold, one).mean(0) for fold, one in enumerate(subsets or self._full)]
        every = np.concatenate(marks)
        return float(every.mean()) if self.classes is None else class_mean(every, np.concatenate(self.classes))

    def losses(self, subsets: Sequence[Subset], count: int) -> FoldLoss:
        """The loss of the folds' subsets after `count` pairs of trainings per fold; trains what is missing."""
        self._train(subsets, count)
        first = self.protocols[0]
        return FoldLoss.of(
            [
                self._marks(fold, self._full[fold])[:count] - self._marks(fold, one)[:count]
                for fold, one in enumerate(subsets)
            ],
            binary=first.source.task == "classification",
            classes=self.classes,
            area=first.metric == "auroc",
        )

    def _marks(self, fold: int, subset: Subset) -> Marks:
        return np.array(self._held[fold, len(subset)], dtype=np.float64)

    def _train(self, subsets: Sequence[Subset], count: int) -> None:
        jobs: list[Job[tuple[int, Training]]] = []
        for fold, (protocol, full, ours) in enumerate(zip(self.protocols, self._full, subsets, strict=True)):
            for one in (full, ours):
                size = len(one)
                held = self._held.setdefault((fold, size), [])
                arm, part = ("full", "full") if one is full else (f"{size / len(full):.3g}", f"size-{size}")
                for turn in range(len(held), count):
                    number = fold + turn * len(self.protocols)
                    training = Training(arm, one, number, f"search/fold-{fold}/{part}")
                    step = training.job(protocol, self._engine)
                    jobs.append(Job(step.name, (fold, training), step.key, step.file))
        first = self.protocols[0]
        label = f"trying {len(subsets[0]) / len(self._full[0]):.3g} of everything"
        needs = Needs.to_train(first.source, first.model, first.recipe)
        results = run_jobs(
            self._run, self._engine, retrain_turn, jobs, Result, label, shared=(self.protocols,), needs=needs
        )
        for job, result in zip(jobs, results, strict=True):
            fold, training = job.item
            classes = len(first.source.classes)
            marks = result.marks[0].marks(first.metric, self._labels[fold], classes)
            self._held[fold, len(training.subset)].append(marks)


def _descend(
    trainer: _Trainer, turns: Sequence[Turn], sequence: Sequence[float], tolerance: float, confidence: float
) -> tuple[list[ToleranceLook], float]:
    """Test the fractions until one does not hold; return all looks and the smallest fraction that held."""
    found: list[ToleranceLook] = []
    keep, sizes = 1.0, [len(turn.source) for turn in turns]
    spreads: list[dict[int, float]] = []  # per size before, by trainings per fold
    for fraction in sequence:
        subsets = [turn.choose(fraction) for turn in turns]
        for turn, one in zip(turns, subsets, strict=True):
            one.indices(turn.source)  # raises if it is not of this source
            if one.weighted and is_estimator(trainer.protocols[0].model):
                model = trainer.protocols[0].model
                check_estimator(turn.source, model, recipe=None, match_iterations=0, by_weight=True, owner=OWNER)
        if not all(2 <= len(one) < before for one, before in zip(subsets, sizes, strict=True)):
            continue  # sizes are whole numbers: this one has been tested, or cannot be trained on
        sizes = [len(one) for one in subsets]
        looks, spread = _look(trainer, subsets, fraction, spreads, tolerance, confidence)
        found += looks
        if not looks[-1].holds:
            break
        spreads.append(spread)
        keep = fraction
    return found, keep


def _look(
    trainer: _Trainer,
    subsets: Sequence[Subset],
    fraction: float,
    before: Sequence[dict[int, float]],
    tolerance: float,
    confidence: float,
) -> tuple[list[ToleranceLook], dict[int, float]]:
    """Look at one fraction with one and, if that may decide it, two trainings per fold."""
    folds, made = len(subsets), []
    spread: dict[int, float] = {}
    shares = joint_levels(folds * LOOKS[0], folds * LOOKS[-1], confidence)
    for count, level in zip(LOOKS, shares, strict=True):
        losses = trainer.losses(subsets, count)
        spread[count] = losses.spread
        # A size that held at the first look has one training per fold only: its larger spread is on the safe side.
        paired = losses.with_spread([one.get(count, one[LOOKS[0]]) for one in before])
        upper = paired.upper(level)
        holds = bool(upper <= tolerance)
        size = round(np.mean([len(one) for one in subsets]))
        made.append(
            ToleranceLook(fraction, size, folds * count, level, trainer.value(subsets), paired.loss, upper, holds)
        )
        if holds or paired.loss - (upper - paired.loss) / 2 > tolerance:
            break
    return made, spread
