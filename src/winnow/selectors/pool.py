"""The input and the output of a selector: Pool and Choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..artefacts.task_labels import Task

__all__ = ["Choice", "Pool"]


@dataclass(frozen=True, eq=False)
class Pool:
    """The examples to choose from, sorted by id.

    Parameters
    ----------
    n
        The number of examples.
    keep
        Fraction of all examples that the whole selection keeps. It stays the same for the pool of a single class, so
        that quotas distribute examples and never change a method's policy.
    task, labels, classes
        Those of the source.
    scores
        One number per example, for selectors that need scores.
    score_name
        Name of that score.
    signals
        The arrays that the selector needs, in the order of the pool.
    shares
        With quotas, for a selector that handles groups itself: name, positions and count of each group.
    ids
        The examples' ids, from which a selector draws (`core.seeds.uniforms`); positions if not given.
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
    ids: NDArray[Any] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if not self.ids.size:
            object.__setattr__(self, "ids", np.arange(self.n))

    def take(self, positions: NDArray[np.int64]) -> Pool:
        """Return the pool of just these examples."""
        return replace(
            self,
            n=int(positions.size),
            labels=None if self.labels is None else self.labels[positions],
            scores=None if self.scores is None else self.scores[positions],
            signals=None if self.signals is None else self.signals.at(positions),
            ids=self.ids[positions],
        )

    @property
    def difficulty(self) -> NDArray[np.float64]:
        """The scores; `select` has checked that a selector that needs them gets them."""
        if self.scores is None:
            raise TypeError("this pool holds no scores")
        return self.scores

    @property
    def observed(self) -> Signals:
        """The signals; `select` has checked that a selector that needs them gets them."""
        if self.signals is None:
            raise TypeError("this pool holds no signals")
        return self.signals

    @property
    def points(self) -> NDArray[np.float64]:
        """Embeddings as centred float64 rows; centring changes no distance and improves precision."""
        rows = self.observed.embeddings.reshape(self.n, -1).astype(np.float64)
        rows -= rows.mean(axis=0)
        return rows

    @property
    def labelled(self) -> bool:
        """Whether the examples have class labels."""
        return self.task == "classification" and self.labels is not None


@dataclass(frozen=True, eq=False)
class Choice:
    """A selector's choice: positions in its pool, weights if they are not equal, and a certificate."""

    positions: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None
    certificate: Mapping[str, Any] = field(default_factory=dict)
