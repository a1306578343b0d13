"""prune: observe, score and select, in a run that can be killed and resumed."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..artefacts import Scores, Signals, Source, Subset
from ..artefacts.selection_order import SelectionOrder
from ..core.code_digest import coded
from ..core.request import Observations, RunDirectory, Seed, request
from ..core.run import Run
from ..core.work_clock import begin, seconds_since
from ..engines import Engine, engine_of
from ..engines.named import Where
from ..evaluation.evaluate import Metric
from ..models.identity import Model
from ..selectors.balance import Balance
from ..selectors.select import Keep
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
from .continuation import KeptTrial, arrival_of, kept_trial, with_changes
from .found_subset import HELD_OUT, FoundSubset, codes_of, kept_subset
from .method_inputs import for_selector, observed_signals, scored
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
from .resolved_request import Request, request_of
from .selector_call import choose, order_of
from .tolerance_search import searched
from .unlabelled_features import features_said
from .veto import Untried, Veto

__all__ = ["HELD_OUT", "FoundSubset", "chosen_subset", "prune"]


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
    marks: Said = None,
    match_iterations: MatchIterations = 0.0,
    metric: Metric = None,
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
        Instead of `keep`: how much accuracy (or R2, or `metric`) may be lost against training on everything. Without
        `validation`, this is measured by 5 rotating folds: subsets of each fraction are found from four fifths of the
        source and measured on the rest, five times over. Returned is a subset found in the same way from all of it, at
        the smallest fraction that was shown to stay within the tolerance, or everything if none was.
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
        How to observe: the network, its training, and the number of trainings or their seeds. A torch module gives its
        architecture only; `wn.models.FineTune` starts from weights, `wn.models.Frozen` trains a linear head on fixed
        features. A scikit-learn estimator (or `sklearn:NAME`) observes itself, out of fold, and the subset has no soft
        targets, which it could not use.
        Without labels, the model gives the features; if none is named, a small network is trained on images without
        labels, and the certificate says what the features were.
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
    marks
        What a person said about single examples: the `marks.parquet` of `winnow view`, or what `marks=` of `wn.check`
        takes. Dropped examples and labels confirmed as wrong are left out, corrected labels replace the given ones,
        and examples to keep are in every subset.
    match_iterations
        How the trainings of the veto are matched, as in `evaluate`.
    metric
        What a tolerance and the veto are about, as in `evaluate`: such as `balanced_accuracy`.
    validation
        Data to measure a tolerance on. If not given, every example is measured in turn (see `tolerance`). If examples
        have times, or a class is too small for five folds, a fifth of the source is held out and is in no subset.
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


def chosen_subset(source: Source, request: Request, run: Run, engine: Engine) -> FoundSubset:
    """Return the requested subset of a source, with what it was chosen by."""
    if request.tolerance is not None:
        return searched(source, request, run, engine)
    arrival = None
    if request.base is not None:
        arrival = arrival_of(source, request.base, request.base.signals(request.numbers[0]))
    source = source if arrival is None else arrival.source
    signals = observed_signals(source, request, run, engine, arrival)
    scores = scored(signals, request, run)
    start = begin()
    soft = weighted_targets(source, signals, request, request.keep)
    making = seconds_since(start)
    given = for_selector(source, signals, scores)
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
        drawn = dataclasses.replace(drawn, certificate={**drawn.certificate, **features_said(signals)})
        return with_targets(drawn, soft, tried, request)

    def first() -> Subset:
        return made(0) if arrival is None else with_changes(made(0), arrival, run, tried)

    read = [given.fingerprint, getattr(signals, "fingerprint", None), getattr(soft, "fingerprint", None)]
    subset = kept_subset(run, first, making, [*read, tried is None or tried.holds, codes_of(request)])
    chosen_by = (signals, given, request) if plain is None else (None, bare(source), plain)
    _keep_order(run, subset, clean if plain is None else None, *chosen_by)
    return FoundSubset(subset, scores, signals, soft, made, all_but_suspects(source, signals))


def _keep_order(
    run: Run, subset: Subset, clean: Any, signals: Signals | None, given: Signals | Scores, request: Request
) -> None:
    """Store the order that the subset is the beginning of, if the method has one, as a step of the run."""
    key = coded(order_of, [subset.fingerprint, given.fingerprint])
    if run.path is None or run.get("select/order", SelectionOrder, key=key) is not None:
        return
    start = begin()
    pool = given if clean is None else given.take(clean)
    found = order_of(subset, None if signals is None else signals.take(pool.ids), pool, request)
    if found is not None:
        run.put("select/order", found, seconds_since(start), key=key, file="order.parquet")
