"""Comparison: distances between representations, and the prior they suggest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts import Table

__all__ = ["Comparison"]

Array = NDArray[np.float64]
CLOSE = 1.96  # standard errors within which two means are not distinguishable


@dataclass(frozen=True, eq=False)
class Comparison:
    """Distances between representations of the same examples.

    Parameters
    ----------
    names
        The names of the representations.
    widths
        The dimension of each.
    matrix
        `matrix[i, j]` is the distance from representation i to j.
    labels
        Distance from each representation to the labels, if given.
    means
        The basis of the advice, smallest is best: the distance to the labels, or the mean distance to the others.
    error
        Standard error of the difference between the two smallest of `means`, over held-out rows.
    form, rows
        The form of the distance, and the number of held-out rows.
    """

    names: tuple[str, ...]
    widths: tuple[int, ...]
    matrix: Array
    labels: Array | None
    means: Array
    error: float
    form: str
    rows: int

    def table(self) -> Table:
        """One row per representation, with its distance to each of the others."""
        rows = []
        for i, name in enumerate(self.names):
            found: dict[str, Any] = {"from": name, "numbers": self.widths[i]}
            found |= {f"to {other}": float(self.matrix[i, j]) for j, other in enumerate(self.names)}
            if self.labels is not None:
                found["to labels"] = float(self.labels[i])
            rows.append({**found, "mean": float(self.means[i])})
        return Table(tuple(rows))

    @property
    def best(self) -> str:
        """The representation with the smallest of `means`."""
        return self.names[int(np.argmin(self.means))]

    @property
    def decided(self) -> bool:
        """Whether the best is significantly ahead of the next, over the held-out rows."""
        first, second = np.sort(self.means)[:2]
        return bool(second - first > CLOSE * self.error)

    @property
    def advice(self) -> str:
        """Which prior to use, and why."""
        first, second = np.argsort(self.means, kind="stable")[:2]
        a, b = (f"{self.names[i]!r} ({self.means[i]:.3f})" for i in (first, second))
        if self.labels is None:
            why = "the others are best predicted from it"
            rest = (
                "No labels were used: predicting the other priors replaces predicting the best representation, which "
                "is unknown, and a representation with more dimensions is favoured"
            )
        else:
            why = "the labels are best predicted from it by a linear map"
            rest = "Labels were used, on held-out examples"
        choice = f"Use {a}: {why}; next is {b}."
        if not self.decided:
            choice = f"{a} and {b} cannot be distinguished on {self.rows} held-out examples: use the cheaper."
        return f"{choice} {rest}; only a training with each proves it."

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "names": list(self.names),
            "widths": list(self.widths),
            "form": self.form,
            "held_out": self.rows,
            "matrix": self.matrix.tolist(),
            "labels": None if self.labels is None else self.labels.tolist(),
            "means": self.means.tolist(),
            "best": self.best,
            "decided": self.decided,
            "advice": self.advice,
        }
