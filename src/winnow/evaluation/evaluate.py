"""`evaluate`: train on subsets, on random subsets of the same size and on all the data, and compare seed by seed.

For every seed all arms start from the same weights, so differences are paired by seed and the luck of the
initialisation cancels. Random subsets are drawn for each seed, with the same size and number of optimiser steps as the
subset they are the baseline of. Nothing here knows how a subset was chosen: every method is retrained in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch

from ..artefacts import Outcome, Source, Study, Subset, record
from ..artefacts.class_metrics import CLASSIFIED, METRICS, metric_of
from ..artefacts.example_marks import packed, packed_classes
from ..artefacts.soft_labels import SoftLabels
from ..artefacts.study import Arm
from ..artefacts.training_result import Marks, Result
from ..core.errors import InputError
from ..core.request import Retrainings, RunDirectory, Seed, choice, flag, request
from ..core.run import Run
from ..core.seeds import several as seeds_from
from ..engines.named import Where
from ..models import Frozen, build, choose
from ..models.identity import Learner, is_estimator
from ..models.identity import describe as describe_model
from ..signals.frozen_features import featured
from ..sources.openable import Data, TestData, test_sets
from ..training import WEIGHTINGS, Recipe
from ..training.estimators import check as check_estimator
from ..training.recipe import How, MatchIterations
from .arms import PlannedArm, plan
from .resample import LEFT_OUT
from .retrain import Protocol, retrain_all
from .soft_arms import check_soft, with_soft
from .test_sets import exams, trainable, with_overlap

__all__ = ["Metric", "Repeated", "evaluate"]

Weighting = Annotated[str, choice("Multiply losses by the weights of a subset, or draw examples by weight", WEIGHTINGS)]
Metric = Annotated[
    str | None,
    choice("Metric that conclusions are based on; accuracy (r2 for regression) if not given", METRICS),
]
Repeated = Annotated[bool, flag("Also train on a random subset that is drawn anew for each epoch.")]
Dynamic = Annotated[bool, flag("Also train on everything with dynamic sampling for the same number of steps.")]
Subsets = Mapping[str, Subset | Sequence[Subset] | Mapping[int, Subset]]


def evaluate(
    source: Data,
    subsets: Subsets,
    *,
    test: TestData = None,
    model: Learner = "auto",
    recipe: How = None,
    seeds: Retrainings = 5,
    match_iterations: MatchIterations = 0.0,
    weighting: Weighting = "loss",
    metric: Metric = None,
    soft: SoftLabels | None = None,
    random: bool = True,
    full: bool = True,
    same_steps: bool = True,
    repeated: Repeated = False,
    dynamic: Dynamic = False,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    costs: Mapping[str, Mapping[str, float]] | None = None,
    **opening: Any,
) -> Study:
    """Retrain on subsets and compare with what is free: random subsets, and all the data.

    Parameters
    ----------
    source
        The training data the subsets were chosen from, labelled or with a regression target: a Source, or anything
        that `wn.open` takes.
    subsets
        What to compare, by name. For a method with random draws, pass one Subset per seed, in a sequence or keyed by
        seed; a random subset is lucky or not, and only several draws show it. A subset with soft targets is trained on
        them. The names `full`, `everything@...`, `random...`, `repeated random...` and `dynamic sampling...` are
        reserved.
    test
        The test set, a Source or anything that `wn.open` takes; or several by name, of which the first is the one that
        conclusions are based on. If not given, the test split of data that have one and are named rather than opened.
        The number of its examples whose content is also in the source, whatever their names, is stored in the
        provenance under `overlap`.
    model
        Name of a network, a torch module (its architecture; each seed draws new weights), a function that makes one,
        `wn.models.FineTune`, which starts from weights and may freeze layers, or a scikit-learn estimator, of which
        each training fits a copy with its `random_state` set by the seed. An estimator has neither recipe nor
        iterations, gets weights as `sample_weight`, and is fitted to labels even if a subset has soft targets; with
        several seeds, each fit leaves out a random tenth of its examples, so that the interval is not empty where the
        seed changes nothing. `sklearn:NAME` names one. `wn.models.Frozen(backbone)` trains a linear head on the
        backbone's features, which are computed once for all arms and standardised by each arm's own examples.
    recipe
        How to train a network.
    seeds
        The number of trainings per arm, or their seeds.
    match_iterations
        0 trains every arm for the same epochs, 1 for the same number of optimiser steps; values in between interpolate.
    weighting
        How the weights of a weighted subset are used: `loss` multiplies losses by the weights over their mean, `draw`
        draws examples by weight, as many per epoch as there are examples. Steps and learning rates are the same; a
        subset without weights is trained the same either way.
    metric
        What conclusions and the verdict are based on: `accuracy`, `balanced_accuracy`, `macro_f1` or `auroc` (area
        under the ROC curve, each class against the others), the last three for classes of different sizes; accuracy
        (R2 for regression) if not given. All are measured and in `study.table()`, whichever is asked for.
    soft
        Class probabilities, or predictions of a regression, to train on beside or instead of labels
        (`wn.relabel.soft_labels`), for all examples. Each random subset, each subset without targets of its own, and
        everything at the same steps is then trained a second time, from the same weights and on the same batches, as
        the arm `soft ...`; full is trained on its labels only. The metric always uses the labels of the test set. The
        baseline of a subset with soft labels is the random one with soft labels, whose own baseline is the random one
        with labels.
    random
        Whether to add, for each size, a random subset of that size, drawn per seed.
    full
        Whether to add the full data.
    same_steps
        Whether to add, for each size, everything trained for as many optimiser steps as a subset of that size gets, as
        the arm `everything@FRACTION`: what anyone who has all the data can do for free. Not for an estimator, and not
        where `full` has as many steps.
    repeated
        Whether to add, for each size, repeated random as the arm `repeated random@FRACTION`: as many steps as a subset
        of that size gets, on a random part of that size drawn anew for each epoch. It is free for anyone who has all
        the data. Not for an estimator.
    dynamic
        Whether to add, for each size, everything for as many steps as a subset of that size gets, with a
        `DynamicSampler` that skips examples it has learned, as the arm `dynamic sampling@FRACTION`. Not for an
        estimator.
    seed
        Seed of everything random, together with `seeds`.
    out
        A run directory. Finished trainings are stored in it one by one, so that a study that is repeated, or extended
        by seeds or arms, trains only what is missing; the study is in `out`/study.
    engine
        Where trainings run.
    costs
        The cost of finding each subset: seconds by stage (`plan`, `observe`, `score`, `select`, `veto`,
        `search`, `targets`, `pretrain`), for the cost table. The cost of `soft` is added to the arms that use it: its
        `seconds` and `prior_seconds`. Soft labels from an observation cost that observation, which is counted once:
        their `prior_seconds`, or else the largest `observe` given here; without either the cost is unknown.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Study
        The arms and seeds requested in this call, whatever else the run directory holds.

    Raises
    ------
    InputError
        If an argument is out of range, or a subset, test set or model does not fit the source.
    NotDefinedError
        If the source has no labels and no regression target.
    DivergedError
        If a training diverges.

    Examples
    --------
    >>> import winnow as wn
    >>> source = wn.open("digits", limit=100)
    >>> study = wn.evaluate(source, {"mine": wn.Subset(source.ids[:50])}, test=wn.open("digits", split="test"),
    ...                     recipe=wn.Recipe(epochs=2), seeds=2, engine=wn.Local(workers=1))
    >>> [row["arm"] for row in study.table()]
    ['full', 'everything@0.5', 'random@0.5', 'mine']
    """
    asked = request(evaluate, locals())
    source = trainable("evaluate", asked.source)
    tests = exams("evaluate", source, test_sets(asked))
    how, runner = asked.recipe, asked.engine
    numbers = seeds_from("evaluate", seeds)
    model, word = asked.model, metric_of(source.task, asked.metric, "evaluate")
    if costs is not None and not isinstance(costs, Mapping):
        raise InputError(f"costs of evaluate must map arms to seconds by stage; got {type(costs).__name__}.")
    fits = is_estimator(model)
    soft = check_soft(source, soft, fits)
    for way, wanted in (("repeated", repeated), ("dynamic", dynamic)):
        if wanted and fits:
            raise InputError(f"{way} of evaluate is for networks; an estimator is fitted once, without epochs.")
    free = {"random": random, "full": full, "same_steps": same_steps and not fits}
    free |= {"repeated": repeated, "dynamic": dynamic}
    arms = plan(source, subsets, numbers, seed=seed, costs=costs or {}, **free)
    arms = [planned.without_targets() for planned in arms] if fits else arms
    if soft is not None:
        arms = with_soft(arms, soft)
    if full and match_iterations == 1:  # then full itself is everything at the same steps
        arms = [one for one in arms if one.arm.same_steps is None or not one.arm.in_plain_passes]
    if fits:
        weighted = any(subset.weighted for planned in arms for subset in planned.subsets.values())
        by_weight = weighted and weighting == "loss"
        check_estimator(source, model, recipe=recipe, match_iterations=match_iterations, by_weight=by_weight)
    trained_on, measured, network = learned("evaluate", source, tests, model, how)
    settings = {
        **asked.settings(),
        "model": model.describe() if isinstance(model, Frozen) else describe_model(network),
        "recipe": None if fits else how.settings(),
        "seeds": numbers,
        **({} if soft is None else {"soft": soft.fingerprint}),
        **({"resampled": LEFT_OUT} if fits and len(numbers) > 1 else {}),
    }
    prints = {name: found.fingerprint for name, found in tests.items()}
    names = [planned.arm.name for planned in arms]
    with Run.opened(out, {"command": "evaluate", **settings, "tests": prints, "arms": names}) as run:
        protocol = Protocol(
            trained_on,
            tuple(measured.values()),
            network,
            how,
            float(match_iterations),
            seed,
            keep_examples=True,
            weighting=weighting,
            soft=soft,
            metric=word,
            resampled=fits and len(numbers) > 1,
        )
        trainings = [planned.training(number) for number in numbers for planned in arms]
        results = retrain_all(run, runner, protocol, trainings, "training")
        done = {(t.arm, t.seed): result for t, result in zip(trainings, results, strict=True)}
        provenance = _provenance(source, tests, arms, settings, protocol)
        made_from = with_overlap(run, provenance, source, tests)
        made = [p.arm for p in arms]
        study = study_of(source, tests, made, numbers, done, float(match_iterations), made_from, word)
        return run.put("study", study, 0.0, key=provenance)


def learned(
    owner: str, source: Source, tests: dict[str, Source], model: Any, recipe: Recipe
) -> tuple[Source, dict[str, Source], Any]:
    """Return the training data, test data and model: a linear model on features if the network is frozen."""
    if not isinstance(model, Frozen):
        return source, tests, network_of(source, model)
    seen, measured = featured(owner, source, tests, model, recipe)
    return seen, measured, torch.nn.Linear(seen.shape[0], source.outputs)


def network_of(source: Source, model: Any) -> Any:
    """Return the model with `auto` resolved, built once so that one that does not fit raises before any training.

    An estimator is returned as it is.
    """
    if is_estimator(model):
        return model
    auto = isinstance(model, str) and model == "auto"
    network = choose(source.shape, source.kind, source.outputs) if auto else model
    build(network, classes=source.outputs, shape=source.shape, kind=source.kind)
    return network


def study_of(
    source: Source,
    tests: Mapping[str, Source],
    arms: Sequence[Arm],
    seeds: Sequence[int],
    done: Mapping[tuple[str, int], Result],
    match_iterations: float,
    provenance: dict[str, Any],
    metric: str | None = None,
) -> Study:
    """Make the study from finished trainings, given by arm and seed."""
    outcomes = []
    word, classified = metric_of(source.task, metric, "evaluate"), source.task == "classification"
    for arm in arms:
        for number in seeds:
            result = done[arm.name, number]
            for name, marks in zip(tests, result.marks, strict=True):
                outcomes.append(
                    Outcome(
                        arm.name,
                        number,
                        name,
                        marks.of(word),
                        marks.loss,
                        marks.per_class,
                        result.iterations,
                        result.seconds,
                        packed(marks.examples, binary=classified),
                        beside=marks.beside,
                        **(_beside(marks) if classified else {}),
                    )
                )
    return Study(
        metric=word,
        arms=tuple(arms),
        outcomes=tuple(outcomes),
        tests=tuple(tests),
        classes=source.classes,
        match_iterations=match_iterations,
        provenance=provenance,
        test_labels={name: _packed_labels(test) for name, test in tests.items()} if classified else None,
    )


def _beside(marks: Marks) -> dict[str, Any]:
    """The metrics of classification, and what their intervals need."""
    return {
        **{word: marks.of(word) for word in CLASSIFIED},
        "predicted": None if marks.predicted is None else packed_classes(marks.predicted),
        "placements": None if marks.placements is None else packed(marks.placements, binary=False),
    }


def _packed_labels(test: Source) -> str:
    return packed_classes(np.asarray(test.labels)[test.order]).hex()


def _provenance(
    source: Source,
    tests: Mapping[str, Source],
    arms: Sequence[PlannedArm],
    settings: Mapping[str, Any],
    protocol: Protocol,
) -> dict[str, Any]:
    chosen = [planned for planned in arms if planned.arm.kind == "subset"]
    parameters = {
        **settings,
        "steps": {planned.arm.name: protocol.steps(planned.arm.same_steps or planned.arm.size) for planned in arms},
    }
    inputs = {
        "source": source.provenance,
        "tests": {name: found.provenance for name, found in tests.items()},
        "subsets": {planned.arm.name: _origin(planned) for planned in chosen},
    }
    return record("evaluate", parameters, inputs)


def _origin(planned: PlannedArm) -> dict[str, Any]:
    prints = {seed: subset.fingerprint for seed, subset in planned.subsets.items()}
    first = next(iter(planned.subsets.values()))
    if len(set(prints.values())) == 1:
        return {"fingerprint": first.fingerprint, "provenance": dict(first.provenance)}
    return {"fingerprints": {str(seed): text for seed, text in prints.items()}, "provenance": dict(first.provenance)}
