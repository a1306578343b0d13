"""A map of the examples in two dimensions: principal components of their features, or UMAP of these.

Features are centred and rotated onto their principal components. The first two are the map.
UMAP, which is optional, starts from the first components instead of all features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.example_map import ExampleMap
from ..artefacts.provenance import record
from ..core import checks
from ..core.errors import MissingDependencyError
from ..core.seeds import number

__all__ = ["METHODS", "map_layout"]

METHODS = ("pca", "umap")
COMPONENTS = 24  # kept to find neighbours in
BLOCK = 65_536
EDGE = 0.005  # share of the points beyond the rim on each side, so that one far outlier does not squeeze the rest
RIM = 0.86  # where the rim begins


def map_layout(
    ids: NDArray[Any], rows: NDArray[Any], method: str = "pca", *, features: str, seed: int = 0
) -> ExampleMap:
    """Lay examples out in the plane.

    Parameters
    ----------
    ids
        Ids of the examples.
    rows
        Their features, one row per example.
    method
        `pca`, or `umap` if it is installed.
    features
        What the rows are, in words.
    seed
        Seed of UMAP.
    """
    checks.choice("method", "map", method, METHODS)
    flat = np.asarray(rows).reshape(len(ids), -1)
    parts, shares = _components(flat)
    points = parts[:, :2] if method == "pca" else _umap(parts, seed)
    if points.shape[1] < 2:
        points = np.column_stack([points, np.zeros((len(ids), 2 - points.shape[1]))])
    return ExampleMap(
        ids,
        _within(points),
        parts,
        method,
        features,
        tuple(shares[:2]) if method == "pca" else (),
        record("map", {"method": method, "seed": seed, "features": features}, {}),
    )


def _components(flat: NDArray[Any]) -> tuple[NDArray[np.float32], list[float]]:
    """The first principal components of each row, and the share of the variance that each has."""
    n, width = flat.shape
    mean = np.zeros(width)
    for start in range(0, n, BLOCK):
        mean += flat[start : start + BLOCK].sum(axis=0, dtype=np.float64)
    mean /= n
    spread = np.zeros((width, width))
    for start in range(0, n, BLOCK):
        part = flat[start : start + BLOCK] - mean
        spread += part.T @ part
    values, vectors = np.linalg.eigh(spread / n)
    kept = min(COMPONENTS, width)
    axes = vectors[:, ::-1][:, :kept]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(kept)] + 1e-30)  # the same sign on any machine
    found = np.empty((n, kept), dtype=np.float32)
    for start in range(0, n, BLOCK):
        found[start : start + BLOCK] = (flat[start : start + BLOCK] - mean) @ axes
    total = float(values.sum()) or 1.0
    found /= np.float32(np.sqrt(max(total, 1e-30)))
    return found, [max(0.0, float(value)) / total for value in values[::-1][:kept]]


def _umap(parts: NDArray[np.float32], seed: int) -> NDArray[Any]:
    try:
        import umap
    except ImportError:
        raise MissingDependencyError(
            "a map by UMAP needs umap-learn; install it with: pip install umap-learn, or use the map pca"
        ) from None
    made = umap.UMAP(n_components=2, random_state=number(seed, "map") % 2**31)
    return np.asarray(made.fit_transform(parts))


def _within(points: NDArray[Any]) -> NDArray[np.float32]:
    """The points moved and scaled into [-1, 1], with the same scale on both axes; far ones are drawn in to the rim."""
    low, high = np.quantile(points, (EDGE, 1 - EDGE), axis=0)
    half = max(float((high - low).max()) / 2, 1e-12)
    found = (points - (low + high) / 2) / half * RIM
    beyond = np.maximum(np.abs(found) - RIM, 0)
    drawn_in = np.sign(found) * (RIM + (1 - RIM) * -np.expm1(-beyond / RIM))
    return np.asarray(np.where(beyond > 0, drawn_in, found), dtype=np.float32)
