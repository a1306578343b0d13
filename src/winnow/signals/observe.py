"""observe: train a model a few times and write down what it did with each example.

Ten scores cost one observation: everything `want`ed is recorded in the same trainings. Each seed (and each
model of an ensemble) is a step of its own: kept when finished, made side by side by the engine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..artefacts import Signals, Source, record
from ..core import checks, registry
from ..core.errors import InputError, NotDefinedError
from ..core.run import Run
from ..core.seeds import several
from ..engines import Engine, engine_of
from ..engines.local import describe as describe_engine
from ..models import build, choose
from ..training import Recipe, hold
from ..training.recipe import recipe_of
from .ensemble import memberships
from .observation import Observation
from .observation_jobs import observed

__all__ = ["observe"]


def observe(
    source: Source,
    model: Any = "auto",
    recipe: Recipe | None = None,
    seeds: int | Sequence[int] = 3,
    want: str | Iterable[str] | None = None,
    *,
    mode: str = "eval",
    gradient_epoch: int | None = None,
    gradient_dim: int = 512,
    ensemble: int = 10,
    layer: str | None = None,
    seed: int = 0,
    out: Run | str | Path | None = None,
    engine: Engine | None = None,
) -> Signals:
    """Train on a source and record what each example does.

    Parameters
    ----------
    source
        The examples.
    model
        Name of a network, a torch module (its architecture; weights are drawn afresh for each seed) or a
        function that makes one.
    recipe
        How to train.
    seeds
        How many trainings, or their seeds.
    want
        Names of registered signals, such as `logits` or `embeddings`; `winnow methods` lists them. None is `logits`,
        or `losses` for a regression target.
    mode
        `eval` looks at all examples after each epoch, in eval mode, without augmentation, at the price of a
        forward pass; `train` keeps the outputs that training computes anyway.
    gradient_epoch
        After which epoch gradients are taken; a tenth of the training unless given.
    gradient_dim
        Length of a projected gradient or lpNTK feature.
    ensemble
        How many models on random 70 % subsets, a multiple of ten.
    layer
        Layer to take embeddings from; what enters the last linear layer unless given.
    seed
        Decides everything random together with `seeds`.
    out
        A run directory to keep finished steps in.
    engine
        Where trainings run.
    """
    what = _checked(
        source, model, recipe_of("observe", recipe), want, mode, gradient_epoch, gradient_dim, ensemble, layer, seed
    )
    numbers = several("observe", seeds)
    runner = engine_of("observe", engine)
    settings = {**what.settings(), **describe_engine(runner)}
    with Run.opened(out, {"command": "observe", "source": source.fingerprint, **settings}) as run:
        held = hold(source)
        key = [source.fingerprint, settings]
        found = observed(held, what, numbers, run, runner, key)
    provenance = record("observe", {**settings, "seeds": numbers}, {"source": source.provenance})
    return dataclasses.replace(found.take(source.ids), provenance=provenance)


def _checked(
    source: Source,
    model: Any,
    recipe: Recipe,
    want: str | Iterable[str] | None,
    mode: str,
    gradient_epoch: int | None,
    gradient_dim: int,
    ensemble: int,
    layer: str | None,
    seed: int,
) -> Observation:
    if not isinstance(source, Source):
        raise InputError(f"source of observe must be a Source (open it with wn.open); got {type(source).__name__}.")
    if want is None:
        want = ("losses",) if source.task == "regression" else ("logits",)
    words = (want,) if isinstance(want, str) or not isinstance(want, Iterable) else tuple(want)
    known = {entry.name: entry for entry in registry.listing("signal")}
    for word in words:
        checks.choice("want", "observe", word, tuple(known))
    if not words:
        raise InputError(f"want of observe must name at least one of {', '.join(known)}.")
    if source.task == "unlabelled" and any(known[word].when != "data" for word in words):
        raise NotDefinedError(
            f"observe trains on labels, and source {source.name!r} has none; "
            "wn.embed(source, model) gives signals without labels."
        )
    for word in words:
        if source.task not in known[word].tasks:
            others = [entry.name for entry in known.values() if source.task in entry.tasks]
            raise NotDefinedError(
                f"{word} of want of observe is defined for {' and '.join(sorted(known[word].tasks))}, and source "
                f"{source.name!r} is {source.task}; observe any of {', '.join(others)}."
            )
    if source.task == "classification" and len(set(source.labels if source.labels is not None else [])) < 2:
        raise InputError(f"observe needs at least two classes among the examples of source {source.name!r}; got one.")
    checks.choice("mode", "observe", mode, ("eval", "train"))
    epoch = max(1, round(0.1 * recipe.epochs)) if gradient_epoch is None else gradient_epoch
    checks.integer("gradient_epoch", "observe", epoch, low=1, high=recipe.epochs)
    checks.integer("gradient_dim", "observe", gradient_dim, low=1)
    if any(known[word].when == "ensemble" for word in words):
        memberships(len(source), ensemble, seed)
    network = model
    if any(known[word].when != "data" for word in words):
        auto = isinstance(model, str) and model == "auto"
        network = choose(source.shape, source.kind, source.outputs) if auto else model
        build(network, classes=source.outputs, shape=source.shape)  # refused before any training if it does not fit
    return Observation(network, recipe, words, mode, epoch, gradient_dim, ensemble, layer, seed)
