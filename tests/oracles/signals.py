"""Slow, obvious twins of observing: the training loop written out, and gradients one example at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from winnow.artefacts import Source
from winnow.core.seeds import number, stream
from winnow.models import build
from winnow.training import Recipe


@dataclass(frozen=True)
class Watched:
    """What the twin saw, examples sorted by id: outputs after each epoch and as training went, and the model."""

    after: NDArray[Any]
    during: NDArray[Any]
    model: torch.nn.Module
    inputs: torch.Tensor
    targets: torch.Tensor


def scaled_inputs(source: Source) -> tuple[torch.Tensor, torch.Tensor]:
    """All examples sorted by id, each channel (or column) with mean 0 and deviation 1, and their labels."""
    ids = sorted(source.ids.tolist())
    values = source.fetch(ids).astype(np.float64) / (255 if source.kind == "image" else 1)
    axes = (0,) if values.ndim == 2 else (0, *range(2, values.ndim))
    mean, std = values.mean(axes, keepdims=True), values.std(axes, keepdims=True)
    std[std < 1e-6] = 1
    labels = np.asarray(source.labels)[source.positions(ids)]
    return torch.tensor((values - mean) / std, dtype=torch.float32), torch.tensor(labels)


def watch(source: Source, name: str, recipe: Recipe, which: int, seed: int = 0) -> Watched:
    """Train with AdamW and a cosine, one explicit step after the other, without augmentation."""
    x, y = scaled_inputs(source)
    model = build(name, classes=len(source.classes), shape=source.shape, seed=number(seed, "init", which))
    training_seed = number(seed, "training", which)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=recipe.weight_decay)
    per_epoch = math.ceil(len(x) / recipe.batch)
    total, step = recipe.epochs * per_epoch, 0
    after, during = [], []
    for epoch in range(recipe.epochs):
        model.train()
        order = stream(training_seed, "batches", epoch).permutation(len(x))
        seen = torch.zeros(len(x), len(source.classes))
        for first in range(0, len(x), recipe.batch):
            where = order[first : first + recipe.batch]
            optimizer.param_groups[0]["lr"] = 1e-3 * 0.5 * (1 + math.cos(math.pi * (step + 0.5) / total))
            output = model(x[where])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(output, y[where]).backward()
            optimizer.step()
            seen[where] = output.detach()
            step += 1
        model.eval()
        with torch.no_grad():
            after.append(model(x).numpy())
        during.append(seen.numpy())
    return Watched(np.stack(after), np.stack(during), model, x, y)


def gradient(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> NDArray[np.float64]:
    """The loss gradient of one example over all parameters, by plain autograd."""
    model.eval()
    model.zero_grad()
    output = model(x[None])
    if y.dtype == torch.int64:
        loss = torch.nn.functional.cross_entropy(output, y[None])
    else:
        loss = (output[0] - y).square().mean()
    loss.backward()
    return np.concatenate([p.grad.double().numpy().ravel() for p in model.parameters() if p.grad is not None])


def gradients(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> NDArray[np.float64]:
    """Gradients of several examples, one after the other."""
    return np.stack([gradient(model, x[i], y[i]) for i in range(len(x))])


def sketch(vectors: NDArray[np.float64], dim: int, seed: int) -> NDArray[np.float64]:
    """The sparse projection with its matrix written out: one random sign in one random row of each column."""
    size = vectors.shape[1]
    rng = stream(seed, "projection", size, dim)
    rows = rng.integers(0, dim, size)
    signs = rng.integers(0, 2, size, dtype="int8") * 2.0 - 1.0
    matrix = np.zeros((dim, size))
    for column in range(size):
        matrix[rows[column], column] = signs[column]
    return vectors @ matrix.T
