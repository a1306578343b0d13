"""The request of a pruning, with its method chosen and rehearsed before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals, Source
from ..artefacts.class_metrics import metric_of
from ..artefacts.decisions import Decision, decided_source
from ..artefacts.plan import Plan
from ..core import registry
from ..core.errors import InputError, NotDefinedError
from ..core.files import fingerprint
from ..core.parameter_names import argument, of
from ..core.request import VerbRequest
from ..core.seeds import several
from ..evaluation.test_sets import exam
from ..models.identity import is_estimator
from ..scores.score import score
from ..selectors.balance import class_counts, share_of
from ..selectors.method_string import MethodParts, parse_method, with_parameters
from ..sources.openable import opened_like
from ..training.estimators import check as check_estimator
from ..training.recipe import Recipe
from .auto import Chosen, automatic
from .base_run import BaseRun, check_base
from .earlier_plan import earlier_differences
from .rehearsal import made_up_signals
from .selector_call import choose

__all__ = ["Request", "request_of", "wanted_signals"]

EVEN = ("balanced_accuracy", "macro_f1")  # metrics in which every class counts alike


@dataclass(frozen=True)
class Request:
    """The request of a pruning, with method and balance resolved."""

    source: Source
    validation: Source | None
    keep: float | None
    tolerance: float | None
    asked: str  # the method as asked for
    method: Chosen
    plan: MethodParts
    balance: float | None
    model: Any
    observer: Any  # the network that is observed and that tries the candidate
    signals: Signals | None  # recorded already
    soft: bool  # whether the subset gets soft targets
    pairs: int | None  # pairs of trainings of the veto; None if auto decides, 0 for none
    earlier: tuple[float, ...]  # differences of candidate and random in the pilot of a plan
    pilot: Plan | None  # that plan
    base: BaseRun | None  # the run it goes on from
    keep_suspects: bool  # whether likely wrong labels may be chosen
    match_iterations: float
    recipe: Recipe
    seeds: int
    numbers: Sequence[int]  # the seeds themselves
    seed: int
    parameters: Mapping[str, Any]
    settings: Mapping[str, Any]  # all of this as plain values, for provenance and the run directory
    said: Mapping[str, Decision] = field(default_factory=dict)  # what a person said, by id as text
    metric: str = "accuracy"  # what a tolerance and the veto are about

    def always(self, ids: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these examples a person wants to be in every subset."""
        return _among(ids, [id for id, one in self.said.items() if one.choice == "keep"])

    def trusted(self, ids: NDArray[Any]) -> NDArray[np.bool_]:
        """Whose labels a person said to be right or corrected, or whom to keep in any case."""
        sure = [id for id, one in self.said.items() if one.choice == "keep" or one.correction or one.verdict]
        return _among(ids, sure)

    @property
    def fits(self) -> bool:
        """Whether the subset is for a scikit-learn estimator."""
        return is_estimator(self.model)

    @property
    def needs(self) -> frozenset[str]:
        """The arrays to observe: for the method, for soft targets and to leave out suspects, and for quotas."""
        needs, classified = self.plan.needs, self.source.task == "classification"
        if needs and self.asked == "auto" and is_estimator(self.observer):
            # An estimator may know by heart what it was fitted to: what counts is what it says out of fold.
            needs = needs | {"oof", "predictions"} | ({"margins"} if classified else set())
        if self.source.task == "regression":
            needs = needs - {"logits"}
        if self.soft:
            needs = needs | {"predictions"} | ({"margins"} if classified else set())
        if self.balance is not None and not self.source.classes:
            needs = needs | {"embeddings"}
        return frozenset(needs)

    @property
    def want(self) -> tuple[str, ...]:
        """The signals that record these arrays."""
        return wanted_signals(self.needs)


def _among(ids: NDArray[Any], names: Sequence[str]) -> NDArray[np.bool_]:
    return np.isin(ids.astype(np.str_), names) if names else np.zeros(ids.size, dtype=bool)


def wanted_signals(needs: Iterable[str]) -> tuple[str, ...]:
    """Names of the signals to observe for these arrays."""
    return tuple(sorted({entry.name for entry in map(registry.signal_of, needs) if entry is not None}))


def request_of(asked: VerbRequest) -> Request:
    """Resolve the method of a request of `prune` or `prune_with_proof`, and rehearse it."""
    said: Mapping[str, Decision] = asked.marks or {}
    source, keep, tolerance = decided_source(asked.source, said, "prune"), asked.keep, asked.tolerance
    if (keep is None) == (tolerance is None):
        either = f"{argument('keep', 'prune')} (a fraction in (0, 1]) and {argument('tolerance', 'prune')}"
        got = "neither" if keep is None else "both"
        raise InputError(f"prune needs exactly one of {either} (a loss in (0, 1)); got {got}.")
    if tolerance is not None and source.task == "unlabelled":
        raise NotDefinedError(
            f"{of('tolerance', 'prune')} is measured by training on labels, and source {source.name!r} has none; "
            f"give {argument('keep', 'prune')}."
        )
    auto = asked.method == "auto"
    chosen = automatic(source, keep) if auto else Chosen(asked.method, "asked for")
    plan = _plan(chosen.name, source, asked.parameters)
    metric = metric_of(source.task, asked.metric, "prune") if source.task != "unlabelled" else "accuracy"
    # Where all classes count alike, so do they in the subset.
    counted = None if metric in EVEN else class_counts(source)
    balance = share_of(asked.balance, source.task, counted)
    validation = None
    if asked.validation is not None:
        validation = exam("validation", "prune", source, opened_like(asked, "validation", asked.validation))
    numbers = several("prune", asked.seeds)
    labelled = source.task != "unlabelled"
    fits = is_estimator(asked.model)
    soft = labelled and not fits and (asked.targets == "soft" or (asked.targets == "auto" and auto))
    _check_estimators(asked)
    if asked.targets == "soft" and not labelled:
        raise NotDefinedError(
            f"{of('targets', 'prune')} come from a trained network; source {source.name!r} has no labels to train on."
        )
    if asked.signals is not None:
        _fits(source, asked.signals)
    settings = {
        **asked.settings(),
        "validation": None if validation is None else validation.fingerprint,
        "method": chosen.name,
        "balance": balance,
        **({} if asked.plan is None else {"plan": fingerprint(asked.plan.entries())}),
    }
    request = Request(
        source=source,
        said=said,
        asked=asked.method,
        method=chosen,
        plan=plan,
        balance=balance,
        validation=validation,
        observer=asked.model if asked.observer is None else asked.observer,
        soft=soft,
        pairs=asked.veto if auto and labelled and keep is not None and keep < 1 else 0,
        earlier=earlier_differences(asked, chosen.name),
        pilot=asked.plan,
        seeds=len(numbers),
        numbers=numbers,
        settings=settings,
        metric=metric,
        **{name: getattr(asked, name) for name in (*TAKEN, "parameters")},
    )
    if asked.base is not None:
        check_base(asked, numbers, request.want)
    _rehearse(source, request)
    return request


def _check_estimators(asked: VerbRequest) -> None:
    """Raise if the model or the observer is an estimator that does not fit the source or the request."""
    for model in filter(is_estimator, (asked.model, asked.observer)):
        if asked.source.task == "unlabelled":
            raise NotDefinedError(
                f"{of('model', 'prune')} is fitted to labels, and source {asked.source.name!r} has none."
            )
        how: dict[str, Any] = {"recipe": None, "match_iterations": 0.0}
        if model is asked.model:
            how = {"recipe": asked.recipe, "match_iterations": asked.match_iterations}
        check_estimator(asked.source, model, **how, by_weight=False, owner="prune")
    if is_estimator(asked.model) and asked.targets == "soft":
        raise InputError(
            f"{of('targets', 'prune')} must be labels or auto for an estimator, which is fitted to labels."
        )


TAKEN = (  # unchanged
    "keep",
    "tolerance",
    "model",
    "recipe",
    "seed",
    "signals",
    "base",
    "keep_suspects",
    "match_iterations",
)


def _fits(source: Source, signals: Signals) -> None:
    """Raise if signals recorded elsewhere are not of these examples."""
    missing = np.isin(source.ids, signals.ids, invert=True)
    if missing.any():
        raise InputError(
            f"{of('signals', 'prune')} must hold every example of source {source.name!r}; {int(missing.sum())} are "
            f"missing, the first is {source.ids[missing][0]!r}. Give the Recorder the ids: ids=source.ids."
        )
    if signals.task != source.task and signals.task != "unlabelled":
        raise InputError(
            f"{of('signals', 'prune')} must be of the task of source {source.name!r}, {source.task}; got "
            f"{signals.task}."
        )
    if signals.task == source.task and sorted(signals.classes) != sorted(source.classes):
        raise InputError(
            f"{of('signals', 'prune')} must have the classes of source {source.name!r}, by the same names; got "
            f"{', '.join(signals.classes[:3])} and so on, not {', '.join(source.classes[:3])}. Give the Recorder the "
            "names, in the order of your class numbers: class_names=source.classes."
        )


def _plan(name: str, source: Source, parameters: Mapping[str, Any]) -> MethodParts:
    """Parse the method; raise before anything is trained if it cannot work on this source."""
    plan = with_parameters(parse_method(name), parameters)
    for found in reversed(plan.methods.values()):
        if source.task not in found.tasks:
            raise NotDefinedError(
                f"{found.kind} {found.name!r} of method {name!r} is defined for {' and '.join(sorted(found.tasks))}, "
                f"and source {source.name!r} is {source.task}."
            )
    return plan


def _rehearse(source: Source, request: Request) -> None:
    """Score and select once on a few made-up signals, so that what cannot work fails before any training."""
    signals = made_up_signals(source, request.recipe.epochs)
    scores = None if request.plan.score is None else score(request.plan.score, signals, **request.plan.score_parameters)
    choose(signals, signals if scores is None else scores, request, request.keep or 0.5)
