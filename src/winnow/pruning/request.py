"""What a pruning is asked for: checked, the method chosen and rehearsed before anything is trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..artefacts import Scores, Signals, Source, Subset
from ..core import checks
from ..core.errors import InputError, NotDefinedError
from ..engines import Engine
from ..engines.local import describe as describe_engine
from ..evaluation.test_sets import exam
from ..models.identity import describe
from ..scores.score import score
from ..selectors.method_string import MethodParts, parse_method, with_parameters
from ..selectors.select import select
from ..training.recipe import Recipe, recipe_of
from .auto import Chosen, automatic
from .rehearsal import made_up_signals

__all__ = ["Request", "choose", "request_of", "settings_of"]


@dataclass(frozen=True)
class Request:
    """What a pruning was asked for, checked."""

    keep: float | None
    tolerance: float | None
    method: Chosen
    plan: MethodParts
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


def request_of(
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
    """Check what was asked, choose the method, and rehearse it."""
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
    how = recipe_of("prune", recipe)
    chosen = automatic(source, keep, how) if method == "auto" else Chosen(method, "asked for")
    plan = _plan(chosen.name, source, tolerance, parameters)
    if balance == "auto":
        balance = 0.5 if source.task == "classification" else None
    if balance is not None:
        balance = checks.number("balance", "prune", balance, low=0, high=1)
    checks.integer("seeds", "prune", seeds, low=1)
    checks.integer("seed", "prune", seed, low=0)
    request = Request(keep, tolerance, chosen, plan, balance, model, how, seeds, seed, parameters)
    _rehearse(source, request)
    return request


def _plan(name: str, source: Source, tolerance: float | None, parameters: Mapping[str, Any]) -> MethodParts:
    """The method taken apart, refused before anything is trained if it cannot work on this source."""
    plan = with_parameters(parse_method(name), parameters)
    for found in reversed(plan.methods.values()):
        if source.task not in found.tasks:
            raise NotDefinedError(
                f"{found.kind} {found.name!r} of method {name!r} is defined for {' and '.join(sorted(found.tasks))}, "
                f"and source {source.name!r} is {source.task}."
            )
    if tolerance is not None and source.task == "unlabelled":
        raise NotDefinedError(
            f"tolerance of prune is measured by training on labels, and source {source.name!r} has none; give keep=."
        )
    return plan


def _rehearse(source: Source, request: Request) -> None:
    """Score and select once on a few made-up signals: what cannot work is refused before anything is trained."""
    signals = made_up_signals(source, request.recipe.epochs)
    scores = None if request.plan.score is None else score(request.plan.score, signals, **request.plan.score_parameters)
    choose(signals, signals if scores is None else scores, request, request.keep or 0.5)


def choose(signals: Signals | None, given: Signals | Scores, request: Request, keep: float | None) -> Subset:
    """Run the request's selector at one fraction."""
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


def settings_of(
    command: str, source: Source, validation: Source | None, request: Request, engine: Engine
) -> dict[str, Any]:
    """What a run directory was asked for: everything that the subset depends on."""
    return {
        "command": command,
        "source": source.fingerprint,
        "validation": None if validation is None else exam("validation", "prune", source, validation).fingerprint,
        **request.settings(),
        **describe_engine(engine),
    }
