"""embed: representations of examples by any network, trained or not, with or without labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .. import checks
from ..artefacts import Signals, Source, record
from ..errors import InputError
from ..models import build
from ..models.features import features_of
from ..models.identity import describe
from ..progress import track
from ..store import fingerprint
from ..training import Feed, Recipe, Scaling
from ..training.loop import device_of

__all__ = ["embed", "embeddings_of"]


def embed(
    source: Source,
    model: Any = "raw",
    layer: str | None = None,
    *,
    weights: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    seed: int = 0,
    device: str = "auto",
) -> Signals:
    """Embeddings of every example, in eval mode, without augmentation.

    Parameters
    ----------
    source
        The examples; labels are not needed.
    model
        A torch module, used with the weights it has; the name of a network; or `raw`, the scaled inputs
        themselves, which suits tables.
    layer
        Name of the layer whose output to take; what enters the last linear layer unless given.
    weights
        File of weights for a named network; without it the network is a random one.
    mean, std
        How the network wants its inputs scaled, one number a channel (images in 0 to 1); measured on the
        source unless given.
    seed
        Of a random network's weights.
    device
        Where to compute; `auto` takes a GPU if there is one.
    """
    if not isinstance(source, Source):
        raise InputError(f"source of embed must be a Source (open it with wn.open); got {type(source).__name__}.")
    recipe = Recipe(device=device)
    feed = Feed(source, _scaling(source, mean, std))
    about: dict[str, Any] = {"model": "raw", "layer": layer, "mean": mean, "std": std}
    if isinstance(model, str) and model == "raw":
        network: torch.nn.Module = torch.nn.Flatten()
    elif isinstance(model, torch.nn.Module):
        network = model
        state = [value.detach().cpu().numpy().tobytes() for value in model.state_dict().values()]
        about |= {"model": describe(model), "weights": fingerprint(*state)}
    else:
        network = build(model, classes=max(2, len(source.classes)), shape=source.shape, weights=weights, seed=seed)
        about |= {"model": describe(model), "weights": weights, "seed": seed}
    found = embeddings_of(network, feed, recipe, layer)
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


def embeddings_of(
    model: torch.nn.Module, feed: Feed, recipe: Recipe, layer: str | None, batch: int = 512
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Features of every example of a feed, in canonical order, in eval mode."""
    device = device_of(recipe)
    was_training = model.training
    model.to(device).eval()
    raw = isinstance(model, torch.nn.Flatten)
    parts = []
    with torch.no_grad():
        for start in track(range(0, len(feed), batch), "embedding"):
            x = feed.inputs(np.arange(start, min(start + batch, len(feed)))).to(device)
            try:
                found = model(x) if raw else features_of(model, x, layer)
            except RuntimeError as error:
                raise InputError(
                    f"model of type {type(model).__name__} does not take examples of shape {tuple(x.shape[1:])}: "
                    f"{error}."
                ) from None
            parts.append(found.float().cpu().numpy())
    model.train(was_training)
    return np.concatenate(parts)


def _scaling(source: Source, mean: Sequence[float] | None, std: Sequence[float] | None) -> Scaling | None:
    if mean is None and std is None:
        return None
    if mean is None or std is None:
        raise InputError("embed needs mean and std together; got only one of them.")
    m = checks.array("mean", "embed", mean, ndim=1, rows=source.shape[0], dtype=np.float32)
    s = checks.array("std", "embed", std, ndim=1, rows=source.shape[0], dtype=np.float32)
    if (s <= 0).any():
        raise InputError(f"std of embed must be positive; got {list(std)}.")
    shape = (1, -1) + (1,) * (len(source.shape) - 1)
    zero, one = torch.zeros(1), torch.ones(1)
    return Scaling(torch.from_numpy(m).reshape(shape), torch.from_numpy(s).reshape(shape), zero, one)
