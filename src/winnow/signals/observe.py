"""observe: train a model and record what it does with each example.

Ten scores cost one observation: everything in `want` is recorded in the same trainings. Each seed, and each model of an
ensemble, is a separate step: saved when finished, and run in parallel by the engine. `observe_run` is the same for
`winnow observe`, which adds to what a run directory holds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch

from ..artefacts import Signals, Source, record
from ..core import checks, registry
from ..core.code_digest import code_digest
from ..core.errors import InputError, NotDefinedError
from ..core.files import fingerprint
from ..core.parameter_names import of
from ..core.request import Observations, Parameter, RunDirectory, Seed, VerbRequest, choice, request, whole
from ..core.run import Run
from ..core.seeds import several
from ..engines.named import Where
from ..models import build, choose
from ..models.frozen import Frozen
from ..models.identity import Model, is_estimator, network_code
from ..models.representation import representation
from ..sources.openable import Data
from ..training import hold
from ..training.recipe import How
from ..training.staged_estimators import STAGES
from .continued_training import NETWORKS
from .embed import embed
from .embedded_source import embedded_source
from .ensemble import memberships
from .estimator_signals import check_observed
from .frozen_features import featured
from .observation import Observation, new_network
from .observed_trainings import observed

__all__ = ["FILE", "Mode", "Want", "observation_of", "observe", "observe_run"]

Want = Annotated[
    str | Iterable[str] | None,
    Parameter(
        "A signal to record, such as dynamics; winnow methods lists them. May be given several times.",
        plain=None,
        kind=list[str] | None,
    ),
]
Mode = Annotated[
    str,
    choice(
        "Record in a pass after each epoch (eval) or during training (train); auto makes a pass for logits and losses",
        ("auto", "eval", "train"),
    ),
]
GradientEpoch = Annotated[
    int | None, Parameter("Epoch after which gradients are taken; a tenth of the training if not given.")
]
GradientDim = Annotated[int, whole("Length of a projected gradient.", low=1)]
Ensemble = Annotated[int, Parameter("Number of models of the ensemble, a multiple of ten.")]
Folds = Annotated[int, whole("Number of folds, for out-of-fold predictions.", low=2)]
Groups = Annotated[
    Any,
    Parameter(
        "A group per example, as long as the source; a group is in one fold.",
        plain=lambda value: _digest(value),
        option=None,
    ),
]
Layer = Annotated[
    str | None, Parameter("Layer to take embeddings from; what enters the classification head if not given.")
]
Embeddings = Annotated[Any, Parameter("", plain=None, option=None)]
KeepNetworks = Annotated[bool, Parameter("", plain=None, option=None)]
FILE = "signals.safetensors"


def observe(
    source: Data,
    model: Model = "auto",
    recipe: How = None,
    seeds: Observations = 1,
    want: Want = None,
    *,
    mode: Mode = "auto",
    gradient_epoch: GradientEpoch = None,
    gradient_dim: GradientDim = 512,
    ensemble: Ensemble = 10,
    layer: Layer = None,
    folds: Folds = 5,
    groups: Groups = None,
    embeddings: Embeddings = None,
    keep_networks: KeepNetworks = False,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    **opening: Any,
) -> Signals:
    """Train on a source and record what each example does.

    Parameters
    ----------
    source
        The examples: a Source, or anything that `wn.open` takes.
    model
        Name of a network, a torch module (only its architecture; weights are initialised anew for each seed) or a
        function that returns one; `wn.models.FineTune` to start from weights, or `wn.models.Frozen` to train a linear
        head on fixed features. Also a scikit-learn estimator, or its name as `sklearn:NAME`: it gives `oof`, and
        dynamics from the stages of boosting or of `partial_fit`, or else from its out-of-fold predictions.
    recipe
        How to train.
    seeds
        Number of trainings, or their seeds.
    want
        Names of registered signals, such as `logits` or `embeddings`; `winnow methods` lists them. If not
        given, `dynamics`: loss, probability of the label, margin, correctness and EL2N per epoch.
    mode
        `eval` records all examples after each epoch, in eval mode and without augmentation, which costs a forward pass;
        `train` keeps the outputs that training computes anyway. `auto` is `eval` if `logits` or `losses` are wanted,
        and otherwise `train`.
    gradient_epoch
        After which epoch gradients are taken; a tenth of the training if not given.
    gradient_dim
        Length of a projected gradient or lpNTK feature.
    ensemble
        Number of models on random 70 % subsets, a multiple of ten.
    layer
        Layer to take embeddings from; what enters the classification head if not given, as for `wn.embed`.
    folds
        Number of folds of the signal `oof`, each predicted by a network trained on the others.
    groups
        A number or word per example, in the order of the source: those of one group, such as near-duplicates or the
        pictures of one patient, are in the same fold.
    embeddings
        Train on these instead of the examples themselves: Signals with embeddings, as `wn.embed` gives, or an array
        with one row per example. With the model `linear` this is a linear head, the cheapest observer.
    keep_networks
        Whether each network is kept in the run directory as it is after a quarter of its epochs, so that a later
        `prune(base=)` can go on from there.
    seed
        Seed of everything random, together with `seeds`.
    out
        A run directory, where finished steps are kept.
    engine
        Where trainings run.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Signals
        The requested arrays, one row per example, in the order of the source.

    Raises
    ------
    InputError
        If a parameter has an invalid value, or the network does not fit the examples.
    NotDefinedError
        If there are no labels to train on, or a signal is not defined for the task.
    DivergedError
        If the outputs of a training are no longer finite.

    Examples
    --------
    >>> import winnow as wn
    >>> signals = wn.observe("digits", "mlp", wn.Recipe(epochs=2), limit=100)
    >>> signals.array("margins").shape  # seeds, epochs, examples
    (1, 2, 100)
    """
    asked = request(observe, locals())
    source, runner = asked.source, asked.engine
    seen = source if embeddings is None else embedded_source(source, embeddings, "observe")
    if isinstance(model, Frozen):
        if embeddings is not None:
            raise InputError("embeddings of observe cannot be given with a Frozen model, which computes its own.")
        seen = featured("observe", source, {}, model, asked.recipe)[0]
        changed: dict[str, Any] = {"model": "linear"}
        asked = dataclasses.replace(asked, **changed)
    what = observation_of(asked, seen)
    numbers = several("observe", seeds)
    settings = {**asked.settings(), **what.settings()}
    if isinstance(model, Frozen):
        settings["model"] = model.describe()
    inputs: dict[str, Any] = {"source": source.provenance}
    if embeddings is not None:
        settings["embeddings"] = seen.fingerprint
        inputs["embeddings"] = embeddings.provenance if isinstance(embeddings, Signals) else {"step": "given"}
    del settings["seeds"]  # more seeds are added to a run
    with Run.opened(out, {"command": "observe", **settings}) as run:
        held = hold(seen)
        key = [seen.fingerprint, settings, network_code(what.model)]
        together = None if groups is None else np.asarray(groups)
        networks = str(run.path / run.folder / NETWORKS) if keep_networks and run.path is not None else None
        found = observed(held, what, numbers, run, runner, key, together, networks)
    if "embeddings" in found:
        settings["taken"] = _taken(seen, what)
    provenance = record("observe", {**settings, "seeds": numbers}, inputs)
    return dataclasses.replace(found.take(source.ids), provenance=provenance)


def _taken(source: Source, what: Observation) -> dict[str, Any]:
    """Return which numbers of the network are the embeddings."""
    dtype = torch.int64 if source.kind == "text" else torch.float32
    return representation(
        new_network(source, what, "taken"), torch.zeros(2, *source.shape, dtype=dtype), what.layer
    ).about()


def _digest(groups: Any) -> str:
    return fingerprint("\n".join(map(str, np.asarray(groups).tolist())).encode())


def observation_of(asked: VerbRequest, source: Source) -> Observation:
    """Return what to record; raise if it cannot be recorded from this source."""
    recipe, want = asked.recipe, asked.want
    if want is None:
        want = ("dynamics",)
    words = (want,) if isinstance(want, str) or not isinstance(want, Iterable) else tuple(want)
    known = {entry.name: entry for entry in registry.listing("signal")}
    for word in words:
        checks.choice("want", "observe", word, tuple(known))
    if not words:
        raise InputError(f"{of('want', 'observe')} must name at least one of {', '.join(known)}.")
    if source.task == "unlabelled" and any(known[word].when != "data" for word in words):
        raise NotDefinedError(
            f"observe trains on labels, and source {source.name!r} has none; "
            "wn.embed(source, model) gives signals without labels."
        )
    for word in words:
        kinds = known[word].examples
        if kinds and source.kind not in kinds:
            raise NotDefinedError(
                f"{word} of {of('want', 'observe')} is defined for {' and '.join(sorted(kinds))}, and source "
                f"{source.name!r} holds a {source.kind}."
            )
    for word in words:
        if source.task not in known[word].tasks:
            others = [entry.name for entry in known.values() if source.task in entry.tasks]
            raise NotDefinedError(
                f"{word} of {of('want', 'observe')} is defined for {' and '.join(sorted(known[word].tasks))}, and "
                f"source {source.name!r} is {source.task}; observe any of {', '.join(others)}."
            )
    if source.task == "multilabel" and (np.ptp(np.asarray(source.labels), axis=0) == 0).all():
        raise InputError(
            f"observe needs a label that some examples of source {source.name!r} have and others do not; got none."
        )
    if source.task == "classification" and len(set(source.labels if source.labels is not None else [])) < 2:
        raise InputError(f"observe needs at least two classes among the examples of source {source.name!r}; got one.")
    epoch = max(1, round(0.1 * recipe.epochs)) if asked.gradient_epoch is None else asked.gradient_epoch
    checks.integer("gradient_epoch", "observe", epoch, low=1, high=recipe.epochs)
    if any(known[word].when == "ensemble" for word in words):
        memberships(source.ids, asked.ensemble, asked.seed)
    network = model = asked.model
    if any(known[word].when != "data" for word in words):
        auto = isinstance(model, str) and model == "auto"
        network = choose(source.shape, source.kind, source.outputs) if auto else model
        if is_estimator(network):
            check_observed(source, network, words, recipe)
            stages = dataclasses.replace(recipe, epochs=STAGES)
            return Observation(network, stages, words, "eval", epoch, 0, 0, None, asked.seed, asked.folds)
        build(
            network, classes=source.outputs, shape=source.shape, kind=source.kind
        )  # raises before any training if it does not fit
    passes = any(known[word].when == "training" and known[word].cost_of({}).time != "once" for word in words)
    mode = asked.mode if asked.mode != "auto" else "eval" if passes else "train"
    return Observation(
        network, recipe, words, mode, epoch, asked.gradient_dim, asked.ensemble, asked.layer, asked.seed, asked.folds
    )


def observe_run(
    source: Data,
    out: str | Path,
    *,
    want: Want = None,
    model: Model = "auto",
    recipe: How = None,
    seeds: Observations = 1,
    mode: Mode = "auto",
    seed: Seed = 0,
    engine: Where = None,
    **opening: Any,
) -> Signals:
    """Observe into a run directory and keep everything there as `signals.safetensors`.

    A later call with the same model and recipe adds to the file; an array that is observed again replaces the old one.

    Parameters
    ----------
    source, want, model, recipe, seeds, mode, seed, engine, **opening
        As for `observe`. Without `want`: dynamics, or embeddings without labels.
    out
        The run directory.
    """
    asked = request(observe_run, locals(), "observe")
    source = asked.source
    wanted = tuple(want or (("embeddings",) if source.task == "unlabelled" else ("dynamics",)))
    growing = ("seeds", "engine")  # may differ between calls
    settings = {name: value for name, value in asked.settings().items() if name not in growing}
    settings = {"command": "observe", **settings}
    with Run.opened(out, settings, extend=False) as run:

        def make() -> Signals:
            if source.task == "unlabelled" and wanted == ("embeddings",):
                made = embed(source, "raw" if isinstance(model, str) and model == "auto" else model, seed=seed)
            else:
                made = observe(source, model, recipe, seeds, wanted, mode=mode, seed=seed, out=run, engine=engine)
            kept = run.earlier("observe", Signals, code)
            return made if kept is None else kept.merge(made)

        # What was observed before is kept beside it, unless something has changed that may have decided it.
        code = [
            code_digest(observe),
            network_code(_chosen(model, source)),
            [e.code for e in registry.listing("signal")],
        ]
        key = [settings, seeds, list(wanted), code[1:]]
        return run.step("observe", Signals, make, key=key, file=FILE, code=code)


def _chosen(model: Any, source: Source) -> Any:
    """The network that `auto` stands for; any other as it is."""
    auto = isinstance(model, str) and model == "auto"
    return choose(source.shape, source.kind, source.outputs) if auto else model
