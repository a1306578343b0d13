"""Per-example gradients of a batch, stored as the factors they are made of.

The gradient of an example with respect to a layer's weights is a sum over positions (one for a plain layer, the pixels
of a convolution, the tokens of a sequence) of g a^T, with a the layer's input there and g the gradient of its output.
The gradient itself is rarely needed: inner products of two such sums follow from a . a' and g . g'.

    Factors     a and g of a single position per example              (a . a') (g . g')
    Positions   a and g of several positions, where they are few      sum over pairs of positions of (a . a') (g . g')
    DenseRows   one dense row per example                             norms, the rest
    KernelRows  the same, for a convolution, in the order that its products are computed in

Captures of many batches are written into one `Panel`, allocated once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch.nn import functional

from ...core.jit import summing
from ...models.projection import RotatedProjection

__all__ = ["Capture", "DenseRows", "Factors", "KernelRows", "Panel", "Piece", "Positions", "product"]

Tensor = torch.Tensor
CHUNK = 1 << 24  # numbers of a product of positions held in memory at a time
TILE = 1024  # rows multiplied at a time, so that a block stays in the processor's cache
_PLAIN: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None)


def product(a: Tensor, b: Tensor) -> Tensor:
    """Return a b^T.

    In single precision by oneDNN, whose product of matrices takes half the time of torch's own on processors for which
    the latter has no wide instructions (measured by `benchmarks/lpntk.py`). It rearranges b, so b should be the smaller
    of the two. The operator that takes plain tensors copies neither; a torch without it gets the public one.
    """
    if a.dtype == torch.float32 == b.dtype and torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        if _PLAIN is None:
            return functional.linear(a.to_mkldnn(), b).to_dense()
        found: Tensor = _PLAIN(a, b, None, "none", [], "")
        return found
    return a @ b.T


@dataclass(frozen=True)
class DenseRows:
    """Gradients of a batch as dense rows."""

    rows: Tensor

    def add_gram(self, other: DenseRows, total: Tensor) -> None:
        """Add the inner products of all pairs."""
        total += product(self.rows, other.rows)

    def dense(self) -> Tensor:
        """Return the rows themselves."""
        return self.rows

    def add_projected(self, projection: RotatedProjection, out: Tensor, start: int) -> int:
        """Add the projection of the gradients, whose first coordinate is `start`; return the next one's."""
        rows = self.dense()
        projection.add(out, rows, start)
        return start + rows.shape[1]

    def numbers(self) -> int:
        """How many numbers are held."""
        return self.rows.numel()


@dataclass(frozen=True)
class KernelRows(DenseRows):
    """Gradients of a convolution: per row of its kernel outputs x (inputs, columns of the kernel), then the biases."""

    shape: tuple[int, int, int, int] = (1, 1, 1, 1)  # rows, outputs, inputs, columns

    def dense(self) -> Tensor:
        """The gradients in the order of the weights, each output's bias behind its weights."""
        high, outputs, inputs, wide = self.shape
        count = high * outputs * inputs * wide
        weights = self.rows[:, :count].reshape(-1, *self.shape).permute(0, 2, 3, 1, 4).flatten(2)
        if self.rows.shape[1] > count:
            weights = torch.cat([weights, self.rows[:, count:].unsqueeze(2)], 2)
        return weights.flatten(1)


@dataclass(frozen=True)
class Factors:
    """Gradients of a batch as inputs (batch x in) and output gradients (batch x out), one position per example."""

    inputs: Tensor
    outputs: Tensor

    def add_gram(self, other: Factors, total: Tensor) -> None:
        """Add the inner products of all pairs: (a . a') (g . g')."""
        total.addcmul_(product(self.inputs, other.inputs), product(self.outputs, other.outputs))

    def dense(self) -> Tensor:
        """The gradients as rows."""
        return torch.einsum("bo,bi->boi", self.outputs, self.inputs).flatten(1)

    def add_projected(self, projection: RotatedProjection, out: Tensor, start: int) -> int:
        """Add the projection of the gradients without forming them; return the coordinate behind them."""
        a, g = self.inputs.numpy(), self.outputs.numpy()
        end = start + int(a.shape[1] * g.shape[1])
        first = start // projection.dim
        _add_outer(out.numpy(), g, a, projection.signs[start:end], projection.turns[first:], start % projection.dim)
        return end

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

    def add_gram(self, other: Positions, total: Tensor) -> None:
        """Add the inner products of all pairs, a few examples at a time to limit the products of positions held."""
        (n, t), (m, u) = self.inputs.shape[:2], other.inputs.shape[:2]
        a, g = other.inputs.flatten(0, 1), other.outputs.flatten(0, 1)
        step = max(1, CHUNK // (t * m * u))
        for first in range(0, n, step):
            part = slice(first, min(first + step, n))
            mine = self.inputs[part].flatten(0, 1)
            both = mine[:, None] == a[None] if self.table else product(mine, a)
            products = product(self.outputs[part].flatten(0, 1), g).mul_(both)
            total[part] += products.view(part.stop - first, t, m, u).sum((1, 3))

    def dense(self) -> Tensor:
        """The gradients as rows."""
        if not self.table:
            return torch.bmm(self.outputs.transpose(1, 2), self.inputs).flatten(1)
        rows = self.outputs.new_zeros(len(self.outputs), self.table, self.outputs.shape[2])
        return rows.scatter_add_(1, self.inputs.unsqueeze(2).expand_as(self.outputs), self.outputs).flatten(1)

    def add_projected(self, projection: RotatedProjection, out: Tensor, start: int) -> int:
        """Add the projection of the gradients; return the coordinate behind them."""
        return DenseRows(self.dense()).add_projected(projection, out, start)

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
        """Inner products of all pairs of examples of two batches, of which the other should be the smaller."""
        total = self.logits.new_zeros(len(self.logits), len(other.logits))
        for first in range(0, len(total), TILE):
            tile, part = total[first : first + TILE], self.rows(slice(first, first + TILE))
            for mine, theirs in zip(part.pieces, other.pieces, strict=True):
                if type(mine) is type(theirs):
                    mine.add_gram(cast(Any, theirs), tile)
                else:  # inputs of another size, for which another representation is the cheapest
                    tile += product(mine.dense(), theirs.dense())
        return total

    def rows(self, where: slice) -> Capture:
        """The gradients of some examples, without copying them."""
        pieces = tuple(_holding(p, {name: t[where] for name, t in _held(p).items()}) for p in self.pieces)
        return Capture(pieces, self.logits[where])

    def dense(self, projection: RotatedProjection | None) -> Tensor:
        """The gradients as rows, whole, or projected piece by piece."""
        if projection is None:
            return torch.cat([piece.dense() for piece in self.pieces], 1)
        out = self.logits.new_zeros(len(self.logits), projection.dim)
        start = 0
        for piece in self.pieces:
            start = piece.add_projected(projection, out, start)
        return out


class Panel:
    """Captures of consecutive batches, written behind each other.

    Parameters
    ----------
    size
        How many examples there is room for; the memory is allocated with the first batch.
    """

    def __init__(self, size: int) -> None:
        self._size, self.filled = size, 0
        self._whole: Capture | None = None

    def append(self, batch: Capture) -> None:
        """Write a batch behind the others."""
        if self._whole is None:
            self._whole = _room(batch, self._size)
        here = self._whole.rows(slice(self.filled, self.filled + len(batch.logits)))
        for room, piece in zip(here.pieces, batch.pieces, strict=True):
            for name, values in _held(piece).items():
                target = getattr(room, name)
                if target.data_ptr() != values.data_ptr():  # else it was written there
                    target.copy_(values)
        here.logits.copy_(batch.logits)
        self.filled += len(batch.logits)

    def room(self, count: int) -> Capture | None:
        """Where the next examples will be written, once the memory is allocated."""
        return None if self._whole is None else self._whole.rows(slice(self.filled, self.filled + count))

    def empty(self) -> None:
        """Start again at the first row."""
        self.filled = 0

    def capture(self, start: int = 0) -> Capture:
        """What was written so far, from an example on."""
        if self._whole is None:
            raise ValueError("nothing was written to this panel")
        return self._whole.rows(slice(start, self.filled))


def _held(piece: Piece) -> dict[str, Tensor]:
    return {name: value for name, value in vars(piece).items() if isinstance(value, Tensor)}


def _holding(piece: Piece, values: dict[str, Tensor]) -> Piece:
    made: Piece = replace(cast(Any, piece), **values)
    return made


def _room(batch: Capture, size: int) -> Capture:
    pieces = tuple(
        _holding(p, {name: t.new_empty(size, *t.shape[1:]) for name, t in _held(p).items()}) for p in batch.pieces
    )
    return Capture(pieces, batch.logits.new_empty(size, *batch.logits.shape[1:]))


@summing
def _add_outer(out: Any, g: Any, a: Any, signs: Any, turns: Any, start: int) -> None:
    """Add the projections of g a^T, one example per row; runs are counted from the one that holds the start."""
    dim, wide = out.shape[1], a.shape[1]
    for o in range(g.shape[1]):
        at = 0
        while at < wide:  # up to where a run ends, or wraps around
            place = (start + o * wide + at) % dim
            to = (place + turns[(start + o * wide + at) // dim]) % dim
            length = min(wide - at, dim - place, dim - to)
            sign = signs[o * wide + at : o * wide + at + length]
            for row in range(out.shape[0]):
                slope = g[row, o]
                target, values = out[row, to : to + length], a[row, at : at + length]
                for i in range(length):
                    target[i] += slope * sign[i] * values[i]
            at += length
