"""Per-example gradients of a batch, stored as the factors they are made of.

The gradient of an example with respect to a layer's weights is a sum over positions (one for a plain layer, the pixels
of a convolution, the tokens of a sequence) of g a^T, with a the layer's input there and g the gradient of its output.
The gradient itself is rarely needed: inner products of two such sums follow from a . a' and g . g'.

    Factors     a and g of a single position per example              (a . a') (g . g')
    Positions   a and g of several positions, where they are few      sum over pairs of positions of (a . a') (g . g')
    DenseRows   one dense row per example                             convolutions, norms, the rest
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import torch

from ...models.projection import SparseProjection

__all__ = ["Capture", "Factors", "Piece", "Positions", "DenseRows", "joined"]

Tensor = torch.Tensor
CHUNK = 1 << 24  # numbers of a product of positions held in memory at a time


@dataclass(frozen=True)
class DenseRows:
    """Gradients of a batch as dense rows."""

    rows: Tensor

    def gram(self, other: DenseRows) -> Tensor:
        """Inner products of all pairs."""
        return self.rows @ other.rows.T

    def dense(self) -> Tensor:
        """Return the rows themselves."""
        return self.rows

    def numbers(self) -> int:
        """How many numbers are held."""
        return self.rows.numel()


@dataclass(frozen=True)
class Factors:
    """Gradients of a batch as inputs (batch x in) and output gradients (batch x out), one position per example."""

    inputs: Tensor
    outputs: Tensor

    def gram(self, other: Factors) -> Tensor:
        """Inner products of all pairs: (a . a') (g . g')."""
        return (self.inputs @ other.inputs.T).mul_(self.outputs @ other.outputs.T)

    def dense(self) -> Tensor:
        """The gradients as rows."""
        return torch.einsum("bo,bi->boi", self.outputs, self.inputs).flatten(1)

    def numbers(self) -> int:
        """How many numbers are held."""
        return self.inputs.numel() + self.outputs.numel()


@dataclass(frozen=True)
class Positions:
    """Gradients of a batch as inputs (batch x positions x in) and output gradients (batch x positions x out).

    For an embedding the inputs are tokens (batch x positions), each standing for a unit vector of length `table`.
    """

    inputs: Tensor
    outputs: Tensor
    table: int = 0

    def gram(self, other: Positions) -> Tensor:
        """Inner products of all pairs, a few examples at a time to limit the products of positions held in memory."""
        (n, t), (m, u) = self.inputs.shape[:2], other.inputs.shape[:2]
        out = self.outputs.new_empty(n, m)
        a, g = other.inputs.flatten(0, 1), other.outputs.flatten(0, 1)
        step = max(1, CHUNK // (t * m * u))
        for first in range(0, n, step):
            part = slice(first, min(first + step, n))
            mine = self.inputs[part].flatten(0, 1)
            both = mine[:, None] == a[None] if self.table else mine @ a.T
            total = (self.outputs[part].flatten(0, 1) @ g.T).mul_(both)
            out[part] = total.view(part.stop - first, t, m, u).sum((1, 3))
        return out

    def dense(self) -> Tensor:
        """The gradients as rows."""
        if not self.table:
            return torch.bmm(self.outputs.transpose(1, 2), self.inputs).flatten(1)
        rows = self.outputs.new_zeros(len(self.outputs), self.table, self.outputs.shape[2])
        return rows.scatter_add_(1, self.inputs.unsqueeze(2).expand_as(self.outputs), self.outputs).flatten(1)

    def numbers(self) -> int:
        """How many numbers are held."""
        return self.inputs.numel() + self.outputs.numel()


Piece = DenseRows | Factors | Positions


@dataclass(frozen=True)
class Capture:
    """The gradients of a batch: pieces in the order of the network's layers, those computed the slow way last."""

    pieces: tuple[Piece, ...]
    logits: Tensor

    def gram(self, other: Capture) -> Tensor:
        """Inner products of all pairs of examples of two batches."""
        total = self.logits.new_zeros(len(self.logits), len(other.logits))
        for mine, theirs in zip(self.pieces, other.pieces, strict=True):
            if type(mine) is type(theirs):
                total += mine.gram(cast(Any, theirs))
            else:  # inputs of another size, for which another representation is the cheapest
                total += mine.dense() @ theirs.dense().T
        return total

    def dense(self, projection: SparseProjection | None) -> Tensor:
        """The gradients as rows, whole, or projected piece by piece."""
        if projection is None:
            return torch.cat([piece.dense() for piece in self.pieces], 1)
        out = self.logits.new_zeros(len(self.logits), projection.dim)
        start = 0
        for piece in self.pieces:
            rows = piece.dense()
            projection.add(out, rows, start)
            start += rows.shape[1]
        return out


def joined(parts: list[Capture]) -> Capture:
    """Join captures of consecutive batches into one."""
    if len(parts) == 1:
        return parts[0]
    pieces = []
    for same in zip(*(part.pieces for part in parts), strict=True):
        held = {name: value for name, value in vars(same[0]).items() if isinstance(value, Tensor)}
        together: dict[str, Any] = {name: torch.cat([getattr(piece, name) for piece in same]) for name in held}
        pieces.append(replace(same[0], **together))
    return Capture(tuple(pieces), torch.cat([part.logits for part in parts]))
