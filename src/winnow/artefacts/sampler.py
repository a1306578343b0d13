"""WeightedSampler: the order in which a loader visits a subset, epoch by epoch.

With equal weights, an epoch is a shuffle. With unequal ones, it has as many draws with replacement as there are
examples. With w_i the weights of n examples, the target for example i is e_i = n w_i / sum(w) draws per epoch.
`systematic` draws place the e_i end to end on a line of length n, in a new random order each epoch, and draw an example
as often as one of the points u, u + 1, ..., u + n - 1 falls on it, with u uniform in [0, 1). The expected count is
exactly e_i, as for independent draws, but the count is always e_i rounded down or up; that of independent draws varies
by about sqrt(e_i).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.files import fingerprint
from ..core.seeds import stream

__all__ = ["DRAWS", "UNEVEN", "WeightedSampler", "epoch_order", "processes"]

DRAWS = ("systematic", "independent")
UNEVEN = ("keep", "repeat", "drop")
OWNER = "sampler"


def epoch_order(weights: NDArray[np.float64], rng: np.random.Generator, draw: str = "systematic") -> NDArray[np.int64]:
    """Positions of one epoch: a shuffle for equal weights, as many draws with replacement for unequal ones."""
    n = weights.size
    if np.ptp(weights) == 0:
        return rng.permutation(n)
    share = weights / weights.sum()
    if draw == "independent":
        return rng.choice(n, size=n, replace=True, p=share)
    line = rng.permutation(n)  # neighbours on the line are correlated, so the line changes each epoch
    ends = np.cumsum(share[line])
    points = np.arange(n) + rng.random()
    met = np.minimum(np.searchsorted(ends * (n / ends[-1]), points, side="right"), n - 1)  # n if a point rounds up
    return rng.permutation(line[met])


class WeightedSampler:
    """Positions within a subset, one epoch per iteration, reproducible by seed and epoch.

    With k processes, each takes every k-th position of the same epoch, so that together they visit what one process
    would.

    Parameters
    ----------
    weights
        How often each example is drawn, relative to the others.
    seed
        Decides every epoch.
    positions
        The value to return for each example, such as its position in a larger data set; 0 to n - 1 if not given.
    draw
        `systematic` or `independent`.
    num_replicas, rank
        Number of processes and the rank of this one; taken from torch.distributed if it is initialised and they are
        not given. Use `num_replicas=1, rank=0` with a trainer that distributes batches itself.
    uneven
        What to do if an epoch does not divide evenly among the processes. `keep` visits it exactly: some processes get
        one more example, which needs torch's `Join` under DistributedDataParallel. `repeat` fills up with the first
        examples of the epoch, and `drop` leaves out the last ones, as DistributedSampler does.
    """

    def __init__(
        self,
        weights: NDArray[np.float64],
        seed: int = 0,
        *,
        positions: NDArray[np.int64] | None = None,
        draw: str = "systematic",
        num_replicas: int | None = None,
        rank: int | None = None,
        uneven: str = "keep",
    ) -> None:
        self._weights = np.asarray(weights, dtype=np.float64)
        self._positions = positions
        self._seed = checks.integer("seed", OWNER, seed, low=0)
        self._draw = checks.choice("draw", OWNER, draw, DRAWS)
        self._replicas, self._rank = processes(OWNER, num_replicas, rank)
        self._uneven = checks.choice("uneven", OWNER, uneven, UNEVEN)
        self._epoch = 0
        self._start = 0  # where the next iteration begins: above 0 only after load_state_dict
        self._began = (0, 0)  # epoch and start of the latest iteration
        self._given = 0  # positions it returned in this process
        self._under_way = False

    def __len__(self) -> int:
        """Length of the current iteration, or else of the next one: less than an epoch if it was resumed."""
        start = self._began[1] if self._under_way else self._start
        return self._share(np.arange(self._weights.size), start).size

    def __iter__(self) -> Iterator[int]:
        epoch, start = self._epoch, self._start
        self._began, self._given, self._start, self._under_way = (epoch, start), 0, 0, True
        order = epoch_order(self._weights, stream(self._seed, OWNER, epoch), self._draw)
        for position in self._share(order, start):
            self._given += 1
            yield int(position if self._positions is None else self._positions[position])
        self._epoch, self._under_way = epoch + 1, False

    def _share(self, order: NDArray[np.int64], start: int = 0) -> NDArray[np.int64]:
        """The part of an epoch, from `start` on, that this process visits."""
        rest = order[start:]
        odd = rest.size % self._replicas
        if odd and self._uneven == "drop":
            rest = rest[:-odd]
        elif odd and self._uneven == "repeat":
            rest = np.concatenate([rest, np.resize(order, self._replicas - odd)])
        return rest[self._rank :: self._replicas]

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration, as trainers do; a running or resumed iteration is not changed."""
        wanted = checks.integer("epoch", OWNER, epoch, low=0)
        if wanted != self._epoch:
            self._epoch, self._start, self._under_way = wanted, 0, False

    def state_dict(self, consumed: int | None = None) -> dict[str, Any]:
        """The current position of the sampler.

        `drawn` counts over all processes, so that a state can be resumed with another number of processes.

        Parameters
        ----------
        consumed
            Number of examples of the latest iteration that this process has trained on. If not given, all that were
            returned count as trained on: a loader with workers prefetches, and the prefetched ones would be lost. A
            number above those returned means all of them, so (batches done) x (batch size) works.
        """
        used = None if consumed is None else checks.integer("consumed", "state_dict", consumed, low=0)
        (epoch, start), given = self._began, self._given
        if used is None and not self._under_way:
            (epoch, start), given = (self._epoch, self._start), 0
        done = start + self._replicas * (given if used is None else min(used, given))
        return {"seed": self._seed, "epoch": epoch, "drawn": min(done, self._weights.size), "of": self._identity()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another sampler of the same subset stopped.

        The next iteration is the rest of that epoch; it is empty if the state was taken after the last example.
        """
        if not isinstance(state, Mapping):
            raise InputError(
                f"state of load_state_dict must be the state_dict of a sampler; got {type(state).__name__} instead."
            )
        missing = [name for name in ("seed", "epoch", "drawn") if name not in state]
        if missing:
            raise InputError(f"state of load_state_dict must be the state_dict of a sampler; it lacks {missing[0]}.")
        if state.get("of", self._identity()) != self._identity():
            raise InputError(
                "state of load_state_dict must come from a sampler with the same weights and draws; it does not."
            )
        n = self._weights.size
        self._seed = checks.integer("seed", "load_state_dict", state["seed"], low=0)
        self._epoch = checks.integer("epoch", "load_state_dict", state["epoch"], low=0)
        self._start = checks.integer("drawn", "load_state_dict", state["drawn"], low=0, high=n)
        self._began, self._given, self._under_way = (self._epoch, self._start), 0, False

    def _identity(self) -> str:
        """A fingerprint of what the order depends on besides seed and epoch."""
        return fingerprint(self._weights.tobytes(), self._draw)


def processes(owner: str, num_replicas: int | None, rank: int | None) -> tuple[int, int]:
    """The number of processes and the rank of this one."""
    if (num_replicas is None) != (rank is None):
        raise InputError(
            f"{owner} needs num_replicas and rank together or neither; got num_replicas={num_replicas}, rank={rank}."
        )
    if num_replicas is not None:
        count = checks.integer("num_replicas", owner, num_replicas, low=1)
        return count, checks.integer("rank", owner, rank, low=0, high=count - 1)
    torch = sys.modules.get("torch")  # if torch was never imported there is no process group
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return 1, 0
    return torch.distributed.get_world_size(), torch.distributed.get_rank()
