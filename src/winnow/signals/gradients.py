"""Per-example loss gradients, by torch.func, in eval mode.

Each gradient is that of the loss of one example, so the batch size does not matter. Norms are exact. The gradients
themselves are projected, so that n x parameters numbers are never in memory, and many are in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.func import functional_call, grad, vmap

from ..core import registry
from ..core.errors import NotDefinedError
from ..core.scratch_rows import filled_rows
from ..models.projection import SparseProjection
from ..models.text_transformers import needs_example_gradients
from ..training.feed import Feed
from ..training.loop import device_of
from ..training.recipe import Recipe
from ..training.soft_loss import example_losses
from .dynamics import TRAINED
from .kept_batches import kept_batches
from .observation import Look

__all__ = ["example_gradients", "gradient_norms", "gradients"]

CHUNK_NUMBERS = 1 << 25  # numbers of per-example gradients in memory at once: 128 MB
NORMS: dict[str, tuple[str | int, ...]] = {"gradient_norms": ("seeds", "examples")}


@registry.signal(arrays=NORMS, when="epoch", tasks=TRAINED, cost=registry.Cost("gradient"))
def gradient_norms(look: Look) -> dict[str, NDArray[Any]]:
    """Exact length of the loss gradient of each example, all parameters, early in training."""
    norms, _ = example_gradients(look.model, look.feed, look.what.recipe, None, look.what.seed)
    return {"gradient_norms": norms}


@registry.signal(
    arrays={**NORMS, "gradients": ("seeds", "examples", "projection")},
    when="epoch",
    tasks=TRAINED,
    cost=registry.Cost("gradient"),
)
def gradients(look: Look) -> dict[str, NDArray[Any]]:
    """Loss gradient of each example, randomly projected, and its exact length, early in training."""
    what = look.what
    norms, projected = example_gradients(look.model, look.feed, what.recipe, what.gradient_dim, what.seed)
    return {"gradient_norms": norms, "gradients": cast(NDArray[np.float32], projected)}


def example_gradients(
    model: torch.nn.Module, feed: Feed, recipe: Recipe, dim: int | None, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Return norms (n) and, if `dim` is given, projected gradients (n x dim), sorted by id.

    Parameters
    ----------
    model
        Any module that torch.func can differentiate.
    feed
        The examples, with targets.
    recipe
        Its device is used.
    dim
        Length after projection; None for norms only.
    seed
        Seed of the projection.
    """
    targets = feed.targets
    if targets is None:
        raise NotDefinedError(f"gradients need labels or a target; source {feed.source.name!r} has neither.")
    needs_example_gradients("gradients", model)
    device = device_of(recipe)
    was_training = model.training
    model.to(device).eval()
    parameters = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    others: dict[str, Any] = {name: p.detach() for name, p in model.named_parameters() if not p.requires_grad}
    others |= dict(model.named_buffers())

    def loss(weights: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        output = functional_call(model, {**weights, **others}, (x.unsqueeze(0),))
        return example_losses(output, y.unsqueeze(0))[0]

    per_example = cast(Callable[..., dict[str, torch.Tensor]], vmap(grad(loss), in_dims=(None, 0, 0)))
    size = sum(p.numel() for p in parameters.values())
    projection = None if dim is None else SparseProjection(size, dim, seed)
    norms = np.empty(len(feed), dtype=np.float32)
    batch = max(1, min(256, CHUNK_NUMBERS // size))

    def batches(start: int) -> Iterator[tuple[NDArray[np.float32], ...]]:
        for first in range(start, len(feed), batch):
            where = np.arange(first, min(first + batch, len(feed)))
            y = targets[torch.from_numpy(where)].to(device)
            found = per_example(parameters, feed.inputs(where).to(device), y)
            squares = torch.zeros(len(where), device=device)
            out = torch.zeros(len(where), dim or 0, device=device)
            place = 0
            for piece in found.values():
                flat = piece.reshape(len(where), -1)
                squares += flat.square().sum(1)
                if projection is not None:
                    projection.add(out, flat, place)
                place += flat.shape[1]
            yield squares.sqrt().cpu().numpy(), out.cpu().numpy()

    def projections() -> Iterator[NDArray[np.float32]]:
        first = 0
        for lengths, rows in kept_batches(("gradients", dim, seed), model, feed, batches, batch, recipe.checkpoint):
            norms[first : first + len(lengths)] = lengths
            first += len(lengths)
            yield rows

    projected = filled_rows(projections(), len(feed))
    model.train(was_training)
    return norms, None if dim is None else projected
