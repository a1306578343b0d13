"""The selector of a request, called at one fraction after another, with what a person wants to be kept."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from ..artefacts import Scores, Signals, Subset
from ..artefacts.selection_order import SelectionOrder
from ..core import checks
from ..core.errors import InputError
from ..core.parameter_names import of
from ..core.seeds import number as number_of
from ..selectors.select import select, selection_order

if TYPE_CHECKING:
    from .resolved_request import Request

__all__ = ["choose", "draw_seed", "order_of"]


def choose(
    signals: Signals | None,
    given: Signals | Scores,
    request: Request,
    keep: float | None,
    draw: int = 0,
    size: int | None = None,
) -> Subset:
    """Run the selector of the request at one fraction; each number of the draw gives another subset, if it draws.

    What a person wants to be kept is in every subset, with weight 1; the selector chooses the rest from the others.
    """
    always = request.always(given.ids)
    total = None if not always.any() else checks.size_from("prune", len(given), None if size else keep, size)
    if total is not None:
        kept, others = given.ids[always], given.ids[~always]
        if total <= kept.size or not others.size:
            raise InputError(
                f"{of('keep', 'prune')} must leave room beside the {kept.size} examples marked to be kept."
            )
        keep, size, given = None, min(total - kept.size, others.size), given.take(others)
        signals = None if signals is None else signals.take(others)
    subset = select(
        request.plan.selector,
        given,
        keep=keep,
        size=size,
        balance=request.balance,
        seed=draw_seed(request.seed, draw),
        signals=signals if isinstance(given, Scores) else None,
        **request.plan.parameters,
    )
    if total is not None:
        subset = dataclasses.replace(
            subset,
            ids=np.concatenate([subset.ids, kept]),
            weights=np.concatenate([subset.weights, np.ones(kept.size)]),
            certificate={**subset.certificate, "always_kept": int(kept.size), "size": int(kept.size) + len(subset)},
        )
    about = {"method": request.method.name, "why": request.method.why, **request.plan.stated()}
    if request.fits:
        about["targets"] = "labels, because an estimator is not fitted to soft targets"
    return dataclasses.replace(subset, certificate={**about, **subset.certificate})


def order_of(
    subset: Subset, signals: Signals | None, given: Signals | Scores, request: Request
) -> SelectionOrder | None:
    """The order that a subset is the beginning of, for whoever asks about another fraction; None if there is none."""
    free = given.ids[~request.always(given.ids)]
    made = selection_order(
        request.plan.selector,
        given.take(free),
        min(len(subset), free.size),
        balance=request.balance,
        seed=request.seed,
        signals=signals.take(free) if isinstance(given, Scores) and signals is not None else None,
        **request.plan.parameters,
    )
    return None if made is None else dataclasses.replace(made, method=request.method.name)


def draw_seed(seed: int, draw: int) -> int:
    """Return the seed of a draw; the first one has the seed of the request."""
    return seed if draw == 0 else number_of(seed, "draw", draw)
