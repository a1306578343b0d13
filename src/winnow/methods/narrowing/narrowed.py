"""What is known about a narrowed network: which vectors became how narrow, and how well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...artefacts import Table

__all__ = ["Narrowed", "NarrowedPair"]


@dataclass(frozen=True)
class NarrowedPair:
    """One narrowed hidden vector.

    Attributes
    ----------
    first, second
        Names of the layer that writes it and of the one that reads it.
    before, after
        Its width in the wide network and in the narrow one.
    order
        The highest order of the moments that were matched; none if only equal neurons were merged, which keeps all.
    coordinates
        Length of an object: incoming weights, bias, outgoing weights.
    dims
        Directions in which moments were matched.
    spread_kept
        Share of the neurons' squared distance from their average that lies in those directions; what is missing to 1
        was not matched.
    moment_error
        The largest relative change of a matched moment.
    largest_count
        The most neurons that one stands for.
    """

    first: str
    second: str
    before: int
    after: int
    order: int | None
    coordinates: int
    dims: int
    spread_kept: float
    moment_error: float
    largest_count: float


@dataclass(frozen=True)
class Narrowed:
    """The certificate of a narrowed network, kept as its attribute `narrowed`.

    Attributes
    ----------
    pairs
        What was narrowed, in the order of the work.
    left
        Layers that were left as they are, and why.
    parameters_before, parameters_after
        Numbers in all weights.
    output_change
        Root mean square of the change of the outputs on the example inputs, divided by that of the outputs themselves;
        none without examples.
    random_change
        The same for random sub-networks of the same widths whose neurons all count the same.
    """

    pairs: tuple[NarrowedPair, ...]
    left: Mapping[str, str]
    parameters_before: int
    parameters_after: int
    output_change: float | None = None
    random_change: float | None = None

    def table(self) -> Table:
        """One row a narrowed vector."""
        return Table(tuple(asdict(pair) for pair in self.pairs))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "left": dict(self.left)}
