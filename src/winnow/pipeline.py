"""Short compositions of the rooms: from a source to a subset, and on to its proof.

prune              observe -> score -> select          (with a search over fractions for a tolerance)
prune_with_proof   the same, then evaluate and report, all in one resumable run directory
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import checks, registry
from .artefacts import Scores, Signals, Source, Study, Subset, record
from .data.holdout import hold_out
from .engine import Engine, Local
from .engine.local import describe as describe_engine
from .errors import InputError, NotDefinedError
from .evaluation.evaluating import evaluate
from .evaluation.exams import exam, exams
from .evaluation.tolerance import Search, smallest_within
from .models.identity import describe
from .report import write_run_report
from .report.gallery import Gallery, make_gallery
from .scores.scoring import score as score_signals
from .selectors.methods import Plan, needs_of, parse_method
from .selectors.selecting import select
from .signals.embedding import embed
from .signals.observing import observe
from .store import Run
from .training.recipe import Recipe

__all__ = ["Proof", "choose_method", "observe_run", "prune", "prune_with_proof"]

UNRELIABLE = 0.3  # a rank correlation between halves of the seeds below which a score says little
HELD_OUT = 0.2  # of a source without a test or validation set of its own


@dataclass(frozen=True)
class Chosen:
    """A method, and in words why it was taken."""

    name: str
    why: str


def choose_method(task: str, keep: float | None) -> Chosen:
    """The method for `auto`: hard examples while much is kept, coverage when little is.

    Keeping the hardest collapses when little is kept (CIFAR-10 with a tenth kept falls far below random),
    and what works there covers the whole range of difficulty.

    Parameters
    ----------
    task
        The source's task.
    keep
        The fraction kept; None where it is still to be searched for, which may go anywhere.
    """
    much = keep is not None and keep >= 0.5
    share = "an unknown share" if keep is None else f"{keep:.0%}"
    if task == "classification":
        if much:
            return Chosen(
                "el2n", f"{share} is kept: the hardest examples by early EL2N carry most, and enough easy ones stay"
            )
        return Chosen(
            "aum+strata",
            f"{share} is kept: keeping only the hardest collapses there, so all strata of "
            "difficulty are covered and the hardest, often mislabelled, are dropped",
        )
    if task == "regression":
        return Chosen(
            "difficulty+strata",
            "the target is a number: difficulty is the summed loss, and its strata "
            "are covered because the hardest may be noise",
        )
    return Chosen(
        "prototype" if much else "prototype+strata",
        "there are no labels: difficulty is the distance to the nearest prototype"
        + ("" if much else ", and all its strata are covered because little may be kept"),
    )


@dataclass(frozen=True)
class Request:
    """What a pruning was asked for, checked."""

    keep: float | None
    tolerance: float | None
    method: Chosen
    plan: Plan
    balance: float | None
    model: Any
    recipe: Recipe
    seeds: int
    seed: int
    parameters: Mapping[str, Any]

    def settings(self) -> dict[str, Any]:
        """Plain values, for provenance and the run directory."""
        return {
            "keep": self.keep,
            "tolerance": self.tolerance,
            "method": self.method.name,
            "balance": self.balance,
            "model": describe(self.model),
            "recipe": self.recipe.settings(),
            "seeds": self.seeds,
            "seed": self.seed,
            "parameters": dict(self.parameters),
        }


def prune(
    source: Source,
    keep: float | None = None,
    *,
    tolerance: float | None = None,
    method: str = "auto",
    balance: float | str | None = "auto",
    model: Any = "auto",
    recipe: Recipe | None = None,
    seeds: int = 3,
    validation: Source | None = None,
    seed: int = 0,
    out: Run | str | Path | None = None,
    engine: Engine | None = None,
    **parameters: Any,
) -> Subset:
    """A smaller training set.

    Parameters
    ----------
    source
        The training data.
    keep
        Fraction to keep.
    tolerance
        Instead of `keep`: how much accuracy (or R2) may be lost on validation data; the smallest subset that
        was measured to hold it is returned, or everything if none does.
    method
        A score, a selector, `score+selector`, or `auto`.
    balance
        Each class keeps at least this share of its equal part; `auto` is one half for classification.
    model, recipe, seeds
        How to observe: the network, its training, how many times.
    validation
        Data to measure a tolerance on; a fifth of the source is held out, and is not in the subset, unless
        given.
    seed
        Decides everything random.
    out
        A run directory: finished steps are kept there and a killed run goes on.
    engine
        Where trainings run.
    **parameters
        Of the selector.
    """
    request = _request(source, keep, tolerance, method, balance, model, recipe, seeds, seed, parameters)
    runner = engine if engine is not None else Local()
    settings = _asked("prune", source, validation, request, runner)
    with Run.opened(out, settings, extend=False) as run:
        subset, _ = _prune(source, request, validation, run, runner)
    return subset


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
    request = _request(source, keep, tolerance, method, balance, model, recipe, seeds, seed, parameters)
    checks.integer("proof_seeds", "prune", proof_seeds, low=1)
    checks.number("match_iterations", "prune", match_iterations, low=0, high=1)
    runner = engine if engine is not None else Local()
    tests = None
    if test is not None and source.task != "unlabelled":
        named = test if isinstance(test, Mapping) else {getattr(test, "name", "test"): test}
        tests = exams("prune", source, named)
    settings = {
        **_asked("prune with proof", source, validation, request, runner),
        "proof_seeds": proof_seeds,
        "match_iterations": match_iterations,
        "test": None if tests is None else {name: part.fingerprint for name, part in tests.items()},
    }
    with Run.opened(out, settings, extend=False) as run:
        held_out = 0
        if tests is None and source.task != "unlabelled":
            source, held = hold_out(source, HELD_OUT, seed, ("train", "held out"))
            tests, held_out = {"held out": held}, len(held)
        subset, scores = _prune(source, request, validation, run, runner)
        word = "one draw" if request.method.name == "random" else request.method.name  # evaluate adds random arms
        name = f"{word}@{len(subset) / len(source):.3g}"
        costs = {name: {stage: run.seconds(f"{stage}/") for stage in ("observe", "score", "select", "search")}}
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
            run.step("gallery", Gallery, lambda: make_gallery(source, scores, subset), file="gallery.json")
            report = write_run_report(run.path)
    return Proof(subset, study, report, name, request.method.why, held_out)


def _request(
    source: Source,
    keep: float | None,
    tolerance: float | None,
    method: str,
    balance: float | str | None,
    model: Any,
    recipe: Recipe | None,
    seeds: int,
    seed: int,
    parameters: Mapping[str, Any],
) -> Request:
    if not isinstance(source, Source):
        raise InputError(f"source of prune must be a Source (open it with wn.open); got {type(source).__name__}.")
    if (keep is None) == (tolerance is None):
        raise InputError(
            "prune needs exactly one of keep= (a fraction in (0, 1]) and tolerance= (a loss in (0, 1)); "
            f"got keep={keep!r}, tolerance={tolerance!r}."
        )
    if keep is not None:
        keep = checks.fraction("keep", "prune", keep)
    if tolerance is not None:
        checks.number("tolerance", "prune", tolerance, low=0, high=1, open_low=True, open_high=True)
    if recipe is not None and not isinstance(recipe, Recipe):
        raise InputError(f"recipe of prune must be a Recipe; got {type(recipe).__name__}.")
    chosen = choose_method(source.task, keep) if method == "auto" else Chosen(method, "asked for")
    plan = _plan(chosen.name, source, tolerance, parameters)
    if balance == "auto":
        balance = 0.5 if source.task == "classification" else None
    if balance is not None:
        balance = checks.number("balance", "prune", balance, low=0, high=1)
    checks.integer("seeds", "prune", seeds, low=1)
    checks.integer("seed", "prune", seed, low=0)
    return Request(keep, tolerance, chosen, plan, balance, model, recipe or Recipe(), seeds, seed, parameters)


def _plan(name: str, source: Source, tolerance: float | None, parameters: Mapping[str, Any]) -> Plan:
    """The method taken apart, refused before anything is trained if it cannot work on this source."""
    plan = parse_method(name)
    methods = [registry.get("selector", plan.selector)]
    methods += [] if plan.score is None else [registry.get("score", plan.score)]
    for found in methods:
        if source.task not in found.tasks:
            raise NotDefinedError(
                f"{found.kind} {found.name!r} of method {name!r} is defined for {' and '.join(sorted(found.tasks))}, "
                f"and source {source.name!r} is {source.task}."
            )
    methods[0].check_parameters(parameters)
    if tolerance is not None and source.task == "unlabelled":
        raise NotDefinedError(
            f"tolerance of prune is measured by training on labels, and source {source.name!r} has none; give keep=."
        )
    return plan


def _asked(command: str, source: Source, validation: Source | None, request: Request, engine: Engine) -> dict[str, Any]:
    """What a run directory was asked for: everything that the subset depends on."""
    return {
        "command": command,
        "source": source.fingerprint,
        "validation": None if validation is None else exam("validation", "prune", source, validation).fingerprint,
        **request.settings(),
        **describe_engine(engine),
    }


def _prune(
    source: Source, request: Request, validation: Source | None, run: Run, engine: Engine
) -> tuple[Subset, Scores | None]:
    if request.tolerance is None:
        signals = _observe(source, request, run, engine)
        scores = _score(signals, request, run)
        subset = run.step(
            "select/subset", Subset, lambda: _select(signals, scores, request, request.keep), file="subset.parquet"
        )
        return subset, scores
    whole = source
    if validation is None:
        source, validation = hold_out(source, HELD_OUT, request.seed, ("train", "validation"))
    signals = _observe(source, request, run, engine)
    scores = _score(signals, request, run)
    found = smallest_within(
        request.tolerance,
        lambda keep: _select(signals, scores, request, keep),
        source,
        validation,
        model=request.model,
        recipe=request.recipe,
        seeds=max(5, request.seeds),
        seed=request.seed,
        run=run,
        engine=engine,
    )
    return run.step("select/subset", Subset, lambda: _found(whole, found, request), file="subset.parquet"), scores


def _observe(source: Source, request: Request, run: Run, engine: Engine) -> Signals:
    """Everything the method needs, from one observation."""
    needs = needs_of(request.method.name)
    if source.task == "unlabelled":
        model = "raw" if request.model == "auto" else request.model
        return run.step(
            "observe/embeddings", Signals, lambda: embed(source, model, seed=request.seed), file="signals.safetensors"
        )
    if source.task == "regression":
        needs = needs - {"logits"}
    if request.balance is not None and source.task != "classification":
        needs = needs | {"embeddings"}
    want = sorted({"ensemble" if name.startswith("ensemble") else name for name in needs}) or ["losses"]
    return observe(
        source, request.model, request.recipe, request.seeds, want, seed=request.seed, out=run, engine=engine
    )


def _score(signals: Signals, request: Request, run: Run) -> Scores | None:
    name = request.plan.score
    if name is None:
        return None
    scores = run.step(f"score/{name}", Scores, lambda: score_signals(name, signals), file=f"scores/{name}.parquet")
    if scores.reliability is not None and scores.reliability < UNRELIABLE:
        warnings.warn(
            f"score {name!r} hardly agrees with itself here (rank correlation {scores.reliability:.2f} between halves "
            "of the seeds); more seeds or epochs would help, or another method",
            stacklevel=2,
        )
    return scores


def _select(signals: Signals, scores: Scores | None, request: Request, keep: float | None) -> Subset:
    given = signals if scores is None else scores
    subset = select(
        request.plan.selector,
        given,
        keep=keep,
        balance=request.balance,
        seed=request.seed,
        signals=signals if scores is not None else None,
        **{**request.plan.parameters, **request.parameters},
    )
    about = {"method": request.method.name, "why": request.method.why}
    return dataclasses.replace(subset, certificate={**about, **subset.certificate})


def _found(whole: Source, found: Search, request: Request) -> Subset:
    """The subset a search ended with, or everything, with what was measured as its certificate."""
    if found.subset is None:
        return Subset(
            whole.ids,
            certificate={"method": "everything", **found.certificate()},
            provenance=record("prune", request.settings(), {"source": whole.provenance}),
        )
    return dataclasses.replace(found.subset, certificate={**found.subset.certificate, **found.certificate()})


def observe_run(
    source: Source,
    out: str | Path,
    *,
    want: tuple[str, ...] = (),
    model: Any = "auto",
    recipe: Recipe | None = None,
    seeds: int = 3,
    mode: str = "eval",
    seed: int = 0,
    engine: Engine | None = None,
) -> Signals:
    """Observe into a run directory and keep everything observed there as `signals.safetensors`.

    Parameters
    ----------
    source, want, model, recipe, seeds, mode, seed, engine
        As for `observe`; `want` empty takes what the task allows: logits for classes, losses for a target,
        embeddings without labels.
    out
        The run directory.
    """
    usual = {"classification": ("logits",), "regression": ("losses",), "unlabelled": ("embeddings",)}[source.task]
    wanted = want or usual
    settings = {
        "command": "observe",
        "source": source.fingerprint,
        "model": describe(model),
        "want": list(wanted),
        "recipe": (recipe or Recipe()).settings(),
        "seeds": seeds,
        "mode": mode,
        "seed": seed,
    }
    with Run.opened(out, settings) as run:

        def make() -> Signals:
            if source.task == "unlabelled" and wanted == ("embeddings",):
                return embed(source, "raw" if model == "auto" else model, seed=seed)
            return observe(source, model, recipe, seeds, wanted, mode=mode, seed=seed, out=run, engine=engine)

        return run.step("observe", Signals, make, key=settings, file="signals.safetensors")
