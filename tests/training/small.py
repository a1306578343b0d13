"""Small sources and networks for the tests of training."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from winnow.artefacts import Source


def source_of(x: Any, y: Any, task: str = "classification", kind: str = "table") -> Source:
    values = np.asarray(x)
    classes = tuple(map(str, range(int(np.max(y)) + 1))) if task == "classification" else ()
    return Source(
        name="small",
        read=lambda where: values[where],
        size=len(values),
        shape=values.shape[1:],
        kind=kind,
        task=task,
        labels=np.asarray(y),
        classes=classes,
        make_ids=np.array([f"i{k:04d}" for k in range(len(values))]),
    )


def clouds(n: int = 120, seed: int = 0) -> Source:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return source_of((rng.standard_normal((n, 2)) + 3 * y[:, None]).astype(np.float32), y)


def pictures(n: int = 40, seed: int = 0) -> Source:
    rng = np.random.default_rng(seed)
    return source_of(rng.integers(0, 256, (n, 3, 8, 10), dtype=np.uint8), np.arange(n) % 2, kind="image")


def network(inputs: int = 2, outputs: int = 2, seed: int = 0) -> torch.nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(inputs, 8), torch.nn.ReLU(), torch.nn.Linear(8, outputs)
        )


def bits(model: torch.nn.Module) -> bytes:
    return b"".join(value.detach().numpy().tobytes() for value in model.state_dict().values())
