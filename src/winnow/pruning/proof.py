"""prune_with_proof: the whole way from a source to a subset, a study and a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..artefacts import Signals, Source, Study, Subset
from ..artefacts.explanation import DatasetExplanation
from ..artefacts.gallery import Gallery
from ..artefacts.ledger import STAGES
from ..core import checks
from ..core.run import Run
from ..engines import Engine, engine_of
from ..evaluation.evaluate import evaluate
from ..evaluation.test_sets import exams
from ..explaining.class_relations import relate_run
from ..explaining.pictures import make_gallery, make_pictures
from ..report import write_run_report
from ..sources.holdout import hold_out
from ..training.recipe import Recipe
from .prune import HELD_OUT, chosen_subset
from .request import request_of, settings_of

__all__ = ["Proof", "prune_with_proof"]


@dataclass(frozen=True)
class Proof:
    """A subset, the study that shows what it costs (None without labels), and the report, if there is a run."""

    subset: Subset
    study: Study | None
    report: Path | None
    name: str
    why: str
    held_out: int


def prune_with_proof(
    source: Source,
    keep: float | None = None,
    *,
    test: Source | Mapping[str, Source] | None = None,
    tolerance: float | None = None,
    method: str = "auto",
    balance: float | str | None = "auto",
    model: Any = "auto",
    recipe: Recipe | None = None,
    seeds: int = 3,
    proof_seeds: int = 5,
    validation: Source | None = None,
    match_iterations: float = 0.0,
    seed: int = 0,
    out: Run | str | Path | None = None,
    engine: Engine | None = None,
    **parameters: Any,
) -> Proof:
    """Prune, retrain on what is left, on a random subset and on everything, and report.

    Without labels nothing can be retrained: the subset and its report are all there is.

    Parameters
    ----------
    source, keep, tolerance, method, balance, model, recipe, seeds, validation, seed, out, engine, **parameters
        As for `prune`.
    test
        Data for the proof, never used to choose anything; a fifth of the source is held out unless given.
    proof_seeds
        Retrainings of each arm.
    match_iterations
        0: every arm trains the same number of epochs; 1: the same number of optimiser steps.
    """
    request = request_of(source, keep, tolerance, method, balance, model, recipe, seeds, seed, parameters)
    checks.integer("proof_seeds", "prune", proof_seeds, low=1)
    checks.number("match_iterations", "prune", match_iterations, low=0, high=1)
    runner = engine_of("prune", engine)
    tests = None
    if test is not None and source.task != "unlabelled":
        named = test if isinstance(test, Mapping) else {getattr(test, "name", "test"): test}
        tests = exams("prune", source, named)
    settings = {
        **settings_of("prune with proof", source, validation, request, runner),
        "proof_seeds": proof_seeds,
        "match_iterations": match_iterations,
        "test": None if tests is None else {name: part.fingerprint for name, part in tests.items()},
    }
    with Run.opened(out, settings, extend=False) as run:
        held_out = 0
        if tests is None and source.task != "unlabelled":
            source, held = hold_out(source, HELD_OUT, seed, ("train", "held out"))
            tests, held_out = {"held out": held}, len(held)
        subset, scores, signals = chosen_subset(source, request, validation, run, runner)
        word = str(subset.certificate.get("method", request.method.name))
        word = "one draw" if word == "random" else word  # evaluate adds random arms of its own
        name = f"{word}@{len(subset) / len(source):.3g}"
        costs = {name: {stage: run.seconds(f"{stage}/") for stage in STAGES}}
        study = (
            None
            if tests is None
            else evaluate(
                source,
                {name: subset},
                test=tests,
                model=model,
                recipe=request.recipe,
                seeds=proof_seeds,
                match_iterations=match_iterations,
                seed=seed,
                out=run,
                engine=runner,
                costs=costs,
            )
        )
        report = None
        if run.path is not None:
            gallery = run.step("gallery", Gallery, lambda: make_gallery(source, scores, subset), file="gallery.json")
            if signals is not None and "lpntk" in signals:
                _relations(run, source, signals, subset, gallery, seed)
            report = write_run_report(run.path)
    return Proof(subset, study, report, name, request.method.why, held_out)


def _relations(run: Run, source: Source, signals: Signals, subset: Subset, gallery: Gallery, seed: int) -> None:
    """How the examples of a run teach each other, for its report."""
    found = run.step(
        "relations",
        DatasetExplanation,
        lambda: relate_run(source, signals, subset, gallery, seed),
        file="relations.json",
    )
    run.step(
        "relations-pictures",
        Gallery,
        lambda: make_pictures(source, found.named(), subset),
        file="relations-pictures.json",
    )
