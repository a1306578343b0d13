"""embed: representations of examples by any network, trained or not, with or without labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..artefacts import Signals, Source, record
from ..core import checks
from ..core.code_digest import code_digest
from ..core.errors import InputError
from ..core.files import fingerprint
from ..core.request import RunDirectory, Seed, request
from ..core.run import Run
from ..models import build
from ..models.frozen import PENULTIMATE, Frozen, state_of
from ..models.identity import ENCODER, IMAGENET, describe
from ..models.open_encoders import image_encoder, required_encoder
from ..models.text_transformers import text_transformer
from ..sources.encoded_items import function_name, takes_a_batch
from ..sources.openable import Data, as_source
from ..training import Feed, Recipe, Scaling
from .embedding_shards import embedded_shards, shard_length
from .embedding_way import EmbeddingWay
from .network_rows import Rows, embedding_batches, embeddings_of

__all__ = ["embed", "embedding_batches", "embeddings_of", "scaling_given", "weights_of"]


def embed(
    source: Data,
    model: Any = "raw",
    layer: str | None = None,
    *,
    weights: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    seed: Seed = 0,
    device: str = "auto",
    out: RunDirectory = None,
    **opening: Any,
) -> Signals:
    """Compute an embedding of every example, in eval mode, without augmentation.

    Parameters
    ----------
    source
        The examples, a Source or anything that `wn.open` takes; labels are not needed.
    model
        A torch module with its weights; the name of a network; `hf:PATH`, `sentence:NAME` or
        `imagenet:efficientnet-lite0`, which come with weights, and `encoder` for the one of the last two that suits the
        data and is installed; a `wn.models.FineTune` or `Frozen`; `raw`: the scaled inputs themselves, which suits
        tables, or the hashed tf-idf of text; or a function from a batch to vectors, as for `encode` of `wn.open`: then
        the examples may be a list of anything.
    layer
        Name of the layer whose output to take; empty for the output of the network. If not given, the input of the
        classification head, or the output of a network without one (`winnow.models.representation`); what was taken
        is in the provenance, under `taken`.
    weights
        File of weights for a named network; random weights if not given.
    mean, std
        Mean and standard deviation for scaling the inputs, one number per channel (images in 0 to 1); measured on the
        source if not given.
    seed
        Seed of random weights.
    device
        Where to compute; `auto` takes a GPU if there is one.
    out
        A run directory, for more examples than fit into memory: embeddings are written there in shards of about a
        million rows, and mapped. The same call after a kill goes on at the next shard. In memory if not given.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Signals
        The array `embeddings`, one row per example, in the order of the source.

    Raises
    ------
    InputError
        If a parameter has an invalid value, or the network does not accept these examples.

    Examples
    --------
    >>> import winnow as wn
    >>> wn.embed("digits", "mlp", limit=100).embeddings.shape
    (100, 128)
    """
    if takes_a_batch(model) and out is None:
        return _by_function(source, model, opening)
    asked = request(embed, locals())
    source = asked.source
    if isinstance(model, str) and model == ENCODER:
        model = required_encoder(source.kind, source.shape, f"model {ENCODER!r} of embed")
    how = _way(source, model, layer, weights, mean, std, seed, Recipe(device=device))
    if asked.out is not None:
        found, order = _sharded(source, how, asked.out), None
    else:
        feed = Feed(source, how.scaling)
        found, order = how.rows(feed), feed.order
    labels = source.labels if order is None or source.labels is None else source.labels[order]
    signals = Signals(
        source.ids if order is None else feed.ids,
        {"embeddings": found},
        source.task,
        labels,
        source.classes,
        provenance=record("embed", how.about, {"source": source.provenance}),
    )
    return signals.take(source.ids)


def _way(
    source: Source,
    model: Any,
    layer: str | None,
    weights: str | None,
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
    seed: int,
    recipe: Recipe,
) -> EmbeddingWay:
    """Return how examples are embedded."""
    scaling = scaling_given("embed", source, mean, std)
    about: dict[str, Any] = {"model": "raw", "layer": layer, "mean": mean, "std": std}
    if takes_a_batch(model):
        return EmbeddingWay(None, {"model": {"function": function_name(model)}}, None, recipe, function=model)
    if isinstance(model, str) and model == "raw":
        return EmbeddingWay(torch.nn.Flatten(), about, scaling, recipe, seed=seed)
    network: torch.nn.Module
    if isinstance(model, Frozen):
        if layer is not None or weights is not None or mean is not None:
            raise InputError("layer, weights, mean and std of embed are part of a Frozen model; give them there.")
        scaling = scaling_given("embed", source, model.mean, model.std)
        network, layer = model.backbone, {None: "", PENULTIMATE: None}.get(model.layer, model.layer)
        about |= {"model": model.describe(), "weights": weights_of(network)}
    elif isinstance(model, torch.nn.Module):
        network = model
        about |= {"model": describe(model), "weights": weights_of(model)}
    elif isinstance(model, str) and model.startswith("sentence:"):
        if source.kind != "text":
            raise InputError(f"network {model!r} takes text; got examples of kind {source.kind}.")
        network = text_transformer(model, 0)
        about |= {"model": describe(model)}
    elif isinstance(model, str) and model.startswith(IMAGENET):
        if layer is not None or weights is not None or mean is not None:
            raise InputError(f"layer, weights, mean and std of embed are fixed for network {model!r}.")
        network = image_encoder(model)
        about |= {"model": describe(model)}
    else:
        network = build(
            model, classes=max(2, len(source.classes)), shape=source.shape, kind=source.kind, weights=weights, seed=seed
        )
        about |= {"model": describe(model), "weights": weights, "seed": seed}
    return EmbeddingWay(network, about, scaling, recipe, layer=layer, seed=seed)


def _sharded(source: Source, how: EmbeddingWay, out: Run | str | Path) -> Rows:
    """Return the embeddings as they are in a run directory, after those were made that are not there yet."""
    rows_of, width = how.parts(source)
    length = shard_length(source.read(np.zeros(1, dtype=np.int64)).nbytes, 4 * width)
    settings = {"command": "embed", "source": source.fingerprint, **how.about}
    with Run.opened(out, settings, extend=False) as run:
        key = [source.fingerprint, how.about, how.code, code_digest(EmbeddingWay)]
        return embedded_shards(run, rows_of, len(source), width, length, key)


def _by_function(what: Any, function: Callable[[Any], Any], opening: Mapping[str, Any]) -> Signals:
    """Return the vectors that a function makes of examples."""
    found = as_source("source", "embed", what, **opening, encode=function)
    about = {"model": {"function": function_name(function)}}
    return Signals(
        found.ids,
        {"embeddings": found.read(np.arange(len(found)))},
        found.task,
        found.labels,
        found.classes,
        provenance=record("embed", about, {"source": found.provenance}),
    )


def weights_of(model: torch.nn.Module) -> str:
    """Return a fingerprint of the weights of a module."""
    return fingerprint(*state_of(model))


def scaling_given(
    owner: str, source: Source, mean: Sequence[float] | None, std: Sequence[float] | None
) -> Scaling | None:
    """Return the given scaling of inputs; None if none is given, and it is measured."""
    if mean is None and std is None:
        return None
    if mean is None or std is None:
        raise InputError(f"{owner} needs mean and std together; got only one of them.")
    m = checks.array("mean", owner, mean, ndim=1, rows=source.shape[0], dtype=np.float32)
    s = checks.array("std", owner, std, ndim=1, rows=source.shape[0], dtype=np.float32)
    if (s <= 0).any():
        raise InputError(f"std of {owner} must be positive; got {list(std)}.")
    shape = (1, -1) + (1,) * (len(source.shape) - 1)
    zero, one = torch.zeros(1), torch.ones(1)
    return Scaling(torch.from_numpy(m).reshape(shape), torch.from_numpy(s).reshape(shape), zero, one)
