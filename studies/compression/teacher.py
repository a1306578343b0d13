"""Teacher and students: a random two-layer ReLU network, noisy samples of it, and many small networks trained at once.

All students of a call start from the same weights, see the same number of steps, and differ only in the weighted
points that they are given. They are one batch of matrix products; optimisers that act on each number by itself train
them exactly as if each were alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from winnow.core import seeds

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """How students are trained: the rate falls to zero as a cosine."""

    optimiser: str
    lr: float
    batch: int | None
    steps: int

    def settings(self) -> dict[str, Any]:
        """Plain values, for names of results."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.optimiser} {self.lr:g}, {'full batch' if self.batch is None else f'batch {self.batch}'}"


@dataclass(frozen=True)
class Points:
    """Inputs, targets and weights to train on."""

    inputs: Array
    targets: Array
    weights: Array

    def __len__(self) -> int:
        return len(self.targets)

    def at(self, places: NDArray[np.int64], weights: Array | None = None) -> Points:
        """Some of them, with new weights or with equal ones."""
        return Points(self.inputs[places], self.targets[places], np.ones(len(places)) if weights is None else weights)


class Teacher:
    """A random two-layer ReLU network of two inputs, every weight and bias standard normal."""

    def __init__(self, width: int, seed: int) -> None:
        draw = seeds.stream(seed, "teacher")
        self._inner, self._bias, self._outer = (draw.standard_normal(shape) for shape in ((2, width), width, width))

    def __call__(self, inputs: Array) -> Array:
        """Outputs without noise."""
        return np.maximum(inputs @ self._inner + self._bias, 0.0) @ self._outer

    def sample(self, size: int, noise: float, seed: int, name: str) -> Points:
        """Points uniform in the square from -1 to 1, with targets blurred by normal noise."""
        draw = seeds.stream(seed, "points", name)
        inputs = draw.uniform(-1, 1, (size, 2))
        return Points(inputs, self(inputs) + noise * draw.standard_normal(size), np.ones(size))


class Students(torch.nn.Module):
    """Networks of one shape, side by side, all starting from the same weights, drawn as PyTorch does for `Linear`."""

    def __init__(self, count: int, width: int, seed: int) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(seed)

        def fresh(*shape: int, fan: int) -> torch.nn.Parameter:
            one = (2 * torch.rand(1, *shape, generator=draw) - 1) / fan**0.5
            return torch.nn.Parameter(one.repeat(count, *(1 for _ in shape)))

        self.inner, self.bias = fresh(2, width, fan=2), fresh(1, width, fan=2)
        self.outer, self.last = fresh(width, 1, fan=width), fresh(1, 1, fan=width)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Outputs (student, point) at inputs (student, point, 2)."""
        hidden = torch.baddbmm(self.bias, inputs, self.inner).relu_()
        return torch.baddbmm(self.last, hidden, self.outer)[..., 0]


def trained(arms: Sequence[Points], test: Points, rule: Rule, width: int, seed: int, marks: Sequence[int]) -> Array:
    """Test errors (arm, mark): mean squared error after so many steps of one student for each arm.

    Parameters
    ----------
    arms
        What each student is given.
    test
        Where errors are measured.
    rule
        How they are trained. Batches are drawn by weight, with the same numbers for every arm.
    width
        Of the students.
    seed
        Of initial weights and batches.
    marks
        The steps after which to measure, in increasing order.
    """
    students = Students(len(arms), width, seed)
    optimiser = _optimiser(students, rule)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, rule.steps)
    x, y, w = _stacked(arms)
    ends = w.double().cumsum(1)
    draw = torch.Generator().manual_seed(seed)
    errors = []
    for step in range(rule.steps + 1):
        if step in marks:
            errors.append(_errors(students, test))
        if step == rule.steps:
            break
        if rule.batch is None:
            loss = (w * (students(x) - y).square_()).sum()
        else:
            at = torch.searchsorted(ends, torch.rand(rule.batch, generator=draw, dtype=torch.float64) * ends[:, -1:])
            at.clamp_(max=w.shape[1] - 1)
            rows = torch.arange(len(arms))[:, None]
            loss = (students(x[rows, at]) - y[rows, at]).square_().mean(1).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        falling.step()
    return np.array(errors).T


def _optimiser(students: Students, rule: Rule) -> torch.optim.Optimizer:
    if rule.optimiser == "AdamW":
        return torch.optim.AdamW(students.parameters(), lr=rule.lr)
    return torch.optim.SGD(students.parameters(), lr=rule.lr, momentum=0.9 if rule.optimiser == "momentum" else 0.0)


def _stacked(arms: Sequence[Points]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Arms as tensors of one length, padded with points of no weight; the weights of each arm sum to 1."""
    longest = max(len(arm) for arm in arms)

    def stack(rows: list[Array]) -> torch.Tensor:
        padded = [np.pad(row, [(0, longest - len(row)), *[(0, 0)] * (row.ndim - 1)]) for row in rows]
        return torch.tensor(np.stack(padded), dtype=torch.float32)

    return (
        stack([arm.inputs for arm in arms]),
        stack([arm.targets for arm in arms]),
        stack([arm.weights / arm.weights.sum() for arm in arms]),
    )


@torch.no_grad()
def _errors(students: Students, test: Points) -> list[float]:
    inputs = torch.tensor(test.inputs, dtype=torch.float32).expand(len(students.last), -1, -1)
    outputs = students(inputs).double().numpy()
    return [float(value) for value in np.mean((outputs - test.targets) ** 2, axis=1)]
