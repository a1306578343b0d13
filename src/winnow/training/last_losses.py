"""The last loss of every example, as a `DynamicSampler` knows it: what the epoch was drawn by, and what came since.

Losses of batches wait as they are, so that no step waits for a GPU, and are read together when they are needed. Several
processes share theirs then (`share`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DivergedError, InputError

if TYPE_CHECKING:
    import torch

__all__ = ["LastLosses", "Reduce"]

Reduce = Callable[[NDArray[np.float32]], NDArray[np.float32]]  # sums an array over the processes


class LastLosses:
    """Losses by position, NaN where none is known.

    Parameters
    ----------
    n
        Number of examples.
    reduce
        Sums an array over the processes; that of torch.distributed if not given.

    Examples
    --------
    >>> import torch
    >>> last = LastLosses(3)
    >>> last.add(np.array([2, 0]), torch.tensor([0.5, 2.0]))
    >>> last.renew(), last.drawn_by.tolist()
    (True, [2.0, nan, 0.5])
    """

    def __init__(self, n: int, reduce: Reduce | None = None) -> None:
        self.drawn_by = np.full(n, np.nan, dtype=np.float32)  # what the current epoch is drawn by
        self.fresh = np.full(n, np.nan, dtype=np.float32)  # losses since then, as far as they were read
        self._reduce = _all_reduce if reduce is None else reduce
        self._pending: list[tuple[NDArray[np.int64], torch.Tensor, int]] = []  # not copied, so that a GPU need not wait

    def add(self, where: NDArray[np.int64], losses: torch.Tensor) -> None:
        """Note the losses of a batch."""
        self._pending.append((where, losses.detach(), losses._version))  # a copy would cost as much as the sum

    def read(self) -> None:
        """Read the losses that wait; raise if one is not finite or was changed."""
        if not self._pending:
            return
        import torch

        if any(part._version != version for _, part, version in self._pending):
            raise InputError("losses of DynamicSampler.weigh must not be changed in place afterwards; they were.")
        where = np.concatenate([positions for positions, _, _ in self._pending])
        losses = (
            torch.cat([part for _, part, _ in self._pending]).float().cpu().numpy()
        )  # one copy from a GPU, not one per batch
        finite = np.isfinite(losses)
        if not finite.all():
            first = where[np.argmin(finite)]
            raise DivergedError(f"the loss of position {first} is NaN or infinite; lower the learning rate.")
        self.fresh[where] = losses  # of a position that comes twice, the last counts
        self._pending.clear()

    def share(self) -> None:
        """Share what came since the epoch began among the processes; call on all."""
        self.read()
        seen = np.isfinite(self.fresh)
        total = self._reduce(np.stack([np.where(seen, self.fresh, 0), seen]).astype(np.float32))
        self.fresh = np.divide(total[0], total[1], out=np.full_like(self.fresh, np.nan), where=total[1] > 0)

    def renew(self) -> bool:
        """Let the next epoch be drawn by what came since, on all processes; whether anything did."""
        if not self._pending and not np.isfinite(self.fresh).any():
            return False
        self.share()
        self.drawn_by = np.where(np.isfinite(self.fresh), self.fresh, self.drawn_by)
        self.fresh = np.full_like(self.fresh, np.nan)
        return True

    def load(self, drawn_by: NDArray[np.float32], fresh: NDArray[np.float32]) -> None:
        """Go on from these."""
        self.drawn_by, self.fresh, self._pending = drawn_by, fresh, []


def _all_reduce(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sum over the processes of torch.distributed; the values themselves if there is only one."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return values
    held = torch.from_numpy(values).to("cuda" if torch.distributed.get_backend() == "nccl" else "cpu")
    torch.distributed.all_reduce(held)
    return np.asarray(held.cpu().numpy())
