"""Embeddings: the representation of each example by a trained network."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..core import registry
from .embed import embeddings_of
from .observation import Look

__all__ = ["embeddings"]


@registry.signal(arrays={"embeddings": ("examples", "embedding")}, tasks=registry.ALL_TASKS)
def embeddings(look: Look) -> dict[str, NDArray[Any]]:
    """Representation by the trained network of the first seed, and of the second to measure reliability."""
    return {"embeddings": embeddings_of(look.model, look.feed, look.what.recipe, look.what.layer)[0]}
