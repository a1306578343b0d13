"""What a pruning is asked for: checked, the method chosen and rehearsed before anything is trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..artefacts import Scores, Signals, Source, Subset
from ..core import checks, registry
from ..core.errors import InputError, NotDefinedError
from ..core.seeds import stream
from ..engines import Engine
from ..engines.local import describe as describe_engine
from ..evaluation.test_sets import exam
from ..models.identity import describe
from ..scores.score import score
from ..selectors.method_string import MethodParts, parse_method
from ..selectors.select import select
from ..signals.ensemble import BLOCK, memberships
from ..training.recipe import Recipe, recipe_of

__all__ = ["Chosen", "Request", "choose", "choose_method", "request_of", "settings_of"]


EARLY_STEPS = 50  # fewer optimiser steps than this and the network is still what it was at the start


@dataclass(frozen=True)
class Chosen:
    """A method, and in words why it was taken."""

    name: str
    why: str


def choose_method(task: str, keep: float | None, epochs: int = 30, early_steps: int = EARLY_STEPS) -> Chosen:
    """The method for `auto`: hard examples while much is kept, coverage when little is.

    Keeping the hardest collapses when little is kept (CIFAR-10 with a tenth kept falls far below random). What works
    there covers the whole range of difficulty: strata, and at a fifth or less, where the published results part, beta
    sampling by DUAL.

    Parameters
    ----------
    task
        The source's task.
    keep
        The fraction kept; None where it is still to be searched for, which may go anywhere.
    epochs
        Of the observation; DUAL needs a window of ten.
    early_steps
        Optimiser steps in the first tenth of it; early EL2N says nothing while the network has hardly moved.
    """
    much = keep is not None and keep >= 0.5
    share = "an unknown share" if keep is None else f"{keep:.0%}"
    if task == "regression":
        return Chosen(
            "difficulty+strata",
            "the target is a number: difficulty is the summed loss, and its strata are covered because the hardest "
            "may be noise",
        )
    if task == "unlabelled":
        return Chosen(
            "prototype" if much else "prototype+strata",
            "there are no labels: difficulty is the distance to the nearest prototype"
            + ("" if much else ", and all its strata are covered because little may be kept"),
        )
    if much and early_steps < EARLY_STEPS:
        return Chosen(
            "aum",
            f"{share} is kept: the hardest examples carry most; by the area under the margin, because a tenth of this "
            f"training is {early_steps} steps, too few for early EL2N",
        )
    if much:
        return Chosen(
            "el2n", f"{share} is kept: the hardest examples by early EL2N carry most, and enough easy ones stay"
        )
    if keep is not None and keep <= 0.2 and epochs >= 10:
        return Chosen(
            "dual+beta",
            f"{share} is kept: keeping only the hardest collapses there, and sampling by DUAL, weighted towards easier "
            "examples the less is kept, has the best published results at a fifth or less",
        )
    return Chosen(
        "aum+strata",
        f"{share} is kept: keeping only the hardest collapses there, so all strata of difficulty are covered and the "
        "hardest, often mislabelled, are dropped",
    )


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
    chosen = _auto(source, keep, how) if method == "auto" else Chosen(method, "asked for")
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


def _auto(source: Source, keep: float | None, recipe: Recipe) -> Chosen:
    early = max(1, round(0.1 * recipe.epochs)) * recipe.batches(len(source))
    return choose_method(source.task, keep, recipe.epochs, early)


def _plan(name: str, source: Source, tolerance: float | None, parameters: Mapping[str, Any]) -> MethodParts:
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


def _rehearse(source: Source, request: Request) -> None:
    """Score and select once on a few made-up signals: what cannot work is refused before anything is trained."""
    n, kinds = 60, min(5, max(2, len(source.classes)))
    rng = stream(0, "rehearsal")
    epochs = request.recipe.epochs
    shapes = {
        "logits": (2, epochs, n, kinds),
        "losses": (2, epochs, n),
        "embeddings": (n, 4),
        "gradients": (2, n, 4),
        "gradient_norms": (2, n),
    }
    arrays: dict[str, Any] = {name: rng.random(shape) for name, shape in shapes.items()}
    if source.task != "classification":
        arrays.pop("logits")
    else:
        member = memberships(n, BLOCK, 0)
        arrays |= {"ensemble_member": member, "ensemble_correct": member, "lpntk": rng.random((2, n, 4))}
    labels = {"classification": np.arange(n) % kinds, "regression": rng.random(n), "unlabelled": None}[source.task]
    classes = tuple(map(str, range(kinds))) if source.task == "classification" else ()
    signals = Signals(np.arange(n), arrays, source.task, labels, classes, tuple(range(1, epochs + 1)), epochs)
    scores = None if request.plan.score is None else score(request.plan.score, signals)
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
        **{**request.plan.parameters, **request.parameters},
    )
    about = {"method": request.method.name, "why": request.method.why}
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
