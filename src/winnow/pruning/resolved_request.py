"""The request of a pruning, with its method chosen and rehearsed before anything is trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ..artefacts import Scores, Signals, Source, Subset
from ..core.errors import InputError, NotDefinedError
from ..core.parameter_names import argument, of
from ..core.request import Parameter, VerbRequest, number
from ..core.seeds import several
from ..evaluation.test_sets import exam
from ..scores.score import score
from ..selectors.balance import share_of
from ..selectors.method_string import MethodParts, parse_method, with_parameters
from ..selectors.select import select
from ..sources.openable import opened_like
from ..training.recipe import Recipe
from .auto import Chosen, automatic
from .rehearsal import made_up_signals

__all__ = ["MethodName", "Request", "Tolerance", "choose", "request_of"]

Tolerance = Annotated[
    float | None,
    number("Instead of --keep: how much accuracy may be lost.", low=0, high=1, open_low=True, open_high=True),
]
MethodName = Annotated[
    str, Parameter("A score, a selector or score+selector, with parameters as in el2n(epoch=3); or auto.")
]


@dataclass(frozen=True)
class Request:
    """The request of a pruning, with method and balance resolved."""

    source: Source
    validation: Source | None
    keep: float | None
    tolerance: float | None
    method: Chosen
    plan: MethodParts
    balance: float | None
    model: Any
    recipe: Recipe
    seeds: int
    numbers: Sequence[int]  # the seeds themselves
    seed: int
    parameters: Mapping[str, Any]
    settings: Mapping[str, Any]  # all of this as plain values, for provenance and the run directory


def request_of(asked: VerbRequest) -> Request:
    """Resolve the method of a request of `prune` or `prune_with_proof`, and rehearse it."""
    source, keep, tolerance = asked.source, asked.keep, asked.tolerance
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
    chosen = automatic(source, keep, asked.recipe) if auto else Chosen(asked.method, "asked for")
    plan = _plan(chosen.name, source, asked.parameters)
    balance = share_of(asked.balance, source.task)
    validation = None
    if asked.validation is not None:
        validation = exam("validation", "prune", source, opened_like(asked, "validation", asked.validation))
    numbers = several("prune", asked.seeds)
    settings = {
        **asked.settings(),
        "validation": None if validation is None else validation.fingerprint,
        "method": chosen.name,
        "balance": balance,
    }
    request = Request(
        method=chosen,
        plan=plan,
        balance=balance,
        validation=validation,
        seeds=len(numbers),
        numbers=numbers,
        settings=settings,
        **{name: getattr(asked, name) for name in (*TAKEN, "parameters")},
    )
    _rehearse(source, request)
    return request


TAKEN = ("source", "keep", "tolerance", "model", "recipe", "seed")  # taken over unchanged


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


def choose(signals: Signals | None, given: Signals | Scores, request: Request, keep: float | None) -> Subset:
    """Run the selector of the request at one fraction."""
    subset = select(
        request.plan.selector,
        given,
        keep=keep,
        balance=request.balance,
        seed=request.seed,
        signals=signals if isinstance(given, Scores) else None,
        **request.plan.parameters,
    )
    about = {"method": request.method.name, "why": request.method.why, **request.plan.stated()}
    return dataclasses.replace(subset, certificate={**about, **subset.certificate})
