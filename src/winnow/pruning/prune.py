"""prune: observe, score and select, in a run that can be killed and resumed."""

from __future__ import annotations

import dataclasses
import time
import warnings
from typing import Any

import numpy as np

from ..artefacts import Scores, Signals, Source, Subset, record
from ..core import registry
from ..core.request import Observations, RunDirectory, Seed, request
from ..core.run import Run
from ..engines import Engine, engine_of
from ..engines.local import Where
from ..evaluation.tolerance import Search, smallest_within
from ..models.identity import Model
from ..scores.score import score as score_signals
from ..selectors.balance import Balance
from ..selectors.select import Keep
from ..signals.embed import embed
from ..signals.observe import observe
from ..sources.holdout import hold_out
from ..sources.openable import Data, MoreData
from ..training.recipe import How
from .resolved_request import MethodName, Request, Tolerance, choose, request_of

__all__ = ["HELD_OUT", "chosen_subset", "prune"]

UNRELIABLE = 0.3  # below this rank correlation between halves of the seeds, a score says little
HELD_OUT = 0.2  # share held out if the source has no test or validation set


def prune(
    source: Data,
    keep: Keep = None,
    *,
    tolerance: Tolerance = None,
    method: MethodName = "auto",
    balance: Balance = "auto",
    model: Model = "auto",
    recipe: How = None,
    seeds: Observations = 1,
    validation: MoreData = None,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    **parameters: Any,
) -> Subset:
    """Find a smaller training set.

    Parameters
    ----------
    source
        The training data: a Source, or anything that `wn.open` takes.
    keep
        Fraction to keep.
    tolerance
        Instead of `keep`: how much accuracy (or R2) may be lost on validation data, against training on everything
        that is not held out. Returns the smallest subset that was shown to stay within it, or everything if none was.
    method
        A score, a selector or `score+selector`, with parameters in brackets if wanted, such as
        `el2n(epoch=3)+strata(drop=0.1)`; or `auto`.
    balance
        Each class keeps at least this share of an equal part, in [0, 1]; None sets no quotas. `auto` is 0.5 if there
        are classes, otherwise None.
    model, recipe, seeds
        How to observe: the network, its training, and the number of trainings or their seeds.
    validation
        Data to measure a tolerance on. If not given, a fifth of the source is held out and is not in the subset.
    seed
        Seed of everything random.
    out
        A run directory: finished steps are kept there, and a killed run resumes.
    engine
        Where trainings run.
    **parameters
        Parameters of the method, and keywords of `wn.open` such as `labels=`.

    Returns
    -------
    Subset
        The ids to keep with their weights. Its certificate says which method was used, and why.

    Raises
    ------
    InputError
        If a parameter has an invalid value, or not exactly one of `keep` and `tolerance` is given.
    NotDefinedError
        If the method is not defined for this task.

    Examples
    --------
    >>> import winnow as wn
    >>> wn.prune("digits", keep=0.4, method="random", limit=100)
    Subset(40 examples)
    """
    asked = request_of(request(prune, locals()))
    with Run.opened(out, {"command": "prune", **asked.settings}, extend=False) as run:
        return chosen_subset(asked.source, asked, run, engine_of("prune", engine))[0]


def chosen_subset(
    source: Source, request: Request, run: Run, engine: Engine
) -> tuple[Subset, Scores | None, Signals | None]:
    """Return the requested subset of a source, with the scores and signals it was chosen by, if any."""
    if request.tolerance is None:
        signals = _observe(source, request, run, engine)
        scores = _score(signals, request, run)
        given = _given(source, signals, scores)
        subset = run.step(
            "select/subset", Subset, lambda: choose(signals, given, request, request.keep), file="subset.parquet"
        )
        return subset, scores, signals
    whole, validation, reference = source, request.validation, f"all {len(source)} training examples"
    if validation is None:
        source, validation = hold_out(source, HELD_OUT, request.seed, ("train", "validation"))
        held = f"{len(validation)} of {len(whole)} were held out to measure on"
        reference = f"the {len(source)} training examples left after {held}"
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
        seed=request.seed,
        reference=reference,
        run=run,
        engine=engine,
    )
    subset = run.step("select/subset", Subset, lambda: _found(whole, found, request), file="subset.parquet")
    return subset, scores, signals


def _observe(source: Source, request: Request, run: Run, engine: Engine) -> Signals | None:
    """Record everything the method needs in one observation; None if it needs nothing."""
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
        source, request.model, request.recipe, request.numbers, want, seed=request.seed, out=run, engine=engine
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
            f"score {name!r} is unreliable here (rank correlation {scores.reliability:.2f} between halves of the "
            "seeds); use more seeds or epochs, or another method",
            stacklevel=4,
        )
    return scores


def _given(source: Source, signals: Signals | None, scores: Scores | None) -> Signals | Scores:
    """Return what the selector works on; a method that needs nothing still needs the ids."""
    if scores is not None:
        return scores
    if signals is not None:
        return signals
    return Scores("none", source.ids, np.zeros(len(source)), None, source.task, source.labels, source.classes)


def _found(whole: Source, found: Search, request: Request) -> Subset:
    """Return the subset found by a search, or everything, with the measurements as its certificate."""
    if found.subset is None:
        return Subset(
            whole.ids,
            certificate={"method": "everything", **found.certificate()},
            provenance=record("prune", dict(request.settings), {"source": whole.provenance}),
        )
    return dataclasses.replace(found.subset, certificate={**found.subset.certificate, **found.certificate()})
