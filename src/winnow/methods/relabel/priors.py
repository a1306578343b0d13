"""Priors: what can be used as one, and how its representation of an example is computed.

| prior | is |
|---|---|
| a torch module | used with its current weights, trained or not |
| `timm:NAME`, `torchvision:NAME`, `resnet56` ... | a named network with `weights=` from a file; random without |
| `imagenet:efficientnet-lite0` | a network whose weights are in an installed package, as `wn.embed` takes it |
| `random` | a randomly initialised network of winnow's own, chosen by the shape of an example |
| `raw` | the scaled inputs themselves: the baseline for any prior |
| an array, a tensor, a `.npy` file | existing embeddings, one row per example in the order of the source |
| Signals, a `.safetensors` file of them | embeddings by id, from `wn.embed` |

A network runs in eval mode on unaugmented images. Its representation is that of `wn.embed`
(`winnow.models.representation`): what enters its head, or its output if it has none. Images with one channel are
repeated for a network that expects three, and `size` resizes them to what it was trained on.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ...artefacts import Signals, Source
from ...artefacts.source import positions_of
from ...artefacts.targets import ROWS
from ...core import checks
from ...core.errors import DataError, InputError, NotFoundError
from ...models import build, choose, feature_layer
from ...models.identity import IMAGENET, describe
from ...models.library_networks import LIBRARIES
from ...models.representation import Representation, representation
from ...models.weight_files import read_weights
from ...signals.embed import embed, embedding_batches, weights_of
from ...sources.arrays import to_numpy
from ...sources.npz import UNREADABLE, why_unreadable
from ...training import Feed, Recipe, Scaling
from ...training.device import device_of
from .preparation import Preparation, declared_scale, preparation

__all__ = ["Prior", "represent", "understood"]

Rows = NDArray[np.floating]
FILES = (".npy", ".safetensors")


@dataclass(frozen=True, eq=False)
class Prior:
    """The source of representations.

    Parameters
    ----------
    width
        The dimension of a representation.
    rows
        Returns the representations from one canonical position to another, checked to be finite.
    stored
        Whether they exist already, so that storing them again is useless.
    about
        Its description, for provenance and for the keys of steps.
    """

    width: int
    rows: Callable[[int, int], Rows]
    stored: bool
    about: dict[str, Any]


def represent(source: Source, prior: Any, **how: Any) -> NDArray[np.float32]:
    """Compute representations of all examples in canonical order, in memory; options are those of `targets`."""
    known = understood("represent", source, prior, **how)
    parts = [known.rows(start, min(start + ROWS, len(source))) for start in range(0, len(source), ROWS)]
    return np.concatenate(parts).astype(np.float32, copy=False)


def understood(
    owner: str,
    source: Source,
    prior: Any,
    *,
    layer: str | None = None,
    weights: str | Path | None = None,
    size: int | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    batch: int = 512,
    seed: int = 0,
    device: str = "auto",
) -> Prior:
    """Make a prior of any kind, and try it on two examples so that errors show before the work starts."""
    if not isinstance(source, Source):
        raise InputError(f"source of {owner} must be a Source (open it with wn.open); got {type(source).__name__}.")
    checks.integer("batch", owner, batch, low=1)
    checks.integer("seed", owner, seed, low=0)
    if layer is not None and not isinstance(layer, str):
        raise InputError(f"layer of {owner} must be the name of a layer; got {type(layer).__name__}.")
    if size is not None:
        checks.integer("size", owner, size, low=1)
    ids = source.ids[source.order]
    if isinstance(prior, str | Path) and Path(prior).suffix in FILES:
        prior = _file(owner, Path(prior))
    if isinstance(prior, str) and prior.startswith(IMAGENET):
        prior = embed(source, prior, device=device)
    if isinstance(prior, str | nn.Module):
        network, about = _network(owner, source, prior, weights, size, seed)
        scale = declared_scale(network, weights, mean, std)
        prepare = preparation(owner, source, network, size, *scale)
        inner = _through(owner, source, network, layer, prepare, batch, Recipe(device=device))
        about |= {"layer": layer, "taken": inner.taken.about(), "batch": batch, **prepare.about}
        return Prior(inner.taken.width, partial(_finite, owner, ids, inner.rows), False, about)
    for word, value in (("layer", layer), ("weights", weights), ("size", size), ("mean", mean), ("std", std)):
        if value is not None:
            raise InputError(f"{word} of {owner} is only for a network; the prior here is stored embeddings.")
    return _stored(owner, source, prior, ids)


def _file(owner: str, path: Path) -> Any:
    if not path.is_file():
        raise NotFoundError(f"prior of {owner} must be an existing file; there is no file {path}.")
    if path.suffix == ".safetensors":
        return Signals.load(path)
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except UNREADABLE as error:
        raise DataError(f"{path} is not a file of one array: {why_unreadable(error)}.") from None


def _stored(owner: str, source: Source, prior: Any, ids: NDArray[Any]) -> Prior:
    if isinstance(prior, Signals):
        values = prior.array("embeddings", owner)
        where = positions_of(prior.ids, ids, f"the prior of {owner}")
    else:
        values, where = to_numpy(prior, "prior", owner), source.order
    if values.dtype.kind not in "biuf" or values.ndim != 2 or values.shape[1] == 0:
        raise InputError(
            f"prior of {owner} must be a torch module, the name of a network, or embeddings with one vector per "
            f"example, that is of shape (n, d); got {type(prior).__name__} of shape {values.shape}."
        )
    if not isinstance(prior, Signals) and len(values) != len(source):
        raise InputError(
            f"prior of {owner} must have {len(source)} rows, one per example in the order of the source; "
            f"got shape {values.shape}."
        )

    def rows(start: int, stop: int) -> Rows:
        found = values[where[start:stop]]
        return found if found.dtype.kind == "f" else found.astype(np.float32)

    content = hashlib.blake2b(digest_size=16)
    for start in range(0, len(source), ROWS):
        content.update(np.ascontiguousarray(rows(start, start + ROWS)).tobytes())
    about = {"prior": "embeddings", "content": content.hexdigest()}
    return Prior(values.shape[1], partial(_finite, owner, ids, rows), True, about)


def _finite(owner: str, ids: NDArray[Any], rows: Callable[[int, int], Rows], start: int, stop: int) -> Rows:
    found = rows(start, stop)
    bad = ~np.isfinite(found).all(axis=1)
    if bad.any():
        raise InputError(
            f"prior of {owner} must give finite numbers; it gave NaN or infinity for example "
            f"{ids[start:stop][bad][0]!s} ({int(bad.sum())} of {len(found)} in its block)."
        )
    return found


def _network(
    owner: str, source: Source, prior: str | nn.Module, weights: str | Path | None, size: int | None, seed: int
) -> tuple[nn.Module, dict[str, Any]]:
    if isinstance(prior, nn.Module):
        if weights is not None:
            raise InputError(f"weights of {owner} are only for a named network; a module is used with its own.")
        print_ = weights_of(prior)  # first, because it raises for weights that are not initialised yet
        return prior, {"prior": describe(prior), "weights": print_}
    shape = source.shape if size is None or len(source.shape) != 3 else (source.shape[0], size, size)
    if prior in ("random", "raw") and weights is not None:
        raise InputError(f"weights of {owner} contradict the prior {prior!r}; name the network they belong to.")
    if prior == "raw" and source.kind == "text":
        raise InputError(f"prior of {owner} cannot be 'raw' for text, whose inputs are token ids; pass embeddings.")
    if prior == "raw":
        return nn.Flatten(), {"prior": prior}
    name = choose(shape, source.kind) if prior == "random" else prior
    network = build(name, classes=2, shape=shape, kind=source.kind, seed=seed)
    if weights is not None:
        network = _trained(name, network, shape, weights)
    elif ":" in name and name.partition(":")[0] in LIBRARIES:  # users expect trained weights from these
        warnings.warn(
            f"prior {name!r} of {owner} has no weights= and is used untrained: nothing is downloaded", stacklevel=4
        )
    return network, {"prior": prior, "network": name, "weights": weights_of(network)}


def _trained(name: str, draft: nn.Module, shape: tuple[int, ...], weights: str | Path) -> nn.Module:
    """The network that a file of weights fits: with the number of channels and classes of the file."""
    state, wanted = read_weights(weights, name), draft.state_dict()
    head = state.get(f"{feature_layer(draft)}.weight")
    classes = 2 if head is None else len(head)
    first = next((key for key, value in wanted.items() if value.ndim == 4), None)
    if first in state and state[first].ndim == 4 and len(shape) == 3:
        shape = (state[first].shape[1], *shape[1:])
    return build(name, classes=classes, shape=shape, weights=weights)


@dataclass(frozen=True, eq=False)
class _Through:
    """Representations from a network, computed on demand."""

    network: nn.Module
    features: Callable[[torch.Tensor], torch.Tensor]
    feed: Feed
    device: torch.device
    batch: int
    taken: Representation

    def rows(self, start: int, stop: int) -> Rows:
        found = embedding_batches(self.network, self.features, self.feed, self.device, self.batch, start, stop)
        return np.concatenate(list(found))


def _through(
    owner: str,
    source: Source,
    network: nn.Module,
    layer: str | None,
    prepare: Preparation,
    batch: int,
    recipe: Recipe,
) -> _Through:
    device = device_of(recipe)
    zero, one = torch.zeros(1), torch.ones(1)
    as_it_is = None if prepare.mean is None else Scaling(zero, one, zero, one)
    feed = Feed(source, as_it_is)
    x = prepare(feed.inputs(np.arange(min(2, len(source)))).to(device))
    try:
        taken = representation(network.to(device), x, layer, owner=f"prior of {owner}")
    except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:
        if isinstance(error, InputError):
            raise
        why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"prior of {owner}, a {type(network).__name__}, cannot take examples of shape {tuple(x.shape[1:])}: {why}."
        ) from None
    return _Through(network, lambda batch_: taken(network, prepare(batch_)), feed, device, batch, taken)
