"""prune: observe, score, select, in a run that may be killed and goes on."""

from __future__ import annotations

import dataclasses
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..artefacts import Scores, Signals, Source, Subset, record
from ..core import registry
from ..core.run import Run
from ..engines import Engine, engine_of
from ..evaluation.tolerance import Search, smallest_within
from ..scores.score import score as score_signals
from ..signals.embed import embed
from ..signals.observe import observe
from ..sources.holdout import hold_out
from ..training.recipe import Recipe
from .request import Request, choose, request_of, settings_of

__all__ = ["HELD_OUT", "chosen_subset", "prune"]

UNRELIABLE = 0.3  # a rank correlation between halves of the seeds below which a score says little
HELD_OUT = 0.2  # of a source without a test or validation set of its own


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
        A score, a selector, `score+selector`, each with parameters in brackets if wanted, such as
        `el2n(epoch=3)+strata(drop=0.1)`; or `auto`.
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
        Of the score or the selector, whichever has them.
    """
    request = request_of(source, keep, tolerance, method, balance, model, recipe, seeds, seed, parameters)
    runner = engine_of("prune", engine)
    settings = settings_of("prune", source, validation, request, runner)
    with Run.opened(out, settings, extend=False) as run:
        subset, _, _ = chosen_subset(source, request, validation, run, runner)
    return subset


def chosen_subset(
    source: Source, request: Request, validation: Source | None, run: Run, engine: Engine
) -> tuple[Subset, Scores | None, Signals | None]:
    """The subset asked for, and the scores and signals it was chosen by, if any."""
    if request.tolerance is None:
        signals = _observe(source, request, run, engine)
        scores = _score(signals, request, run)
        given = _given(source, signals, scores)
        subset = run.step(
            "select/subset", Subset, lambda: choose(signals, given, request, request.keep), file="subset.parquet"
        )
        return subset, scores, signals
    whole = source
    if validation is None:
        source, validation = hold_out(source, HELD_OUT, request.seed, ("train", "validation"))
    signals = _observe(source, request, run, engine)
    scores = _score(signals, request, run)
    given = _given(source, signals, scores)

    def timed(keep: float) -> Subset:
        start = time.perf_counter()
        subset = choose(signals, given, request, keep)
        run.spent("select/search", time.perf_counter() - start)
        return subset

    found = smallest_within(
        request.tolerance,
        timed,
        source,
        validation,
        model=request.model,
        recipe=request.recipe,
        seeds=max(5, request.seeds),
        seed=request.seed,
        run=run,
        engine=engine,
    )
    subset = run.step("select/subset", Subset, lambda: _found(whole, found, request), file="subset.parquet")
    return subset, scores, signals


def _observe(source: Source, request: Request, run: Run, engine: Engine) -> Signals | None:
    """Everything the method needs, from one observation; None if it looks at nothing."""
    needs = request.plan.needs
    if source.task == "regression":
        needs = needs - {"logits"}
    if request.balance is not None and source.task != "classification":
        needs = needs | {"embeddings"}
    if not needs:
        return None
    embedded = None
    if source.task == "unlabelled" and "embeddings" in needs:
        model = "raw" if request.model == "auto" else request.model
        embedded = run.step(
            "observe/embeddings", Signals, lambda: embed(source, model, seed=request.seed), file="signals.safetensors"
        )
        needs = needs - {"embeddings"}
    want = sorted({entry.name for entry in map(registry.signal_of, needs) if entry is not None})
    if not want:
        return embedded
    seen = observe(
        source, request.model, request.recipe, request.seeds, want, seed=request.seed, out=run, engine=engine
    )
    return seen if embedded is None else embedded.merge(seen)


def _score(signals: Signals | None, request: Request, run: Run) -> Scores | None:
    name = request.plan.score
    if name is None or signals is None:
        return None
    scores = run.step(
        f"score/{name}",
        Scores,
        lambda: score_signals(name, signals, **request.plan.score_parameters),
        file=f"scores/{name}.parquet",
    )
    if scores.reliability is not None and scores.reliability < UNRELIABLE:
        warnings.warn(
            f"score {name!r} hardly agrees with itself here (rank correlation {scores.reliability:.2f} between halves "
            "of the seeds); more seeds or epochs would help, or another method",
            stacklevel=4,
        )
    return scores


def _given(source: Source, signals: Signals | None, scores: Scores | None) -> Signals | Scores:
    """What the selector works on; a method that looks at nothing still has to know who there is."""
    if scores is not None:
        return scores
    if signals is not None:
        return signals
    return Scores("none", source.ids, np.zeros(len(source)), None, source.task, source.labels, source.classes)


def _found(whole: Source, found: Search, request: Request) -> Subset:
    """The subset a search ended with, or everything, with what was measured as its certificate."""
    if found.subset is None:
        return Subset(
            whole.ids,
            certificate={"method": "everything", **found.certificate()},
            provenance=record("prune", request.settings(), {"source": whole.provenance}),
        )
    return dataclasses.replace(found.subset, certificate={**found.subset.certificate, **found.certificate()})
