"""Embeddings: where a trained network puts each example."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..core import registry
from .embed import embeddings_of
from .observation import Look

__all__ = ["embeddings"]


@registry.signal(arrays={"embeddings": ("examples", "embedding")}, tasks=registry.ALL_TASKS)
def embeddings(look: Look) -> dict[str, NDArray[Any]]:
    """Representation by the first seed's trained network, and by the second's to tell how reliable scores are."""
    return {"embeddings": embeddings_of(look.model, look.feed, look.what.recipe, look.what.layer)}
