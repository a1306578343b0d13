"""A data set whose examples bring their positions along, and the batches of a sampler without a length.

A Trainer passes on batches, not positions, and derives the number of epochs from the length of the first one. A
`DynamicSampler` weighs by position, and its epochs differ in length: the Trainer sees them as one long one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import torch
from torch.utils.data import Dataset

from ..core.errors import InputError
from .dynamic_sampler import DynamicSampler

__all__ = ["POSITIONS", "PlacedDataset", "UnsizedBatches", "collated"]

POSITIONS = "winnow_positions"  # the entry of a batch


class PlacedDataset(Dataset[Any]):
    """Each example with its position: (position, example).

    >>> PlacedDataset(["a", "b"])[1]
    (1, 'b')
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, position: int) -> tuple[int, Any]:
        return int(position), self.dataset[int(position)]


class UnsizedBatches:
    """All batches that a sampler has left, epoch after epoch."""

    def __init__(self, sampler: DynamicSampler) -> None:
        self.sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        while not self.sampler.finished:
            yield from self.sampler


def collated(collate: Callable[[list[Any]], Any]) -> Callable[[list[tuple[int, Any]]], Any]:
    """Return a collator of placed examples, which adds their positions to the mapping that `collate` makes."""

    def made(placed: list[tuple[int, Any]]) -> Any:
        batch = collate([example for _, example in placed])
        if not isinstance(batch, MutableMapping):
            raise InputError(f"a collator for DynamicTrainer must make a mapping; it made a {type(batch).__name__}.")
        batch[POSITIONS] = torch.tensor([position for position, _ in placed])
        return batch

    return made
