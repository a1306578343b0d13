"""Fixed features for heads: pixels of small digits, or those of a network that was trained on other data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import winnow as wn
from winnow.core import seeds
from winnow.sources.holdout import sample
from winnow.training import Feed, train

Floats = NDArray[np.float64]
ELSEWHERE = {"fashion-mnist": "mnist", "mnist": "fashion-mnist", "cifar10": "fashion-mnist"}


@dataclass(frozen=True, eq=False)
class Fixed:
    """Embeddings of training and test examples, scaled by the training ones, with a column of ones."""

    source: Any
    test: Any
    network: torch.nn.Module | None
    signals: wn.Signals
    rows: Floats
    labels: NDArray[np.int64]
    others: Floats
    truth: NDArray[np.int64]

    def scaled_by(self, part: NDArray[np.int64]) -> Fixed:
        """The same, scaled by some of the training examples only: what a selector sees if it is given these."""
        rows, others = standard(self.rows[:, :-1], self.others[:, :-1], part)
        return replace(self, rows=rows, others=others)


def standard(raw: Floats, other: Floats, part: Any = slice(None)) -> tuple[Floats, Floats]:
    """Columns of mean 0 and deviation 1 over a part of the training examples, and a column of ones."""
    centre, spread = raw[part].mean(axis=0), raw[part].std(axis=0)
    spread = np.where(spread > 1e-9, spread, np.inf)
    rows, others = (np.hstack([(x - centre) / spread, np.ones((len(x), 1))]) for x in (raw, other))
    return rows, others


def pretrained(data: str, images: int, epochs: int, seed: int) -> torch.nn.Module:
    """LeNet-5 trained on another data set."""
    source = sample(wn.open(data), images, seed)
    network = wn.models.build("lenet5", classes=source.outputs, shape=source.shape, seed=seed)
    train(network, Feed(source), wn.Recipe(epochs=epochs, batch=64, lr=3e-3), seed)
    return network.eval()


def fixed(data: str, n: int, test_size: int, images: int, epochs: int, repeat: int) -> Fixed:
    """A draw of the data with its features; everything random is of the repeat."""
    draw = seeds.number(0, "together", data, repeat)
    source, test = wn.open(data), wn.open(data, split="test")
    source = sample(source, n, draw) if n < len(source) else source
    test = sample(test, test_size, draw) if test_size < len(test) else test
    network = pretrained(ELSEWHERE[data], images, epochs, draw) if data in ELSEWHERE else None
    signals, seen = (wn.embed(part, "raw" if network is None else network) for part in (source, test))
    raw, other = (found.embeddings.reshape(len(found), -1).astype(np.float64) for found in (signals, seen))
    rows, others = standard(raw, other)
    labels, truth = (np.asarray(part.labels).astype(np.int64) for part in (signals, seen))
    return Fixed(source, test, network, signals, rows, labels, others, truth)
