"""lpNTK features of a trained network over a feed: the `lpntk` array of Signals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...core import registry
from ...core.errors import NotDefinedError
from ...core.scratch_rows import filled_rows
from ...models.text_transformers import needs_example_gradients
from ...signals.kept_batches import kept_batches
from ...signals.observation import Look
from ...training.feed import Feed

__all__ = ["joined_seeds", "lpntk", "tangent_features", "with_length"]

CHUNK = 2048  # examples whose inputs are held at a time


def _made_up(
    sizes: Mapping[str, int],
    labels: NDArray[np.int64],
    hardness: NDArray[np.float64],
    rng: np.random.Generator,
) -> dict[str, NDArray[Any]]:
    """Features that share a direction with their class, easy ones more and hard ones less, as real ones do."""
    seeds, rows, dim = sizes["seeds"], sizes["examples"], sizes["projection"]
    array = rng.standard_normal((seeds, rows, dim), dtype=np.float32)
    directions = rng.standard_normal((seeds, int(labels.max()) + 1, dim), dtype=np.float32)
    nearness = (1 - 0.7 * hardness).astype(np.float32)[:, None]
    array *= np.sqrt(1 - nearness**2)
    array += nearness * directions[:, labels]
    array *= rng.lognormal(size=rows).astype(np.float32)[:, None]
    return {"lpntk": array}


@registry.signal(
    arrays={"lpntk": ("seeds", "examples", "projection")},
    tasks=("classification",),
    cost=registry.Cost("gradient"),
    paper="Guo et al. 2024 (lpNTK)",
    make_up=_made_up,
)
def lpntk(look: Look) -> dict[str, NDArray[Any]]:
    """Feature of each example in the labelled pseudo neural tangent kernel of the trained network, projected."""
    what = look.what
    return {"lpntk": tangent_features(look.model, look.feed, what.gradient_dim, what.seed, what.recipe.checkpoint)}


def tangent_features(
    model: torch.nn.Module, feed: Feed, dim: int, seed: int, minutes: float = 0.0
) -> NDArray[np.float32]:
    """Compute projected lpNTK features, n x dim, in canonical order; the network is unchanged afterwards.

    Parameters
    ----------
    model
        A network with one logit per class.
    feed
        The examples, with class labels.
    dim
        Length after projection.
    seed
        Seed of the projection.
    minutes
        Minutes between two times at which rows are kept in a run directory; 0 for none.
    """
    from .kernel import features  # imported here because it loads numba

    if feed.targets is None or feed.source.task != "classification":
        raise NotDefinedError(f"lpntk needs class labels; source {feed.source.name!r} has none.")
    needs_example_gradients("lpntk", model)
    labels = feed.targets.numpy()

    def batches(start: int) -> Iterator[tuple[NDArray[np.float32]]]:
        for first in range(start, len(feed), CHUNK):
            where = np.arange(first, min(first + CHUNK, len(feed)))
            rows = features(model, feed.inputs(where), labels[where], project=dim, seed=seed)
            yield (rows.astype(np.float32, copy=False),)

    found = kept_batches(("lpntk", dim, seed), model, feed, batches, CHUNK, minutes)
    return filled_rows((rows for (rows,) in found), len(feed))


def joined_seeds(array: NDArray[Any]) -> NDArray[Any]:
    """Concatenate the features of the seeds, so that their products are the mean of the seeds' kernels.

    Examples
    --------
    >>> import numpy as np
    >>> rows = joined_seeds(np.array([[[2.0], [1.0]], [[4.0], [0.0]]]))
    >>> np.round(rows @ rows.T, 9).tolist()
    [[10.0, 1.0], [1.0, 0.5]]
    """
    seeds, n, _ = array.shape
    side_by_side = np.moveaxis(array, 0, 1).reshape(n, -1)
    return with_length(side_by_side / np.asarray(np.sqrt(seeds), dtype=array.dtype))


def with_length(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the rows, with one more column if some are zero, in which the zero rows are alike.

    A kernel needs a positive diagonal. Examples without a gradient have no effect on training: they are treated as
    copies of each other, unrelated to all others, and shorter than any.

    """
    nothing = ~rows.any(axis=1)
    if not nothing.any():
        return rows
    some = rows[~nothing].astype(np.float64)
    shortest = float(np.sqrt(np.square(some).sum(axis=1).min())) if some.size else 1.0
    column = np.where(nothing, shortest / 2, 0.0).astype(rows.dtype)
    return np.concatenate([rows, column[:, None]], axis=1)
