"""What a search for near-duplicates has found so far, kept in the run directory now and then, to go on after a kill.

Rows come in blocks, in an order that depends on the data and the seed alone. After a kill the same command makes the
cells of the rows again and leaves out the blocks that were done. Nothing is kept without a run directory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..core.files import Pieces, fingerprint
from ..core.scratch_rows import let_go
from ..core.unfinished import next_piece
from ..training.checkpoint import keep_state, state_of

__all__ = ["PairSearch"]

READ = 65_536  # rows
EVERY = 300.0  # seconds between two times at which the search is kept


class PairSearch:
    """The usual distance around each row, how fast distances grow there, and pairs that may be near.

    Parameters
    ----------
    rows
        What is searched.
    depends
        What else decides the search: ids, seeds.
    every
        Seconds between two times at which it is kept; if not given, five minutes.

    Examples
    --------
    >>> found = PairSearch(np.zeros((2, 3)))
    >>> found.add(np.array([0, 1]), np.array([3.0, 3.0]), np.zeros(2), np.array([[0, 1]]))
    >>> found.done, found.pairs.tolist()
    (1, [[0, 1]])
    """

    def __init__(self, rows: NDArray[Any], *depends: object, every: float | None = None) -> None:
        self.typical, self.spread = (np.full(len(rows), np.nan, dtype=np.float32) for _ in range(2))
        self._pairs = [np.zeros((0, 2), dtype=np.int64)]
        self.done = 0  # blocks
        self._every, self._last = EVERY if every is None else every, time.monotonic()
        self._piece = next_piece()
        self._of = "" if self._piece is None else fingerprint(*depends, Pieces(rows.nbytes, lambda: _bytes(rows)))
        state = None if self._piece is None else state_of(self._piece)
        if state is not None and state.about.get("of") == self._of:
            self.typical, self.spread = (state.tensors[name].numpy().copy() for name in ("typical", "spread"))
            self._pairs = [state.tensors["pairs"].numpy().copy()]
            self.done = int(state.about["done"])

    @property
    def pairs(self) -> NDArray[np.int64]:
        """All pairs so far, as they were found."""
        if len(self._pairs) > 1:
            self._pairs = [np.concatenate(self._pairs)]
        return self._pairs[0]

    def add(
        self,
        where: NDArray[np.int64],
        typical: NDArray[np.floating],
        spread: NDArray[np.floating],
        pairs: NDArray[np.int64],
    ) -> None:
        """Add what was found in a block of rows."""
        self.typical[where], self.spread[where] = typical, spread
        self._pairs.append(pairs)
        self.done += 1
        if self._piece is not None and time.monotonic() - self._last >= self._every:
            held = {"typical": self.typical, "spread": self.spread, "pairs": self.pairs}
            tensors = {name: torch.from_numpy(one) for name, one in held.items()}
            keep_state(self._piece, tensors, {"done": self.done, "of": self._of})
            self._last = time.monotonic()


def _bytes(rows: NDArray[Any]) -> Iterator[bytes]:
    for start in range(0, len(rows), READ):
        yield rows[start : start + READ].tobytes()
        let_go(rows)
