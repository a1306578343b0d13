"""Small data to check: smooth random images and tables."""

from __future__ import annotations

import io

import numpy as np
import torch
from PIL import Image

import winnow as wn


def images(n: int, seed: int = 0, side: int = 24, channels: int = 1) -> np.ndarray:
    """Smooth random images, uint8, n x channels x side x side."""
    draw = np.random.default_rng(seed)
    coarse = torch.from_numpy(draw.normal(size=(n, channels, 6, 6)))
    fine = torch.nn.functional.interpolate(coarse, size=(side, side), mode="bicubic").numpy()
    fine += 0.1 * draw.normal(size=fine.shape)
    low, high = fine.min(axis=(1, 2, 3), keepdims=True), fine.max(axis=(1, 2, 3), keepdims=True)
    return (20 + 200 * (fine - low) / (high - low)).astype(np.uint8)


def jpeg(x: np.ndarray) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(x[0]).save(file, "JPEG", quality=50)
    return np.asarray(Image.open(io.BytesIO(file.getvalue())))[None]


def moved(x: np.ndarray) -> np.ndarray:
    return np.pad(x, ((0, 0), (0, 2), (2, 0)), mode="edge")[:, 2:, :-2]


def darker(x: np.ndarray) -> np.ndarray:
    return (x * 0.8).astype(np.uint8)


def table(n: int = 400, width: int = 8, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return (draw.normal(size=(n, width)) @ draw.normal(size=(width, width)) + 5).astype(np.float32)


def named(values: np.ndarray, labels: object = None, prefix: str = "e") -> wn.Source:
    """A source whose ids say nothing about the content."""
    ids = [f"{prefix}{place:05d}" for place in range(len(values))]
    return wn.open(values if labels is None else (values, labels), ids=ids)
