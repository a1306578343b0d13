"""What a selector is handed, and what it hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..artefacts.source import Task

__all__ = ["Choice", "Pool"]


@dataclass(frozen=True, eq=False)
class Pool:
    """The examples to choose from, sorted by id.

    Parameters
    ----------
    n
        How many there are.
    keep
        Fraction of all examples that the whole selection keeps. It stays the same when a class is taken out of
        the pool, so that quotas share out examples and never change a method's policy.
    task, labels, classes
        Of the source.
    scores
        One number an example, for selectors that need scores.
    score_name
        Name of that score.
    signals
        The arrays the selector needs, in the order of the pool.
    shares
        Under quotas, for a selector that chooses group by group: name, positions and count of each group.
    """

    n: int
    keep: float
    task: Task
    labels: NDArray[Any] | None = None
    classes: tuple[str, ...] = ()
    scores: NDArray[np.float64] | None = None
    score_name: str | None = None
    signals: Signals | None = None
    shares: tuple[tuple[str, NDArray[np.int64], int], ...] | None = None

    def take(self, positions: NDArray[np.int64]) -> Pool:
        """The pool of just these examples."""
        return replace(
            self,
            n=int(positions.size),
            labels=None if self.labels is None else self.labels[positions],
            scores=None if self.scores is None else self.scores[positions],
            signals=None if self.signals is None else self.signals.at(positions),
        )

    @property
    def difficulty(self) -> NDArray[np.float64]:
        """The scores; the door has checked that a selector which asks for them gets them."""
        if self.scores is None:
            raise TypeError("this pool holds no scores")
        return self.scores

    @property
    def observed(self) -> Signals:
        """The signals; the door has checked that a selector which asks for them gets them."""
        if self.signals is None:
            raise TypeError("this pool holds no signals")
        return self.signals

    @property
    def points(self) -> NDArray[np.float64]:
        """Embeddings as centred float64 rows; centring changes no distance and saves digits."""
        rows = self.observed.embeddings.reshape(self.n, -1).astype(np.float64)
        rows -= rows.mean(axis=0)
        return rows

    @property
    def labelled(self) -> bool:
        """Whether the examples have class labels."""
        return self.task == "classification" and self.labels is not None


@dataclass(frozen=True, eq=False)
class Choice:
    """What a selector chose: positions in its pool, weights if they are unequal, what is known about it."""

    positions: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None
    certificate: Mapping[str, Any] = field(default_factory=dict)
