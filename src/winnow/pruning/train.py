"""train: spend a given number of optimiser steps as well as possible, and show what that was worth.

All examples take part. Batches come from a `DynamicSampler`; an observer, if there is one, is a cheaper network that is
trained first, gives soft targets and may name suspected label issues. With `proof`, the same training is repeated with
several seeds beside what is free: everything for the same number of steps, and everything in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source
from ..artefacts.class_metrics import metric_of
from ..artefacts.intervals import Interval, difference, mean
from ..artefacts.training_result import Result
from ..core.errors import InputError
from ..core.files import fingerprint
from ..core.request import Parameter, RunDirectory, Seed, choice, flag, number, request, whole
from ..core.run import Run
from ..core.seeds import number as seed_number
from ..engines import Engine, Job, Needs, run_jobs
from ..engines.named import Where
from ..engines.named import describe as describe_engine
from ..evaluation.retrain import mark
from ..evaluation.test_sets import exam, trainable
from ..models import build, choose
from ..models.identity import Network, network_code
from ..signals.observe import observe
from ..signals.soft_targets import soft_targets
from ..sources.holdout import hold_out
from ..sources.openable import Data, TestData, test_sets
from ..training import Feed, Recipe, hold, predict
from ..training import train as train_model
from ..training.dynamic_sampler import DynamicSampler
from ..training.mixing_weight import mixing_weight
from ..training.recipe import How
from ..training.trained_network import TrainedNetwork
from .candidate import suspects
from .prune import HELD_OUT

__all__ = ["TrainingReport", "train"]

SAMPLINGS = ("loss", "mean", "none")
OWN, SHORT, FULL = "this training", "everything, same steps", "everything in full"
Steps = Annotated[
    int | None, whole("Optimiser steps to spend; half of those of the recipe's epochs if not given.", low=1)
]
Sampling = Annotated[str, choice("How batches are drawn", SAMPLINGS)]
Prune = Annotated[float, number("How much to skip per epoch, as in DynamicSampler.", low=0, high=1, open_high=True)]
Observer = Annotated[
    Any, Parameter("A cheaper network to train first, for soft targets; none if not given.", kind=str | None)
]
LeaveOut = Annotated[bool, flag("Leave out examples that look like label issues to the observer.")]
WithProof = Annotated[bool, flag("Compare with everything at the same steps and in full, over several seeds.")]


@dataclass(frozen=True, eq=False)
class TrainingReport:
    """A trained network and what it cost.

    Parameters
    ----------
    network
        The trained network; saved as `weights.safetensors` in the run directory.
    steps, full_steps
        Steps spent, and those of the recipe's epochs on everything.
    observing
        Seconds spent on the observer, not counted in `steps`.
    left_out
        Number of examples left out as suspected label issues.
    held_out
        Number of examples held out for the proof.
    accuracy
        Accuracy (R2 for regression, mean average precision for several labels) on the test data; None if there are
        none.
    arms
        With proof: accuracy, seconds and steps per arm.
    gains
        With proof: what this training gains over each of the others, with an interval over seeds, paired.
    metric
        What `accuracy` is: `accuracy`, `map` or `r2`.
    """

    network: TrainedNetwork
    steps: int
    full_steps: int
    observing: float
    left_out: int
    held_out: int
    accuracy: float | None
    arms: dict[str, dict[str, float]]
    gains: dict[str, Interval]
    metric: str = "accuracy"


@dataclass(frozen=True, eq=False)
class _Lesson:
    """One training to do: the data, the network, the steps, and how batches and targets are made."""

    source: Source
    test: Source | None
    model: Any
    recipe: Recipe
    steps: int
    seed: int
    sampling: str = "none"
    prune: float = 0.0
    out: NDArray[np.bool_] | None = None  # in canonical order, as `soft`
    soft: NDArray[np.float32] | None = None
    soft_weight: float = 0.0

    @property
    def learned_from(self) -> list[str | float | None]:
        """What the observer found, for the key of a step that trains with it."""
        found = (None if rows is None else fingerprint(rows.tobytes()) for rows in (self.out, self.soft))
        return [*found, self.soft_weight]

    def learn(self) -> TrainedNetwork:
        feed = Feed(self.source)
        start, course = (seed_number(self.seed, "train", word) for word in ("init", "training"))
        module = build(
            self.model, classes=self.source.outputs, shape=self.source.shape, kind=self.source.kind, seed=start
        )
        sampler = None
        if self.sampling != "none" or self.out is not None:
            sampler = DynamicSampler(
                len(feed),
                prune=self.prune if self.sampling != "none" else 0.0,
                steps=self.steps,
                batch=self.recipe.batch,
                rule="mean" if self.sampling == "none" else self.sampling,
                leave_out=self.out,
                seed=course,
            )
        soft = self.soft if self.soft_weight > 0 else None
        weight = self.soft_weight if soft is not None else 1.0
        done = train_model(
            module, feed, self.recipe, course, soft=soft, soft_weight=weight, steps=self.steps, sampler=sampler
        )
        about = {
            "model": self.model if isinstance(self.model, str) else None,
            "outputs": self.source.outputs,
            "shape": list(self.source.shape),
            "classes": list(self.source.classes),
            "task": self.source.task,
            "sampling": self.sampling,
            "prune": self.prune,
            "soft_weight": self.soft_weight,
            "recipe": self.recipe.settings(),
        }
        return TrainedNetwork(module, feed.scaling, done.steps, about, done.seconds)


def train(
    source: Data,
    steps: Steps = None,
    *,
    model: Network = "auto",
    recipe: How = None,
    sampling: Sampling = "loss",
    prune: Prune = 0.5,
    observer: Observer = None,
    leave_out: LeaveOut = False,
    proof: WithProof = False,
    proof_seeds: Annotated[int, whole("Number of trainings per arm of the proof.", low=2)] = 5,
    test: TestData = None,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    **opening: Any,
) -> TrainingReport:
    """Train a network once, with as few steps as you can spend.

    Parameters
    ----------
    source
        The training data: a Source, or anything that `wn.open` takes.
    steps
        Optimiser steps to spend, with the learning-rate schedule of the recipe over them. If not given, half of those
        of the recipe's epochs.
    model, recipe
        The network and how to train it.
    sampling, prune
        How a `DynamicSampler` draws batches: `loss`, `mean`, or `none` for plain shuffles; and how much it skips.
    observer
        A cheaper network to train first, for the recipe's epochs. Its predictions become soft targets.
    leave_out
        Leave out examples that the observer takes for label issues. It seldom helped in our measurements.
    proof
        Repeat the training with `proof_seeds` seeds beside everything at the same steps and everything in full.
    test
        Test data; if not given, the own test split of data named by text or path. With `proof` and neither, a fifth of
        the source is held out.
    seed, out, engine
        Seed of everything random; a run directory, where a killed run resumes; where trainings run.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    TrainingReport
        The network, its accuracy, what it cost, and the comparison.

    Raises
    ------
    InputError
        If a parameter has an invalid value.
    NotDefinedError
        If there are no labels, or an option is not defined for the task.

    Examples
    --------
    >>> import winnow as wn
    >>> report = wn.train("digits", steps=20, model="mlp", limit=200)
    >>> report.steps, report.full_steps
    (20, 60)
    """
    asked = request(train, locals())
    whole_source, runner = trainable("train", asked.source), asked.engine
    given = test_sets(asked)
    exam_set = None if given is None else exam("test", "train", whole_source, given)
    print_of = None if exam_set is None else exam_set.fingerprint
    with Run.opened(out, {"command": "train", **asked.settings(), "test": print_of}, extend=False) as run:
        kept, held_out = whole_source, 0
        if exam_set is None and asked.proof:
            kept, exam_set = hold_out(whole_source, HELD_OUT, asked.seed, ("train", "held out"))
            held_out = len(exam_set)
        full = asked.recipe.steps(len(kept))
        auto = isinstance(asked.model, str) and asked.model == "auto"
        lesson = _Lesson(
            hold(kept),
            exam_set,
            choose(kept.shape, kept.kind, kept.outputs) if auto else asked.model,
            asked.recipe,
            max(1, full // 2) if asked.steps is None else asked.steps,
            asked.seed,
            asked.sampling,
            asked.prune,
        )
        lesson = _observed(lesson, asked, run, runner, full)
        loader = cast("type[TrainedNetwork]", _Loader(lesson.model))
        read = [network_code(lesson.model), lesson.learned_from]
        network = run.step("train/network", loader, lesson.learn, key=read, file="weights.safetensors")
        accuracy = None if exam_set is None else _accuracy(network, exam_set)
        arms, gains = _compared(lesson, full, asked.proof_seeds, run, runner) if asked.proof else ({}, {})
    left = 0 if lesson.out is None else int(lesson.out.sum())
    spent, metric = run.seconds("observe/"), metric_of(whole_source.task, None, "train")
    return TrainingReport(network, network.steps, full, spent, left, held_out, accuracy, arms, gains, metric)


class _Loader:
    """Loads a network whose module may be one of the user's own."""

    def __init__(self, model: Any) -> None:
        self.load = partial(TrainedNetwork.load, model=model)


def _observed(lesson: _Lesson, asked: Any, run: Run, engine: Engine, full: int) -> _Lesson:
    """Train the observer, if there is one, and add what it knows."""
    if asked.observer is None:
        if asked.leave_out:
            raise InputError("leave_out of train needs an observer, whose training shows the suspects; got none.")
        return lesson
    source = lesson.source
    want = ("predictions", "dynamics") if asked.leave_out else ("predictions",)
    seen = observe(
        source, asked.observer, lesson.recipe, 1, want, mode="train", seed=asked.seed, out=run, engine=engine
    )
    targets = soft_targets(seen)
    ids = source.ids[source.order]
    soft = targets.at(ids)
    share = min(1.0, lesson.steps / full)
    quality, classes = 1.0, len(source.classes)
    if source.task == "classification" and source.labels is not None:
        quality = float((soft.argmax(1) == source.labels[source.order]).mean())
    out = None
    if asked.leave_out:
        out = None if (flagged := suspects(source, seen)) is None else flagged[source.order]
    return replace(lesson, soft=soft, soft_weight=mixing_weight(share, quality, classes), out=out)


def _accuracy(network: TrainedNetwork, test: Source) -> float:
    feed = Feed(test, network.scaling)
    return mark(predict(network.module, feed, Recipe()).astype(np.float64), feed).value


def _retrained(ways: Mapping[str, _Lesson], job: tuple[str, int]) -> Result:
    """Train one arm of the proof with one seed, and measure it."""
    lesson = replace(ways[job[0]], seed=job[1])
    network = lesson.learn()
    assert lesson.test is not None
    feed = Feed(lesson.test, network.scaling)
    found = mark(predict(network.module, feed, lesson.recipe).astype(np.float64), feed)
    return Result(network.steps, (found,), network.seconds)


def _compared(
    lesson: _Lesson, full: int, seeds: int, run: Run, engine: Engine
) -> tuple[dict[str, dict[str, float]], dict[str, Interval]]:
    """Repeat the training and what is free with several seeds."""
    plain = replace(lesson, sampling="none", prune=0.0, out=None, soft=None, soft_weight=0.0)
    ways = {OWN: lesson, SHORT: plain, FULL: replace(plain, steps=full)}
    numbers = [seed_number(lesson.seed, "proof", index) for index in range(seeds)]
    jobs = [
        Job(
            f"proof/{arm.replace(' ', '-').replace(',', '')}/seed-{index}",
            (arm, number),
            [describe_engine(engine), network_code(lesson.model), lesson.learned_from],
            f"proof/{arm.replace(' ', '-').replace(',', '')}/seed-{index}.json",
        )
        for arm, way in ways.items()
        for index, number in enumerate(numbers)
    ]
    needs = Needs.to_train(lesson.source, lesson.model, lesson.recipe)
    done = run_jobs(run, engine, _retrained, jobs, Result, "proving", shared=(ways,), needs=needs)
    found = {arm: done[place * seeds : (place + 1) * seeds] for place, arm in enumerate(ways)}
    values = {arm: np.array([one.marks[0].value for one in results]) for arm, results in found.items()}
    arms = {
        arm: {
            "accuracy": mean(values[arm]).centre,
            "seconds": float(np.median([one.seconds for one in results])),
            "steps": float(results[0].iterations),
        }
        for arm, results in found.items()
    }
    return arms, {arm: difference(values[OWN].tolist(), values[arm].tolist()) for arm in (SHORT, FULL)}
