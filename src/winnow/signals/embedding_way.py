"""How examples become embeddings: by a network, by a function, or as they are; all at once or some rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Source
from ..artefacts.frozen_arrays import order_of
from ..core.code_digest import code_digest
from ..core.scratch_rows import filled_rows
from ..sources.encoded_items import vectors_by
from ..training import Feed, Recipe, Scaling
from ..training.loop import device_of
from .network_rows import Rows, embedding_batches, embeddings_of, taken_from
from .text_rows import WIDTH, text_rows, word_rarity

__all__ = ["EmbeddingWay"]

BATCH = 512


@dataclass(frozen=True, eq=False)
class EmbeddingWay:
    """What `embed` was asked for.

    Parameters
    ----------
    network
        The network; None for a function.
    about
        What provenance says of it; what was taken from the network is added.
    scaling
        How inputs are scaled; measured on the source if None.
    recipe
        Where to compute.
    layer
        The layer whose output is taken.
    seed
        Seed of rows of text.
    function
        From a batch to vectors.
    """

    network: torch.nn.Module | None
    about: dict[str, Any]
    scaling: Scaling | None
    recipe: Recipe
    layer: str | None = None
    seed: int = 0
    function: Callable[[Any], Any] | None = None

    @property
    def raw(self) -> bool:
        """Whether the examples themselves are the embeddings."""
        return bool(self.about["model"] == "raw")

    @property
    def code(self) -> str:
        """Digest of the user's function."""
        return "" if self.function is None else code_digest(self.function)

    def rows(self, feed: Feed) -> Rows:
        """Embeddings of all examples of a feed, sorted by id."""
        assert self.network is not None
        if self.raw and feed.source.kind == "text":
            return text_rows(feed.source, self.seed)[feed.order]
        if self.raw:
            return filled_rows(self._batches(feed, self.network), len(feed))
        found, taken = embeddings_of(self.network, feed, self.recipe, self.layer)
        self.about["taken"] = taken.about()
        return found

    def _batches(self, feed: Feed, features: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        assert self.network is not None
        return embedding_batches(self.network, features, feed, device_of(self.recipe), BATCH)

    def parts(self, source: Source) -> tuple[Callable[[NDArray[np.int64]], Rows], int]:
        """Return a function from positions to their embeddings, and how many numbers each has.

        What belongs to all examples, such as their means, is measured once, block by block.
        """
        if self.function is not None:
            function = self.function
            return lambda where: vectors_by(function, source.at(where)), vectors_by(function, _few(source)).shape[1]
        if self.raw and source.kind == "text":
            rarity = word_rarity(source)
            return lambda where: text_rows(source.at(where), self.seed, rarity=rarity), WIDTH
        network = self.network
        assert network is not None
        scaling = Scaling.of(_as_it_comes(source)) if self.scaling is None else self.scaling
        features: Callable[[torch.Tensor], torch.Tensor] = network
        width = int(np.prod(source.shape))
        if not self.raw:
            taken = taken_from(network, Feed(_few(source), scaling), device_of(self.recipe), self.layer)
            self.about["taken"], width = taken.about(), taken.width
            features = lambda x: taken(network, x)  # noqa: E731

        def rows_of(where: NDArray[np.int64]) -> Rows:
            feed = Feed(source.at(where), scaling)
            found = np.empty((where.size, width), dtype=np.float32)
            start = 0
            for batch in self._batches(feed, features):
                found[feed.order[start : start + len(batch)]] = batch.reshape(len(batch), width)
                start += len(batch)
            return found

        return rows_of, width


def _few(source: Source) -> Source:
    """The first two examples by id, which decide what is taken from a network."""
    return source.at(source.order[:2])


def _as_it_comes(source: Source) -> Source:
    """The same examples; those whose ids do not ascend are numbered anew, so that a pass reads files in their order."""
    return source if order_of(source.ids) is None else replace(source, make_ids=np.arange(len(source)))
