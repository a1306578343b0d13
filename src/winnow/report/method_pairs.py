"""The ranking of a benchmark with one row per method: how it does with labels, and how with soft targets."""

from __future__ import annotations

from dataclasses import dataclass

from ..artefacts.bench_record import BenchRecord, Standing

__all__ = ["MethodPair", "method_pairs"]


@dataclass(frozen=True)
class MethodPair:
    """A method with labels and with soft targets.

    Parameters
    ----------
    method
        Its name, or that of what is free.
    labels, soft
        Its two standings; None if it was not run so. Random with labels is what all are compared with.
    """

    method: str
    labels: Standing | None
    soft: Standing | None

    @property
    def free(self) -> bool:
        """Whether it needs no method."""
        return any(row.free for row in self.both)

    @property
    def both(self) -> tuple[Standing, ...]:
        """The standings that are there."""
        return tuple(row for row in (self.labels, self.soft) if row is not None)

    @property
    def cost(self) -> str:
        """What finding costs, in trainings on everything in full; soft targets need an observation."""
        costs = [row.trainings for row in self.both if row.trainings == row.trainings]
        if not costs:
            return ""
        if not self.free:
            return f"{costs[0]:.2g}"
        return "free" if costs[-1] == 0 else f"free; soft {costs[-1]:.2g}"


def method_pairs(record: BenchRecord) -> list[MethodPair]:
    """One row per method, from best to worst with labels; with soft targets if it was run with these alone.

    Methods that were not run in every cell follow the others, as in `record.ranking`. Random stands at zero.

    Parameters
    ----------
    record
        Of one or several data sets.
    """
    ranked = {row.name: row for row in record.ranking()}
    called = {cell.name: (cell.method, cell.soft) for cell in record.cells}
    found: dict[str, dict[bool, Standing]] = {}
    for name, row in ranked.items():
        method, soft = called[name]
        found.setdefault(method, {})[soft] = row
    pairs = [MethodPair(method, rows.get(False), rows.get(True)) for method, rows in found.items()]
    whole = len(record.columns)

    def place(pair: MethodPair) -> tuple[bool, float]:
        first = pair.both[0]
        return first.cells < whole, 0.0 if pair.method == "random" else -first.gap

    return sorted(pairs, key=place)
