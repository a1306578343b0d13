"""embed: representations of examples by any network, trained or not, with or without labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ..artefacts import Signals, Source, record
from ..core import checks
from ..core.errors import InputError
from ..core.files import fingerprint
from ..core.progress import track
from ..core.request import Seed, request
from ..models import build
from ..models.frozen import PENULTIMATE, Frozen, state_of
from ..models.identity import describe
from ..models.modes import eval_mode
from ..models.representation import Representation, representation
from ..models.text_transformers import text_transformer
from ..sources.encoded_items import function_name, takes_a_batch
from ..sources.openable import Data, as_source
from ..training import Feed, Recipe, Scaling
from ..training.loop import device_of
from .text_rows import text_rows

__all__ = ["embed", "embedding_batches", "embeddings_of", "scaling_given", "weights_of"]

Rows = np.ndarray[Any, np.dtype[np.float32]]


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
    **opening: Any,
) -> Signals:
    """Compute an embedding of every example, in eval mode, without augmentation.

    Parameters
    ----------
    source
        The examples, a Source or anything that `wn.open` takes; labels are not needed.
    model
        A torch module with its weights; the name of a network, `hf:PATH` or `sentence:NAME`; a `wn.models.FineTune` or
        `Frozen`; `raw`: the scaled inputs themselves, which suits tables, or the hashed tf-idf of text; or a function
        from a batch to vectors, as for `encode` of `wn.open`: then the examples may be a list of anything.
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
    if takes_a_batch(model):
        return _by_function(source, model, opening)
    source = request(embed, locals()).source
    recipe = Recipe(device=device)
    feed = Feed(source, scaling_given("embed", source, mean, std))
    about: dict[str, Any] = {"model": "raw", "layer": layer, "mean": mean, "std": std}
    network: torch.nn.Module = torch.nn.Flatten()
    if isinstance(model, str) and model == "raw":
        pass
    elif isinstance(model, Frozen):
        if layer is not None or weights is not None or mean is not None:
            raise InputError("layer, weights, mean and std of embed are part of a Frozen model; give them there.")
        feed = Feed(source, scaling_given("embed", source, model.mean, model.std))
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
    else:
        network = build(
            model, classes=max(2, len(source.classes)), shape=source.shape, kind=source.kind, weights=weights, seed=seed
        )
        about |= {"model": describe(model), "weights": weights, "seed": seed}
    if source.kind == "text" and about["model"] == "raw":
        found = text_rows(source, seed)[feed.order]
    elif about["model"] == "raw":
        found = np.concatenate(list(embedding_batches(network, network, feed, device_of(recipe), 512)))
    else:
        found, taken = embeddings_of(network, feed, recipe, layer)
        about["taken"] = taken.about()
    labels = None if source.labels is None else source.labels[feed.order]
    signals = Signals(
        feed.ids,
        {"embeddings": found},
        source.task,
        labels,
        source.classes,
        provenance=record("embed", about, {"source": source.provenance}),
    )
    return signals.take(source.ids)


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


def embeddings_of(
    model: torch.nn.Module, feed: Feed, recipe: Recipe, layer: str | None, batch: int = 512
) -> tuple[Rows, Representation]:
    """Return features of every example of a feed, sorted by id, in eval mode; and which they are."""
    device, feed = device_of(recipe), feed.read_by(model)
    few = feed.inputs(np.arange(min(2, len(feed)))).to(device)
    with _taking(model, few):
        taken = representation(model.to(device), few, layer)
    found = embedding_batches(model, lambda x: taken(model, x), feed, device, batch)
    return np.concatenate(list(track(found, "embedding", -(-len(feed) // batch)))), taken


@contextmanager
def _taking(model: torch.nn.Module, x: torch.Tensor) -> Iterator[None]:
    """Turn errors of a network about its input into one sentence."""
    try:
        yield
    except (RuntimeError, IndexError) as error:
        raise InputError(
            f"model of type {type(model).__name__} does not take examples of shape {tuple(x.shape[1:])}: "
            f"{' '.join(str(error).split()).rstrip('.')}."
        ) from None


def embedding_batches(
    model: torch.nn.Module,
    features: Callable[[torch.Tensor], torch.Tensor],
    feed: Feed,
    device: torch.device,
    batch: int,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[Rows]:
    """Yield features of the examples at positions `start` to `stop` (sorted by id), batch by batch, in eval mode.

    `features` computes them from a batch of inputs.
    """
    model.to(device)
    feed = feed.read_by(model)
    end = len(feed) if stop is None else stop
    with eval_mode(model):
        for first in range(start, end, batch):
            x = feed.inputs(np.arange(first, min(first + batch, end))).to(device)
            with _taking(model, x), torch.no_grad():
                found = features(x)
            yield found.float().cpu().numpy()


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
