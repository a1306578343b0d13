"""prune_with_proof: from a source to a subset, a study and a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ..artefacts import Signals, Source, Study, Subset
from ..artefacts.explanation import DatasetExplanation
from ..artefacts.gallery import Gallery
from ..artefacts.ledger import STAGES
from ..core import checks
from ..core.errors import InputError
from ..core.parameter_names import of
from ..core.request import Observations, RunDirectory, Seed, flag, request, whole
from ..core.run import Run
from ..core.seeds import several
from ..engines.named import Where
from ..evaluation.evaluate import Metric, Repeated, evaluate
from ..evaluation.test_sets import exams
from ..explaining.class_relations import relate_run
from ..models.identity import Model
from ..report import write_run_report
from ..report.pictures import make_gallery, make_pictures
from ..selectors.balance import Balance
from ..selectors.select import Keep
from ..sources.holdout import hold_out
from ..sources.openable import Data, MoreData, TestData, test_sets
from ..training.recipe import How, MatchIterations
from .base_run import Base
from .prune import HELD_OUT, chosen_subset
from .prune_parameters import (
    EarlierPlan,
    KeepSuspects,
    MethodName,
    Observer,
    Pairs,
    Recorded,
    Said,
    Tolerance,
    TrainOn,
)
from .resolved_request import request_of

__all__ = ["Proof", "prune_with_proof"]

FEWEST = 2  # examples that `evaluate` trains on


@dataclass(frozen=True)
class Proof:
    """A subset, the study that shows what it costs (None without labels), and the report (None without `out`)."""

    subset: Subset
    study: Study | None
    report: Path | None
    name: str
    why: str
    candidates: int
    held_out: int


def prune_with_proof(
    source: Data,
    keep: Keep = None,
    *,
    tolerance: Tolerance = None,
    method: MethodName = "auto",
    targets: TrainOn = "auto",
    balance: Balance = "auto",
    validation: MoreData = None,
    test: TestData = None,
    model: Model = "auto",
    observer: Observer = None,
    signals: Recorded = None,
    plan: EarlierPlan = None,
    base: Base = None,
    recipe: How = None,
    seeds: Observations = 1,
    veto: Pairs = None,
    keep_suspects: KeepSuspects = False,
    marks: Said = None,
    repeated: Repeated = False,
    clean: Annotated[bool, flag("Also train on all examples except those with likely wrong labels.")] = False,
    proof_seeds: Annotated[int, whole("Number of retrainings per arm of the proof.", low=1)] = 5,
    match_iterations: MatchIterations = 0.0,
    metric: Metric = None,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    **parameters: Any,
) -> Proof:
    """Prune, retrain on the subset and on everything that is free, and write a report.

    Free are random subsets of the same size, everything for the same number of steps and, if the subset has soft
    targets, both with the same soft targets. Everything in full is there too. If the method draws at random, each
    retraining has its own draw, so that the luck of one draw is not taken for merit; the first is the subset returned.
    Without labels nothing can be retrained: you get the subset and its report, and no study.

    Parameters
    ----------
    source, keep, tolerance, method, targets, balance, model, observer, signals, plan, base, recipe, seeds, veto,
    keep_suspects, marks, validation, seed, out, engine, **parameters
        As for `prune`.
    test
        Data for the proof, never used to choose anything: a Source, anything that `wn.open` takes, or several by name.
        If not given, data named by text or path are tested on their own test split; otherwise a fifth of the source
        is held out.
    repeated
        Whether to compare also with repeated random: as many steps, on a random subset of the same size that is drawn
        anew for each epoch.
    clean
        Whether to compare also with `clean`: everything but the examples whose labels are likely wrong.
    proof_seeds
        Number of retrainings per arm.
    match_iterations
        0: every arm trains the same number of epochs; 1: the same number of optimiser steps.
    metric
        What the proof, a tolerance and the veto are about, as in `evaluate`: such as `balanced_accuracy`.

    Returns
    -------
    Proof
        `subset`, `study` and `report`, with the `name` of the subset's arm in the study.

    Raises
    ------
    InputError
        If a parameter has an invalid value, or not exactly one of `keep` and `tolerance` is given.
    NotDefinedError
        If the method is not defined for this task.

    Examples
    --------
    >>> import winnow as wn
    >>> short = wn.Recipe(epochs=2)
    >>> proof = wn.prune_with_proof("digits", keep=0.5, method="random", limit=100, recipe=short, proof_seeds=2,
    ...                             engine=wn.Local(workers=1))
    >>> proof.subset, [arm.name for arm in proof.study.arms]
    (Subset(50 examples), ['full', 'everything@0.5', 'random@0.5', 'one draw@0.5'])
    """
    asked = request(prune_with_proof, locals(), "prune")
    choice = request_of(asked)
    given = test_sets(asked)
    tests = None
    if given is not None and choice.source.task != "unlabelled":
        tests = exams(
            "prune",
            choice.source,
            given if isinstance(given, Mapping) else {"test" if test is None else given.name: given},
        )
    prints = None if tests is None else {name: part.fingerprint for name, part in tests.items()}
    source, held_out = choice.source, 0
    if tests is None and source.task != "unlabelled":
        source, held = hold_out(source, HELD_OUT, seed, ("train", "held out"))
        tests, held_out = {"held out": held}, len(held)
    if choice.keep is not None and source.task != "unlabelled":
        _enough(choice.keep, len(source), held_out)
    with Run.opened(out, {"command": "prune with proof", **choice.settings, "test": prints}, extend=False) as run:
        found = chosen_subset(source, choice, run, asked.engine)
        subset, seen = found.subset, found.signals
        word = str(subset.certificate.get("method", choice.method.name))
        if word == "random":  # evaluate adds arms called random
            word = "one draw" if found.soft is None else "auto"
        elif word == "everything":  # no smaller size held the tolerance; evaluate adds arms called everything too
            word = "all kept"
        name = f"{word}@{len(subset) / len(source):.3g}"
        costs = {name: {stage: run.seconds(f"{stage}/") for stage in STAGES}}
        numbers = several("prune", proof_seeds)
        draws = subset if found.draw is None else [found.draw(place) for place in range(len(numbers))]
        study = (
            None
            if tests is None
            else evaluate(
                source,
                {name: draws, **({"clean": found.clean} if clean and found.clean is not None else {})},
                test=tests,
                model=choice.model,
                recipe=None if choice.fits else choice.recipe,
                seeds=numbers,
                soft=found.soft,
                repeated=repeated,
                match_iterations=match_iterations,
                metric=asked.metric,
                seed=seed,
                out=run,
                engine=asked.engine,
                costs=costs,
            )
        )
        report = None
        if run.path is not None:
            gallery = run.step(
                "gallery",
                Gallery,
                lambda: make_gallery(source, found.scores, subset),
                key=[subset.fingerprint, None if found.scores is None else found.scores.fingerprint],
                file="gallery.json",
            )
            if seen is not None and "lpntk" in seen:
                _relations(run, source, seen, subset, gallery, seed)
            report = write_run_report(run.path)
    why = str(subset.certificate.get("why", choice.method.why))
    return Proof(subset, study, report, name, why, len(source), held_out)


def _enough(keep: float, rows: int, held_out: int) -> None:
    """Raise if a fraction keeps too few rows to train on."""
    if checks.size_from("prune", rows, keep) < FEWEST:
        beside = f" that are left when {held_out:,} are held out for the proof" if held_out else ""
        raise InputError(
            f"{of('keep', 'prune')} must keep at least {FEWEST} examples to train on; {keep:g} of the {rows:,} "
            f"rows{beside} is 1 or fewer."
        )


def _relations(run: Run, source: Source, signals: Signals, subset: Subset, gallery: Gallery, seed: int) -> None:
    """Add to a run how its examples relate to each other, for the report."""
    found = run.step(
        "relations",
        DatasetExplanation,
        lambda: relate_run(source, signals, subset, gallery, seed),
        key=[signals.fingerprint, subset.fingerprint],
        file="relations.json",
    )
    run.step(
        "relations-pictures",
        Gallery,
        lambda: make_pictures(source, found.named(), subset),
        key=[sorted(map(str, found.named())), subset.fingerprint],
        file="relations-pictures.json",
    )
