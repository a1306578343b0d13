"""Sparse random projections that never hold their matrix.

Each of P parameters is added, with a random sign, to one of p coordinates (a count sketch): inner products are
preserved in expectation, <Rg, Rh> = <g, h>, with variance of order |g|^2 |h|^2 / p, at the cost of one addition per
parameter and two vectors of length P.

`RotatedProjection` draws the coordinates in runs: P is cut into runs of p parameters, and each run is rotated by a
random amount. Two parameters of one run never meet and two of different runs meet with probability 1 / p, so the
variance is no larger; and whole runs are added instead of single numbers, which is many times faster.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ..core.seeds import stream

__all__ = ["RotatedProjection", "SparseProjection"]


class SparseProjection:
    """Projection of vectors of length `size`, given in pieces, to `dim` coordinates.

    Parameters
    ----------
    size
        Length of the vectors, such as the number of parameters.
    dim
        Length after projection.
    seed
        Seed of buckets and signs.
    """

    def __init__(self, size: int, dim: int, seed: int) -> None:
        rng = stream(seed, "projection", size, dim)
        self.dim = dim
        self._bucket = torch.from_numpy(rng.integers(0, dim, size))
        self._sign = torch.from_numpy(rng.integers(0, 2, size, dtype="int8")).float().mul_(2).sub_(1)

    def add(self, out: torch.Tensor, piece: torch.Tensor, start: int) -> None:
        """Add the projection of coordinates `start` onwards, a batch x length matrix, to `out` (batch x dim)."""
        end = start + piece.shape[1]
        out.index_add_(1, self._bucket[start:end].to(out.device), piece * self._sign[start:end].to(out.device))


class RotatedProjection:
    """Projection of vectors of length `size`, given in pieces, to `dim` coordinates, in rotated runs.

    Parameters
    ----------
    size
        Length of the vectors, such as the number of parameters.
    dim
        Length after projection.
    seed
        Seed of rotations and signs.
    """

    def __init__(self, size: int, dim: int, seed: int) -> None:
        rng = stream(seed, "rotated projection", size, dim)
        self.dim = dim
        self.turns: NDArray[np.int64] = rng.integers(0, dim, -(-size // dim))
        self.signs: NDArray[np.float32] = rng.integers(0, 2, size, dtype="int8").astype(np.float32) * 2 - 1

    def add(self, out: torch.Tensor, piece: torch.Tensor, start: int) -> None:
        """Add the projection of coordinates `start` onwards, a batch x length matrix, to `out` (batch x dim)."""
        end = start + piece.shape[1]
        signed = piece * torch.from_numpy(self.signs[start:end]).to(out)
        at = start
        while at < end:  # up to where a run ends, or wraps around
            run, place = divmod(at, self.dim)
            to = (place + int(self.turns[run])) % self.dim
            length = min(end - at, self.dim - place, self.dim - to)
            out[:, to : to + length] += signed[:, at - start : at - start + length]
            at += length
