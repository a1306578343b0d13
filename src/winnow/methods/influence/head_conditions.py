"""The conditions of an exact weighted head, and the ways to meet them.

Whitened gradients must sum to 0, and each class must keep its mass. Examples are chosen first, by swaps, so that their
equal weights are almost right (`solver`). Then the nearest weights that are exactly right are solved for
(`moments.bounded_weights`). Where the chosen examples allow none, recombination finds as few as possible that do, and
the chosen ones fill up the size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ...core import checks
from ..moments.bounded_weights import fewest_points, nearest_weights
from .heads import Floats, Positions
from .solver import default_moves, solve

__all__ = ["Asked", "Conditions"]

EXACT = 1e-10  # largest error of a condition, relative to the sum of its absolute terms
LEAST = 1e-3  # smallest weight, relative to the mean of its class
EVEN = 0.1  # where not everything can be matched: how much even weights count against small errors


@dataclass(frozen=True)
class Asked:
    """The checked settings of a coreset."""

    dampings: tuple[float, ...]
    heads: int
    largest: float | None
    seed: int
    moves: int | None

    @classmethod
    def of(cls, owner: str, dampings: Any, heads: Any, largest: Any, seed: Any, moves: Any) -> Asked:
        """Check the settings."""
        several = tuple(dampings) if isinstance(dampings, (list, tuple, np.ndarray)) else (dampings,)
        return cls(
            tuple(checks.number("dampings", owner, one, low=0.0, open_low=True) for one in several),
            checks.integer("heads", owner, heads, low=0, high=50),
            None if largest is None else checks.number("largest", owner, largest, low=1.0, open_low=True),
            checks.integer("seed", owner, seed, low=0),
            None if moves is None else checks.integer("moves", owner, moves, low=0),
        )


class Conditions:
    """The conditions: whitened gradients that sum to 0, and the masses of the classes."""

    def __init__(
        self, gradients: Floats, main: int, group: Positions, counts: Positions, asked: Asked, ids: NDArray[Any]
    ) -> None:
        self.group, self.counts, self.asked, self.ids = group, counts, asked, ids
        used = np.abs(gradients).max(axis=0) > 1e-12  # constant features leave columns of zeros
        self.main = int(used[:main].sum())
        self.gradients = gradients[:, used]
        self.members = np.bincount(group, minlength=counts.size)
        self.size, self.n = int(counts.sum()), len(group)
        self.rank = _rank(self.gradients) + int((self.members > 0).sum())
        self.first_rank = self.rank if self.main == self.gradients.shape[1] else (
            _rank(self.gradients[:, : self.main]) + int((self.members > 0).sum())
        )  # fmt: skip

    def conditions(self, kept: Positions) -> tuple[Floats, Floats]:
        """Rows and targets for these examples: gradients, then one row per class that has a kept example."""
        present = np.flatnonzero(np.bincount(self.group[kept], minlength=self.members.size))
        masses = (self.group[kept] == present[:, None]).astype(np.float64)
        held = self.members[present].astype(np.float64)
        held *= self.n / held.sum()  # a class of which nothing is kept leaves its mass to the others
        return np.vstack([self.gradients[kept].T, masses]), np.concatenate([np.zeros(self.gradients.shape[1]), held])

    @property
    def bound(self) -> float:
        """The upper bound of a weight: the given one, or one at which a corner with so few examples is certain.

        A corner has at most `rank` weights between the bounds, and at most n / bound at the upper one.
        """
        most = self.asked.largest
        if most is None:
            spare = self.size - min(self.rank, self.first_rank)
            most = max(2.0, self.size / spare) if spare > 0 else np.inf
        return float(most * self.n / self.size)

    def solved(self, fixed: bool) -> tuple[Positions, Floats, bool, str]:
        """Positions, weights, whether they are exact, and how they were found."""
        kept = self._chosen()
        if self.size >= self.first_rank:
            weights, exact = self._weighed(kept, hard=True)
            if exact:
                return kept, weights, True, "swaps"
            others = self._recombined(fixed)
            if others is not None:
                kept = self._filled(others, kept)
                weights, exact = self._weighed(kept, hard=True)
                if exact:
                    return kept, weights, True, "recombination"
        weights, _ = self._weighed(kept, hard=False)
        return kept, weights, False, "nearest"

    def _filled(self, kept: Positions, chosen: Positions) -> Positions:
        """The kept examples and as many of the chosen as are missing, class by class, then any others."""
        counts = np.bincount(self.group[kept], minlength=self.members.size)
        room = np.maximum(self.counts - counts, 0)
        spare = np.setdiff1d(chosen, kept)
        order = spare[np.argsort(self.group[spare], kind="stable")]
        place = np.arange(order.size) - np.searchsorted(self.group[order], self.group[order])
        fitting = place < room[self.group[order]]
        ranked = np.concatenate([order[fitting], order[~fitting]])
        return np.sort(np.concatenate([kept, ranked[: self.size - kept.size]]))

    def _chosen(self) -> Positions:
        """Examples whose equal weights per class are almost right already."""
        share = np.divide(self.members, self.counts, out=np.zeros(self.counts.size), where=self.counts > 0)
        rows = self.gradients * share[self.group][:, None]
        rows -= rows.sum(axis=0) / (self.n - self.size)  # the kept sum vanishes if these, removed, sum to 0
        moves = default_moves(*rows.shape) if self.asked.moves is None else self.asked.moves
        made = solve(rows, self.group, self.members - self.counts, self.asked.seed, moves, ids=self.ids)
        return np.setdiff1d(np.arange(self.n), made.removed)

    def _weighed(self, kept: Positions, hard: bool) -> tuple[Floats, bool]:
        """The weights nearest to even ones that match the gradients, exactly or as well as they can."""
        rows, target = self.conditions(kept)
        counts = np.bincount(self.group[kept], minlength=self.members.size)
        held = target[self.gradients.shape[1] :]
        start = (held / counts[counts > 0])[np.searchsorted(np.flatnonzero(counts), self.group[kept])]
        least, width = LEAST * start, self.gradients.shape[1]
        soft = np.zeros(len(target))
        if not hard or self.rank > self.size:  # if not all heads fit: the first exactly, the others as well as they can
            soft[self.main if hard else 0 : width] = EVEN * float(np.square(self.gradients).mean()) * kept.size
        room = np.maximum(self.bound if hard or self.asked.largest else np.inf, start) - least
        moved, error = nearest_weights(rows, target - rows @ least, start - least, room, soft)
        return moved + least, error <= EXACT

    def _recombined(self, fixed: bool) -> Positions | None:
        """As few examples as allow exact weights, from all of them; None if the bound or fixed counts allow none.

        Where a class has more than its fixed count, it is left with those of the largest weights, and the others are
        chosen again.
        """
        rows, target = self.conditions(np.arange(self.n))
        if self.rank > self.size:  # only the first head can be matched exactly
            first = np.r_[: self.main, self.gradients.shape[1] : len(rows)]
            rows, target = rows[first], target[first]
        pool, start = np.arange(self.n), np.ones(self.n)
        for _ in range(self.counts.size + 1):
            # the fewest leave the counts the most room; without fixed counts no example need be lost
            kept, weights = fewest_points(
                rows[:, pool], start, self.bound, self.rank if fixed else self.size, len(rows)
            )
            kept = pool[kept]
            counts = np.bincount(self.group[kept], minlength=self.members.size)
            if not fixed or (counts <= self.counts).all():
                return kept if kept.size <= self.size else None
            for label in np.flatnonzero(counts > self.counts):
                heaviest = kept[np.lexsort((kept, -weights, self.group[kept] != label))[: self.counts[label]]]
                pool = pool[(self.group[pool] != label) | np.isin(pool, heaviest)]
            start, error = nearest_weights(rows[:, pool], target, np.ones(pool.size), self.bound)
            if error > EXACT:
                return None
            pool, start = pool[start > 0.0], start[start > 0.0]
        return None


def _rank(gradients: Floats) -> int:
    table = gradients.T @ gradients
    size = np.sqrt(np.diagonal(table))
    values = linalg.eigvalsh(table / np.outer(size, size), check_finite=False)
    return int((values > 1e-12 * values[-1]).sum())
