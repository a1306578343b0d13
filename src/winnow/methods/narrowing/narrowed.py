"""The certificate of a narrowed network: which vectors were narrowed, by how much, and how well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...artefacts import Table

__all__ = ["Narrowed", "NarrowedPair"]

HEADS = {
    "first": "layer",
    "before": "width",
    "after": "now",
    "order": "order",
    "coordinates": "coordinates",
    "dims": "dims",
    "spread_kept": "spread kept",
    "moment_error": "moment error",
    "largest_count": "largest count",
}


@dataclass(frozen=True)
class NarrowedPair:
    """One narrowed hidden vector.

    Attributes
    ----------
    first, second
        Names of the layer that writes it and of the layer that reads it.
    before, after
        Its width in the wide network and in the narrow one.
    order
        The highest order of the matched moments; None if only equal neurons were merged, which preserves all moments.
    coordinates
        The number of coordinates per neuron: incoming weights, bias, outgoing weights.
    dims
        The number of directions in which moments were matched.
    spread_kept
        Share of the neurons' squared distance from their mean that lies in those directions; the rest was not matched.
    moment_error
        The largest relative change of a matched moment.
    largest_count
        The largest number of neurons that one represents.
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
    """The certificate of a narrowed network, stored as its attribute `narrowed`.

    Attributes
    ----------
    pairs
        The narrowed vectors, in the order of the work.
    left
        Layers that were not changed, and why.
    parameters_before, parameters_after
        The number of parameters.
    output_change
        Root mean square change of the outputs on the example inputs, divided by that of the outputs themselves; None
        without examples.
    random_change
        The same for random sub-networks of the same widths with equal counts.
    """

    pairs: tuple[NarrowedPair, ...]
    left: Mapping[str, str]
    parameters_before: int
    parameters_after: int
    output_change: float | None = None
    random_change: float | None = None

    def table(self) -> Table:
        """One row per narrowed vector."""
        return Table(tuple(asdict(pair) for pair in self.pairs))

    def summary(self, model: str) -> str:
        """Say in a few lines what was narrowed, what was not, and how much the outputs change.

        Parameters
        ----------
        model
            A name for the network itself.
        """
        said = [str(Table(tuple({HEADS[key]: row[key] for key in HEADS} for row in self.table())))]
        said += [f"left  {name or model}: {why}" for name, why in self.left.items()]
        said.append(f"{self.parameters_before:,} parameters before, {self.parameters_after:,} now")
        if self.output_change is not None:
            said.append(
                f"relative change of the outputs: {self.output_change:.3g}; with randomly chosen neurons: "
                f"{self.random_change:.3g}"
            )
        return "\n".join(said)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {**asdict(self), "left": dict(self.left)}
