"""Feed: a Source as batches of tensors, in canonical order, scaled, augmented on request.

A feed has its examples sorted by id, so that batch order, augmentation and rounding depend on ids and seed and never on
the order of the source. Examples are kept in memory if they fit the budget. Otherwise they are decoded once into a file
that is mapped, or, if the disk has no room for it, fetched batch by batch.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Source
from ..core.progress import track
from ..models.text_transformers import reader_of
from .spilled_rows import SpilledRows, spill

__all__ = ["Feed", "Scaling", "hold"]

BUDGET = 2 << 30  # bytes of examples held in memory
CHUNK = 1024  # examples read at a time


@dataclass(frozen=True)
class _Held:
    """Reader for an array in memory."""

    values: NDArray[Any]

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        return self.values[positions]


def hold(source: Source, budget: int = BUDGET) -> Source:
    """Return the same source with its examples decoded once into memory if they fit; otherwise unchanged.

    Parameters
    ----------
    source
        The source.
    budget
        The number of bytes that may be used.

    Returns
    -------
    Source
        With the same ids and content.
    """
    if isinstance(source.read, _Held):
        return source
    first = source.read(np.zeros(1, dtype=np.int64))
    if first.nbytes * len(source) > budget:
        return source
    values = np.empty((len(source), *first.shape[1:]), dtype=first.dtype)
    starts = range(0, len(source), CHUNK)
    for start in track(starts, f"reading {source.name}"):
        where = np.arange(start, min(start + CHUNK, len(source)))
        values[where] = source.read(where)
    return replace(source, read=_Held(values), make_ids=source.ids)


@dataclass(frozen=True)
class Scaling:
    """Means and standard deviations by which inputs (and regression targets) are scaled.

    Computed from the training set alone and kept with the model, so that test data is scaled in the same way.
    """

    mean: torch.Tensor
    std: torch.Tensor
    target_mean: torch.Tensor
    target_std: torch.Tensor

    @classmethod
    def of(cls, source: Source, weights: NDArray[np.float64] | None = None) -> Scaling:
        """Measure them: per channel for images and tensors with channels, per column for tables, not at all for text.

        Parameters
        ----------
        source
            The training set.
        weights
            Weights of the examples, in canonical order; an example of weight 3 counts like three of its kind.
        """
        share = None if weights is None else weights / weights.mean()
        if source.kind == "text":  # token ids are names, not quantities
            return cls(torch.zeros(1, 1), torch.ones(1, 1), *_target_scaling(source, share))
        total = squares = np.float64(0)
        count = 0
        axes: tuple[int, ...] = ()
        for start in range(0, len(source), CHUNK):
            chunk = source.read(source.order[start : start + CHUNK]).astype(np.float64)
            if source.kind == "image":
                chunk /= 255
            axes = (0,) if chunk.ndim == 2 else (0, *range(2, chunk.ndim))
            times = 1 if share is None else share[start : start + CHUNK].reshape(-1, *(1,) * (chunk.ndim - 1))
            total = total + (times * chunk).sum(axes)
            squares = squares + (times * np.square(chunk)).sum(axes)
            count += chunk.size // max(1, np.asarray(total).size)
        mean = np.atleast_1d(total / count)
        std = np.sqrt(np.maximum(np.atleast_1d(squares / count) - mean**2, 0))
        std[std < 1e-6 * np.maximum(1, np.abs(mean))] = 1.0  # a constant column has no information; do not scale it
        shape = (1, -1) + (1,) * (len(source.shape) - 1)
        return cls(
            torch.tensor(mean, dtype=torch.float32).reshape(shape),
            torch.tensor(std, dtype=torch.float32).reshape(shape),
            *_target_scaling(source, share),
        )


def _target_scaling(source: Source, share: NDArray[np.float64] | None) -> tuple[torch.Tensor, torch.Tensor]:
    centre, spread = _target_scale(source, share)
    scale = np.where(spread > 0, spread, 1.0)
    return torch.tensor(centre, dtype=torch.float32), torch.tensor(scale, dtype=torch.float32)


def _target_scale(source: Source, share: NDArray[np.float64] | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of regression targets; of a zero if there are none."""
    if source.task != "regression" or source.labels is None:
        return np.zeros(1), np.zeros(1)
    targets = source.labels.reshape(len(source), -1)
    if share is None:
        return targets.mean(0), targets.std(0)
    targets = targets[source.order]
    centre = np.average(targets, axis=0, weights=share)
    return centre, np.sqrt(np.average((targets - centre) ** 2, axis=0, weights=share))


class Feed:
    """Batches of a source, by position in canonical order.

    Parameters
    ----------
    source
        Where examples come from.
    scaling
        How to scale; if not given, measured on this source.
    budget
        Bytes of examples that are held in memory.
    """

    def __init__(self, source: Source, scaling: Scaling | None = None, budget: int = BUDGET) -> None:
        self.source = hold(source, budget)
        if not isinstance(self.source.read, _Held | SpilledRows) and (spilled := spill(source)) is not None:
            self.source = replace(source, read=spilled, make_ids=source.ids)
        self.scaling = Scaling.of(self.source) if scaling is None else scaling
        self.order = source.order
        self.ids = source.ids[self.order]
        self.targets = self._targets()
        self._read: dict[str, Feed] = {}  # as networks with other tokenizers read it
        held = self.source.read
        self._inputs = torch.from_numpy(held.values[self.order]) if isinstance(held, _Held) else None

    def __len__(self) -> int:
        return len(self.source)

    def _targets(self) -> torch.Tensor | None:
        labels = self.source.labels
        if labels is None:
            return None
        if self.source.task in ("classification", "multilabel"):  # int64 numbers, or uint8 rows
            return torch.from_numpy(np.ascontiguousarray(labels[self.order]))
        values = torch.tensor(labels[self.order].reshape(len(self), -1), dtype=torch.float32)
        return (values - self.scaling.target_mean) / self.scaling.target_std

    def inputs(self, positions: NDArray[np.int64]) -> torch.Tensor:
        """Return scaled inputs at canonical positions; token ids of text as they are."""
        if self.source.kind == "text":
            return self.unscaled(positions)
        return (self.unscaled(positions) - self.scaling.mean) / self.scaling.std

    def read_by(self, model: torch.nn.Module) -> Feed:
        """Return the feed as a network reads it: one with a tokenizer of its own gets its token ids, not winnow's.

        Parameters
        ----------
        model
            Any torch module.
        """
        reader = reader_of(model)
        if reader is None or self.source.kind != "text" or self.source.read_texts is None:
            return self
        if reader.reads not in self._read:
            made = copy.copy(self)
            made._inputs = torch.from_numpy(reader.token_ids(list(self.source.read_texts(self.order))))
            self._read[reader.reads] = made
        return self._read[reader.reads]

    def unscaled(self, positions: NDArray[np.int64]) -> torch.Tensor:
        """Return inputs at canonical positions as floats, images between 0 and 1; token ids of text as int64."""
        if self._inputs is not None:
            raw = self._inputs[torch.from_numpy(positions)]
        else:
            raw = torch.from_numpy(np.ascontiguousarray(self.source.read(self.order[positions])))
        if self.source.kind == "text":
            return raw.to(torch.int64)
        x = raw.to(torch.float32)
        if self.source.kind == "image":
            x = x.div_(255) if raw.dtype != torch.float32 else x / 255
        return x


def augmented(x: torch.Tensor, words: tuple[str, ...], rng: np.random.Generator) -> torch.Tensor:
    """Flip and shift the images of a batch at random, each separately."""
    n, _, height, width = x.shape
    if "flip" in words:
        flip = torch.from_numpy(rng.random(n) < 0.5)
        x = torch.where(flip[:, None, None, None], x.flip(3), x)
    if "crop" in words:
        pad_h, pad_w = max(1, height // 8), max(1, width // 8)
        padded = torch.nn.functional.pad(x, (pad_w, pad_w, pad_h, pad_h))
        down = torch.from_numpy(rng.integers(0, 2 * pad_h + 1, n))
        right = torch.from_numpy(rng.integers(0, 2 * pad_w + 1, n))
        rows = (down[:, None] + torch.arange(height))[:, None, :, None]
        columns = (right[:, None] + torch.arange(width))[:, None, None, :]
        each = torch.arange(n)[:, None, None, None]
        channel = torch.arange(x.shape[1])[None, :, None, None]
        x = padded[each, channel, rows, columns]
    return x
