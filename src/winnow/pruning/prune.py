"""prune: observe, score and select, in a run that can be killed and resumed."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..artefacts import Scores, Signals, Source, Subset, record
from ..artefacts.soft_labels import SoftLabels
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
from ..training.recipe import How, MatchIterations
from .base_run import Base
from .candidate import (
    all_but_suspects,
    at_random,
    bare,
    drawn_candidate,
    tried_candidate,
    weighted_targets,
    with_targets,
    without_suspects,
)
from .continuation import Arrival, KeptTrial, arrival_of, continued_signals, keep_digests, kept_trial, with_changes
from .resolved_request import (
    EarlierPlan,
    KeepSuspects,
    MethodName,
    Observer,
    Pairs,
    Recorded,
    Request,
    Tolerance,
    TrainOn,
    choose,
    request_of,
    wanted_signals,
)
from .veto import Untried, Veto

__all__ = ["HELD_OUT", "FoundSubset", "chosen_subset", "prune"]

UNRELIABLE = 0.3  # below this rank correlation between halves of the seeds, a score says little
HELD_OUT = 0.2  # share held out if the source has no test or validation set


def prune(
    source: Data,
    keep: Keep = None,
    *,
    tolerance: Tolerance = None,
    method: MethodName = "auto",
    targets: TrainOn = "auto",
    balance: Balance = "auto",
    model: Model = "auto",
    observer: Observer = None,
    signals: Recorded = None,
    plan: EarlierPlan = None,
    base: Base = None,
    recipe: How = None,
    seeds: Observations = 1,
    veto: Pairs = None,
    keep_suspects: KeepSuspects = False,
    match_iterations: MatchIterations = 0.0,
    validation: MoreData = None,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    **parameters: Any,
) -> Subset:
    """Find a smaller training set.

    With `method="auto"`, one training is observed. It gives the soft targets, and the order in which a candidate is
    chosen: a mixture of uncertain and random examples, or examples that cover each class if few are kept. The candidate
    is then tried against a random subset with the same soft targets, on held-out parts of the source. If it does not
    hold there, the random subset is the answer.

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
    targets
        `soft` adds the observed network's predictions to the subset, to train on together with the labels; `labels`
        does not. `auto` adds them if the method is `auto`.
    balance
        Each class keeps at least this share of an equal part, in [0, 1]; None sets no quotas. `auto` is 0.5 if there
        are classes, otherwise None.
    model, recipe, seeds
        How to observe: the network, its training, and the number of trainings or their seeds.
    observer
        A cheaper network to observe and to try the candidate with; `model` if not given.
    signals
        What a training has already recorded (`wn.observe`, a `Recorder`): nothing is observed then.
    plan
        A Plan with a pilot of your network (`wn.plan(..., pilot=True)`), or its run directory. What is reused are the
        pilot's pairs of trainings of the same candidate and of random draws with soft targets, at a fraction up to 1.5
        times larger or smaller. One pair is then trained on this source; if it has the sign of the pilot's mean, no
        others are. The observation is made anew, because the pilot saw only a part of the source.
    base
        The run directory of an earlier pruning of data that have grown or changed since. Examples that it has seen keep
        their signals; only new ones are observed, by a training that goes on from a network the run has kept. The
        trial of the candidate is taken over if less than 30 % of the examples are new. The certificate says what
        changed, under `since`; `out` gets the whole list as `changes.csv`.
    veto
        Number of pairs of trainings that try the candidate of `auto`; if not given, three, or up to five on small data.
        0 uses the candidate untried. If fewer than 20 examples can be held out, nothing is tried: examples that cover
        each class are used untried, and otherwise the subset is random.
    keep_suspects
        Whether `auto` may choose examples whose labels are likely wrong (`wn.score("mislabelled")`, from the same
        observation). Otherwise it leaves them out, if enough others remain, and the certificate says how many.
    match_iterations
        How the trainings of the veto are matched, as in `evaluate`.
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
        The ids to keep with their weights and, for `auto`, soft targets. Its certificate says which method was used,
        why, and what was measured.

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
        return chosen_subset(asked.source, asked, run, engine_of("prune", engine)).subset


@dataclass(frozen=True)
class FoundSubset:
    """A subset, and what it was chosen by."""

    subset: Subset
    scores: Scores | None
    signals: Signals | None
    soft: SoftLabels | None  # of all examples, for whatever the subset is compared with
    draw: Callable[[int], Subset] | None  # other draws by the same method; None if it was found by a search
    clean: Subset | None = None  # all but the examples whose labels are likely wrong; None if nothing is known of them


def chosen_subset(source: Source, request: Request, run: Run, engine: Engine) -> FoundSubset:
    """Return the requested subset of a source, with what it was chosen by."""
    if request.tolerance is not None:
        return _searched(source, request, run, engine)
    arrival = None
    if request.base is not None:
        arrival = arrival_of(source, request.base, request.base.signals(request.numbers[0]))
    source = source if arrival is None else arrival.source
    signals = _observe(source, request, run, engine, arrival)
    scores = _score(signals, request, run)
    start = time.perf_counter()
    soft = weighted_targets(source, signals, request, request.keep)
    making = time.perf_counter() - start
    given = _given(source, signals, scores)
    clean = without_suspects(source, signals, request)
    tried: Veto | Untried | KeptTrial | None = None
    if request.pilot is not None:
        run.put("plan/pilot", request.pilot, float(request.pilot.pilot["seconds"]), file="plan")  # for the bill
    if request.pairs != 0:
        tried = (arrival and kept_trial(arrival, request)) or tried_candidate(
            source, signals, given, clean, soft, request, run, engine
        )
    plain = None if tried is None or tried.holds else at_random(request)

    def made(number: int) -> Subset:
        if plain is None:
            drawn = drawn_candidate(source, signals, given, clean, request, number)
        else:
            drawn = choose(None, bare(source), plain, request.keep, number)
        return with_targets(drawn, soft, tried, source)

    def first() -> Subset:
        return made(0) if arrival is None else with_changes(made(0), arrival, run, tried)

    return FoundSubset(_kept(run, first, making), scores, signals, soft, made, all_but_suspects(source, signals))


def _kept(run: Run, make: Callable[[], Subset], before: float) -> Subset:
    """The subset as a step of the run; its seconds include those spent on it before, such as on soft targets."""
    found = run.get("select/subset", Subset)
    if found is not None:
        return found
    start = time.perf_counter()
    made = make()
    return run.put("select/subset", made, before + time.perf_counter() - start, file="subset.parquet")


def _searched(source: Source, request: Request, run: Run, engine: Engine) -> FoundSubset:
    """Search for the smallest subset within the tolerance."""
    whole, validation, reference = source, request.validation, f"all {len(source)} training examples"
    if validation is None:
        source, validation = hold_out(source, HELD_OUT, request.seed, ("train", "validation"))
        held = f"{len(validation)} of {len(whole)} were held out to measure on"
        reference = f"the {len(source)} training examples left after {held}"
    signals = _observe(source, request, run, engine)
    scores = _score(signals, request, run)
    given = _given(source, signals, scores)
    choosing = 0.0

    def timed(keep: float) -> Subset:
        nonlocal choosing
        start = time.perf_counter()
        subset = choose(signals, given, request, keep)
        soft = weighted_targets(source, signals, request, keep)
        choosing += time.perf_counter() - start
        return subset if soft is None else dataclasses.replace(subset, targets=soft)

    assert request.tolerance is not None
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
    subset = _kept(run, lambda: _found(whole, found, request), choosing)
    soft = None if subset.targets is None else weighted_targets(source, signals, request, len(subset) / len(source))
    return FoundSubset(subset, scores, signals, None if soft is None else _with_labels(soft, whole), None)


def _with_labels(soft: SoftLabels, whole: Source) -> SoftLabels:
    """Soft targets of all examples: the labels themselves where the search held out and nothing was observed."""
    seen = np.isin(whole.ids, soft.ids)
    if seen.all() or whole.labels is None:
        return soft
    labels = np.asarray(whole.labels)
    rows = np.eye(len(whole.classes))[labels] if whole.classes else labels.reshape(len(whole), -1).astype(np.float64)
    rows[seen] = soft.at(whole.ids[seen])
    return dataclasses.replace(soft, ids=whole.ids, values=rows, columns=None)


def _observe(
    source: Source, request: Request, run: Run, engine: Engine, arrival: Arrival | None = None
) -> Signals | None:
    """Record everything the method needs in one observation; None if it needs nothing."""
    needs = request.needs
    if request.signals is not None:
        return request.signals.take(source.ids)
    if not needs:
        return None
    embedded = None
    if source.task == "unlabelled" and "embeddings" in needs:
        model = "raw" if request.observer == "auto" else request.observer
        embedded = run.step(
            "observe/embeddings", Signals, lambda: embed(source, model, seed=request.seed), file="signals.safetensors"
        )
        needs = needs - {"embeddings"}
    want = wanted_signals(needs)
    if not want:
        return embedded
    keep_digests(source, run)
    if arrival is not None and embedded is None:
        return continued_signals(arrival, request, run, engine)
    seen = observe(
        source,
        request.observer,
        request.recipe,
        request.numbers,
        want,
        keep_networks=True,
        seed=request.seed,
        out=run,
        engine=engine,
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
    return bare(source)


def _found(whole: Source, found: Search, request: Request) -> Subset:
    """Return the subset found by a search, or everything, with the measurements as its certificate."""
    if found.subset is None:
        return Subset(
            whole.ids,
            certificate={"method": "everything", **found.certificate()},
            provenance=record("prune", dict(request.settings), {"source": whole.provenance}),
        )
    return dataclasses.replace(found.subset, certificate={**found.subset.certificate, **found.certificate()})
