"""Many small models trained at once, on random draws from one training set, each draw with several seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

CLASSES, INPUTS, SOURCE, BATCH = 5, 20, 4000, 50


@dataclass(frozen=True)
class Bank:
    """Which model is right on which example of a large test set: draws x seeds x examples."""

    right: NDArray[np.bool_]


def examples(seed: int, count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Inputs and labels: the classes are those of a fixed random network, 5 % of the labels are random."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(7)
    first, second = fixed.normal(size=(INPUTS, 30)) / np.sqrt(INPUTS), fixed.normal(size=(30, CLASSES))
    inputs = rng.normal(size=(count, INPUTS))
    labels = np.argmax(np.tanh(2 * inputs @ first) @ second, 1)
    return inputs.astype(np.float32), blurred(labels, 0.05, rng)


def blurred(labels: NDArray[np.int64], share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Labels of which a share is drawn at random."""
    return np.where(rng.random(labels.shape) < share, rng.integers(0, CLASSES, labels.shape), labels)


def trained(
    hidden: int,
    draws: int = 50,
    seeds: int = 5,
    size: int = 1000,
    wrong: float = 0.0,
    population: int = 20_000,
    epochs: int = 10,
) -> Bank:
    """Train one model per draw and seed, all side by side.

    Parameters
    ----------
    hidden
        Width of the hidden layer; 0 is a linear model, started from zero.
    draws, seeds, size
        The number of random draws, seeds of each, and examples in each.
    wrong
        Share of random labels, added to the draws so that they are worse than random ones.
    population
        Test examples.
    epochs
        Passes over a draw.
    """
    inputs, labels = examples(1, SOURCE)
    rng = np.random.default_rng(3)
    chosen = np.stack([rng.choice(SOURCE, size, replace=False) for _ in range(draws)])
    targets = np.repeat(blurred(labels[chosen], wrong, np.random.default_rng(4)), seeds, 0)
    x, y = torch.from_numpy(np.repeat(inputs[chosen], seeds, 0)), torch.from_numpy(targets)
    numbers = [torch.Generator().manual_seed(seed) for seed in range(seeds)] * draws
    layers = _layers(hidden, numbers)
    optimizer = torch.optim.Adam([part for layer in layers for part in layer], lr=0.01)
    steps = epochs * (size // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=steps + 1)
    models = torch.arange(len(x))[:, None]
    for step in range(steps):
        if step % (size // BATCH) == 0:
            order = torch.stack([torch.randperm(size, generator=number) for number in numbers])
        part = order[:, step % (size // BATCH) * BATCH :][:, :BATCH]
        outputs = _outputs(layers, x[models, part])
        losses = torch.nn.functional.cross_entropy(outputs.flatten(0, 1), y[models, part].flatten(), reduction="sum")
        optimizer.zero_grad()
        (losses / BATCH).backward()
        optimizer.step()
        schedule.step()
    tests, truth = examples(2, population)
    with torch.no_grad():
        parts = [
            _outputs(layers, torch.from_numpy(tests[start : start + 1000])).argmax(-1).numpy()
            for start in range(0, population, 1000)
        ]
    return Bank((np.concatenate(parts, 1) == truth).reshape(draws, seeds, population))


def _layers(hidden: int, numbers: list[torch.Generator]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    shapes = [(INPUTS, hidden), (hidden, CLASSES)] if hidden else [(INPUTS, CLASSES)]
    made = []
    for rows, columns in shapes:
        scale = 1 / rows**0.5 if hidden else 0.0
        weights = torch.stack([scale * torch.randn(rows, columns, generator=number) for number in numbers])
        made.append((weights.requires_grad_(), torch.zeros(len(numbers), 1, columns, requires_grad=True)))
    return made


def _outputs(layers: list[tuple[torch.Tensor, torch.Tensor]], inputs: torch.Tensor) -> torch.Tensor:
    for number, (weights, bias) in enumerate(layers):
        inputs = (torch.relu(inputs) if number else inputs) @ weights + bias
    return inputs
