"""One training of a study or a search: train on some examples, measure on others, store the measurements.

Every retraining goes through `retrain`, whichever method chose the examples. A training is a step of a run: its key is
a fingerprint of everything its result depends on, so that a study extended by seeds, arms or methods trains only what
is missing.

Each test example gets a quality q_i: 1 if the prediction is right and 0 if it is wrong; for regression

    q_i = 1 - mean over outputs of (y_i - f_i)^2 / var(y),

with the variance over the test set. Accuracy and R2 are the mean of q_i. Balanced accuracy, macro F1 and AUROC are
measured beside accuracy (`class_metrics`). For several labels per example the metric is mean average precision, and q_i
what the example adds to it (`label_metrics`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source, Subset
from ..artefacts.class_metrics import BESIDE, auroc_marks, class_mean, f1_marks
from ..artefacts.label_set_logits import LabelSetLogits
from ..artefacts.labelled_logits import log_softmax
from ..artefacts.soft_labels import SoftLabels
from ..artefacts.training_result import Marks, Result
from ..core.errors import DataError, DivergedError, InputError
from ..core.files import fingerprint
from ..core.run import Run
from ..core.seeds import number as seed_number
from ..engines import Engine, Job, Needs, run_jobs
from ..engines.jobs import missing_jobs
from ..engines.named import describe as describe_engine
from ..models import build
from ..models.identity import describe as describe_model
from ..models.identity import is_estimator, network_code
from ..training import Feed, Recipe, Scaling, hold, predict, train
from ..training.dynamic_sampler import DynamicSampler
from ..training.estimators import fitted
from .label_metrics import mean_average_precision, micro_macro_f1
from .resample import resampled

__all__ = ["Protocol", "Training", "retrain", "retrain_all"]


@dataclass(frozen=True, eq=False)
class Protocol:
    """The settings that all trainings of a comparison share.

    Parameters
    ----------
    source
        All the training data.
    tests
        The test sets, with the classes of the source.
    model
        Name of a network, a torch module (its architecture), a function that makes one, or an estimator.
    recipe
        How to train.
    match_iterations
        0: the recipe's epochs on any subset; 1: as many steps as on the full data.
    seed
        Seed, together with the training's own seed, of initial weights, shuffles and augmentation.
    purpose
        Separates the random streams of a search from those of a study, so that a study does not repeat the trainings
        that a search chose by.
    keep_examples
        Whether to keep the q_i.
    weighting
        How weights of a subset are used: `loss` or `draw`.
    soft
        Class probabilities or predictions, for the trainings that use them beside or instead of labels.
    metric
        What the comparison is about. Every metric is measured; one that earlier versions did not measure is part of the
        key, so that their trainings are not taken for new ones.
    resampled
        Whether each training of an estimator leaves out a random tenth of its examples (`resample`).
    """

    source: Source
    tests: tuple[Source, ...]
    model: Any
    recipe: Recipe
    match_iterations: float = 0.0
    seed: int = 0
    purpose: str = "study"
    keep_examples: bool = False
    weighting: str = "loss"
    soft: SoftLabels | None = None
    metric: str = "accuracy"
    resampled: bool = False

    def steps(self, size: int) -> int:
        """Return the optimiser steps of a training on that many examples; an estimator has none."""
        if is_estimator(self.model):
            return 0
        return self.recipe.matched_steps(size, len(self.source), self.match_iterations)

    @cached_property
    def held(self) -> Protocol:
        """The same with examples decoded into memory, once for all workers; done only if something is trained."""
        return replace(self, source=hold(self.source), tests=tuple(hold(test) for test in self.tests))

    @cached_property
    def shared_key(self) -> str:
        """Fingerprint of everything shared that the results depend on."""
        return fingerprint(
            self.source.fingerprint,
            [test.fingerprint for test in self.tests],
            describe_model(self.model),
            network_code(self.model),
            self.recipe.settings(),
            self.seed,
            self.purpose,
            self.keep_examples,
        )

    def key(self, training: Training, engine: Engine) -> list[Any]:
        """Return everything that the result of one training depends on."""
        subset, steps = training.subset, self.steps(training.steps_of)
        key = [self.shared_key, subset.fingerprint, steps, training.seed, describe_engine(engine)]
        if training.repeated:
            key.append(["repeated", training.steps_of])
        if training.dynamic:
            key.append("dynamic sampling")
        if subset.weighted:  # without weights, weighting has no effect
            key.append(self.weighting)
        if self.resampled:
            key.append("resampled")
        if self.metric in BESIDE:
            key.append("metrics beside accuracy")
        if training.soft is None or self.soft is None:
            return key  # targets of the subset itself are in its fingerprint
        return [*key, "soft", self.soft.fingerprint, *([] if training.soft == self.soft.weight else [training.soft])]


@dataclass(frozen=True, eq=False)
class Training:
    """One training to do.

    Parameters
    ----------
    arm
        Its name.
    subset
        Which examples; their own soft targets are used if they have any.
    seed
        Which seed.
    folder
        Where its result is stored in the run.
    soft
        The weight of the protocol's soft labels in the loss; None if they are not used.
    same_steps
        Train for as many steps as a set of this size gets; if not given, that of the subset.
    repeated
        Whether an epoch visits a random part of that size, drawn anew for each epoch.
    dynamic
        Whether a `DynamicSampler` draws the batches, with its defaults.
    """

    arm: str
    subset: Subset
    seed: int
    folder: str
    soft: float | None = None
    same_steps: int | None = None
    repeated: bool = False
    dynamic: bool = False

    @property
    def steps_of(self) -> int:
        """The size of the set whose number of steps is taken."""
        return len(self.subset) if self.same_steps is None else self.same_steps

    def job(self, protocol: Protocol, engine: Engine) -> Job[Training]:
        """Return the step of a run that does it."""
        name = f"{self.folder}/seed-{self.seed}"
        return Job(name, self, protocol.key(self, engine), f"{name}.json")


def retrain_all(
    run: Run, engine: Engine, protocol: Protocol, trainings: Sequence[Training], label: str
) -> list[Result]:
    """Return the results of trainings in order: finished ones are loaded, missing ones are run by the engine."""
    jobs = [training.job(protocol, engine) for training in trainings]
    if missing_jobs(run, retrain, jobs, Result):
        protocol = protocol.held
    needs = Needs.to_train(protocol.source, protocol.model, protocol.recipe)
    return run_jobs(run, engine, retrain, jobs, Result, label, shared=(protocol,), needs=needs)


def retrain(protocol: Protocol, training: Training) -> Result:
    """Train one new model and measure it."""
    source, subset = protocol.source, training.subset
    if protocol.resampled:
        subset = resampled(subset, source, seed_number(protocol.seed, protocol.purpose, "resample", training.seed))
    weights = subset.weights if subset.weighted else None
    part = hold(source.at(subset.indices(source)))
    feed = Feed(part, Scaling.of(part, weights))  # canonical: both the feed and the subset are sorted by id
    soft = _soft(protocol, training)
    where = f"arm {training.arm!r}, seed {training.seed}"
    try:
        steps, seconds, answer = _learn(protocol, feed, training, weights, soft)
    except (DivergedError, DataError) as error:
        raise type(error)(f"{where}: {error}") from None
    marks = []
    for test in protocol.tests:
        exam = Feed(test, feed.scaling)
        output = answer(exam).astype(np.float64)
        if not np.isfinite(output).all():
            raise DivergedError(
                f"{where}: the trained model gives NaN or infinite outputs on source {test.name!r}; lower lr of Recipe."
            )
        marks.append(mark(output, exam, protocol.keep_examples))
    return Result(steps, tuple(marks), seconds)


def _soft(protocol: Protocol, training: Training) -> SoftLabels | None:
    """The soft labels to train on: the subset's own, or those of the protocol, or none."""
    if training.subset.targets is not None:
        return training.subset.targets
    if training.soft is None or protocol.soft is None:
        return None
    return protocol.soft if training.soft == protocol.soft.weight else replace(protocol.soft, weight=training.soft)


def _learn(
    protocol: Protocol,
    feed: Feed,
    training: Training,
    weights: NDArray[np.float64] | None,
    soft: SoftLabels | None = None,
) -> tuple[int, float, Callable[[Feed], NDArray[Any]]]:
    """Train once; return steps, seconds, and a function that gives the outputs of the trained model."""
    # The arm is not part of the names, so that all arms of a seed start from the same weights.
    names = (protocol.seed, protocol.purpose)
    first, number = (seed_number(*names, word, training.seed) for word in ("init", "training"))
    if is_estimator(protocol.model):
        return 0, *fitted(protocol.model, feed, number, weights, protocol.weighting)
    source, recipe = protocol.source, protocol.recipe
    model = build(protocol.model, classes=source.outputs, shape=source.shape, kind=source.kind, seed=first)
    how: dict[str, Any] = {} if soft is None else {"soft": soft.at(feed.ids), "soft_weight": soft.weight}
    steps = protocol.steps(training.steps_of)
    how |= {"part": training.steps_of} if training.repeated else {}
    if training.dynamic:
        how["sampler"] = DynamicSampler(len(feed), steps=steps, batch=recipe.batch, seed=number)
    done = train(model, feed, recipe, number, weights=weights, weighting=protocol.weighting, steps=steps, **how)
    return done.steps, done.seconds, lambda exam: predict(model, exam, recipe)


def mark(output: NDArray[np.float64], exam: Feed, keep_examples: bool = False) -> Marks:
    """Compute the metrics of outputs, given in the exam's canonical order."""
    labels = exam.source.labels
    if labels is None:
        raise InputError(f"source {exam.source.name!r} has no labels to measure against.")
    wanted = labels[exam.order]
    if exam.source.task == "multilabel":
        return _label_marks(output, wanted != 0, keep_examples)
    if exam.source.task == "classification":
        return _classified(output, wanted, len(exam.source.classes), keep_examples)
    truth = wanted.reshape(wanted.shape[0], -1)
    scaling = exam.scaling
    squares = (output * scaling.target_std.numpy() + scaling.target_mean.numpy() - truth) ** 2
    quality = 1 - (squares / truth.var(0)).mean(1)
    examples = tuple(quality.tolist()) if keep_examples else ()
    return Marks(float(quality.mean()), float(squares.mean(1).mean()), (), examples)


def _classified(
    output: NDArray[np.float64], labels: NDArray[np.int64], classes: int, keep_examples: bool = False
) -> Marks:
    """The metrics of logits."""
    predicted = output.argmax(1)
    right = predicted == labels
    logs = log_softmax(output)
    losses = -logs[np.arange(labels.size), labels]
    placed = auroc_marks(np.exp(logs), labels)
    kept = keep_examples
    return Marks(
        float(right.mean()),
        float(losses.mean()),
        _by_class(right.astype(np.float64), labels, classes),
        tuple(right.astype(np.int64).tolist()) if kept else (),  # 1 is shorter than 1.0
        class_mean(right.astype(np.float64), labels),
        class_mean(f1_marks(predicted, labels, classes), labels),
        None if placed is None else class_mean(placed, labels),
        tuple(predicted.tolist()) if kept else None,
        tuple(placed.round(6).tolist()) if kept and placed is not None else None,
    )


def _label_marks(output: NDArray[np.float64], truth: NDArray[np.bool_], keep_examples: bool) -> Marks:
    """Mean average precision of several labels per example, with F1 beside it."""
    value, each, marks = mean_average_precision(output, truth)
    losses = LabelSetLogits(output, truth).losses
    beside: list[float] = []
    for other, parts in micro_macro_f1(output, truth):
        beside += [other, float(parts.std() / math.sqrt(parts.size))]
    kept = tuple(marks.astype(np.float32).tolist()) if keep_examples else ()
    return Marks(value, float(losses.mean()), each, kept, beside=tuple(beside))


def _by_class(quality: NDArray[np.float64], labels: NDArray[np.int64], classes: int) -> tuple[float, ...]:
    """Mean quality per class, NaN for a class without examples."""
    counts = np.bincount(labels, minlength=classes)
    sums = np.bincount(labels, weights=quality, minlength=classes)
    return tuple(np.divide(sums, counts, out=np.full(classes, math.nan), where=counts > 0).tolist())
