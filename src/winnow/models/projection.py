"""Sparse random projection that never holds its matrix.

Each of P parameters is added, with a random sign, to one of p coordinates (a count sketch): inner products are
preserved in expectation, <Rg, Rh> = <g, h>, with variance of order |g|^2 |h|^2 / p, at the cost of one addition per
parameter and two vectors of length P.
"""

from __future__ import annotations

import torch

from ..core.seeds import stream

__all__ = ["SparseProjection"]


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
