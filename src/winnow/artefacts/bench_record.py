"""BenchRecord: every method under one protocol, beside what is free, on one or several data sets.

A cell is one method at one fraction of one data set, compared with a random subset of the same size. The ranking
averages a method's cells. Fractions of one data set share seeds and test examples, so their errors are taken to go
together; data sets are independent. The interval is about these data sets: it holds the luck of seeds, draws and test
examples, not that of other data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import InputError
from ..core.layouts import Folder
from ..core.serialiser import Saved
from .bench_cell import BenchCell, BenchOutcome, LeftOut
from .intervals import holm
from .notebook_view import Shown
from .provenance import Provenance
from .table import Table, data_frame

if TYPE_CHECKING:
    import pandas

__all__ = ["BenchCell", "BenchOutcome", "BenchRecord", "LeftOut", "Standing"]

LEVEL = 0.05  # after Holm's correction
NORMAL = 1.959963984540054  # the two-sided 95 % quantile


@dataclass(frozen=True)
class Standing:
    """A method over all its cells.

    Parameters
    ----------
    name
        The method.
    gap, low, high
        The mean difference to random, with its 95 % interval for these data sets.
    p_value, corrected
        Of that difference, and after Holm's correction over all methods.
    cells, above, below
        Its cells, and those whose difference is above or below zero after Holm's correction over all cells.
    everything_gap
        The mean difference to everything for the same number of steps.
    trainings
        What finding costs, in trainings on everything in full; the median.
    free
        Whether it needs no method.
    """

    name: str
    gap: float
    low: float
    high: float
    p_value: float
    corrected: float
    cells: int
    above: int
    below: int
    everything_gap: float
    trainings: float
    free: bool

    @property
    def real(self) -> bool:
        """Whether the difference to random holds after correction for the number of methods."""
        return self.corrected <= LEVEL


@dataclass(frozen=True, eq=False, repr=False)
class BenchRecord(
    Shown, Saved, kind="bench", layout=Folder("bench.json", {"cells": "cells.parquet", "outcomes": "outcomes.parquet"})
):
    """Methods compared under one protocol, on one or several data sets.

    Parameters
    ----------
    cells
        One row per data set, fraction and method.
    outcomes
        One row per trained model.
    left_out
        What was not run, and why.
    protocol
        The settings of each data set, by its name.
    provenance
        Where it came from, by data set.

    Examples
    --------
    `wn.benchmark` makes one.

    >>> import winnow as wn
    >>> record = wn.benchmark("digits", [0.3], methods=["el2n", "kcenter"], seeds=2, labels_only=True, limit=120,
    ...                       recipe=wn.Recipe(epochs=1), engine=wn.Local(workers=1))
    >>> sorted(record.methods)
    ['dynamic sampling', 'el2n', 'everything', 'full', 'kcenter', 'random', 'repeated random']
    """

    cells: tuple[BenchCell, ...]
    outcomes: tuple[BenchOutcome, ...]
    left_out: tuple[LeftOut, ...] = ()
    protocol: Mapping[str, Any] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"BenchRecord({len(self.methods)} methods, {len(self.cells)} cells on {', '.join(self.data)})"

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets, in the order of their cells."""
        return tuple(dict.fromkeys(cell.data for cell in self.cells))

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods and what is free, with soft targets and without."""
        return tuple(dict.fromkeys(cell.name for cell in self.cells))

    @property
    def columns(self) -> tuple[tuple[str, float], ...]:
        """The pairs of data set and fraction that were run, from much to little."""
        found = {(cell.data, cell.keep) for cell in self.cells if cell.keep < 1}
        return tuple(sorted(found, key=lambda pair: (self.data.index(pair[0]), -pair[1])))

    def of(self, name: str) -> dict[tuple[str, float], BenchCell]:
        """The cells of a method by data set and fraction."""
        return {(cell.data, cell.keep): cell for cell in self.cells if cell.name == name}

    def real(self) -> dict[tuple[str, str, float], bool]:
        """Which differences to random hold after Holm's correction over all cells, by method, data set and fraction."""
        compared = [cell for cell in self.cells if not math.isnan(cell.p_value)]
        raised = holm([cell.p_value for cell in compared]) if compared else np.zeros(0)
        pairs = zip(compared, raised.tolist(), strict=True)
        return {(cell.name, cell.data, cell.keep): level <= LEVEL for cell, level in pairs}

    def ranking(self) -> tuple[Standing, ...]:
        """The methods from best to worst by their mean difference to random.

        Only methods that were run in every cell are comparable; the others follow, in the same order.
        """
        real, whole = self.real(), len(self.columns)
        rows = [row for name in self.methods if (row := self._standing(name, real)) is not None]
        known = [row for row in rows if not math.isnan(row.p_value)]
        raised = dict(zip((row.name for row in known), holm([row.p_value for row in known]), strict=True))
        made = [Standing(**{**vars(row), "corrected": float(raised.get(row.name, 1.0))}) for row in rows]
        return tuple(sorted(made, key=lambda row: (row.cells < whole, -row.gap)))

    def _standing(self, name: str, real: Mapping[tuple[str, str, float], bool]) -> Standing | None:
        cells = [cell for cell in self.cells if cell.name == name and not math.isnan(cell.gap)]
        if not cells:
            return None
        by_data = [[cell for cell in cells if cell.data == one] for one in dict.fromkeys(cell.data for cell in cells)]
        gap = float(np.mean([np.mean([cell.gap for cell in part]) for part in by_data]))
        reach = math.hypot(*(float(np.mean([cell.reach for cell in part])) for part in by_data)) / len(by_data)
        told = [cell for cell in cells if real.get((name, cell.data, cell.keep))]
        trainings = [cell.find_seconds / cell.full_seconds for cell in cells if cell.full_seconds > 0]
        return Standing(
            name=name,
            gap=gap,
            low=gap - reach,
            high=gap + reach,
            p_value=_two_sided(gap, reach),
            corrected=1.0,
            cells=len(cells),
            above=sum(cell.gap > 0 for cell in told),
            below=sum(cell.gap < 0 for cell in told),
            everything_gap=_mean(cell.everything_gap for cell in cells),
            trainings=float(np.median(trainings)) if trainings else math.nan,
            free=cells[0].free,
        )

    def summary(self) -> Table:
        """The ranking, to read: points over random with half the interval, and the cost of finding.

        Returns
        -------
        Table
            One row per method, best first; ▲ and ▼ mark differences that hold after correction.
        """
        rows = []
        for row in self.ranking():
            mark = "" if not row.real else " ▲" if row.gap > 0 else " ▼"
            reach = "" if math.isnan(row.high) else f" ± {100 * (row.high - row.gap):.2f}"
            rows.append(
                {
                    "method": row.name,
                    "over random, points": f"{100 * row.gap:+.2f}{reach}{mark}",
                    "over everything at the same steps": _points(row.everything_gap),
                    "cells": row.cells,
                    "above": row.above,
                    "below": row.below,
                    "cost to find, trainings": "free" if row.trainings == 0 else _number(row.trainings),
                }
            )
        return Table(tuple(rows))

    def table(self) -> Table:
        """All cells, as numbers."""
        return Table(tuple({**vars(cell), "name": cell.name} for cell in self.cells))

    def grid(self) -> Table:
        """Points over random, one row per method in the order of the ranking and one column per cell."""
        real, rows = self.real(), []
        for row in self.ranking():
            found = self.of(row.name)
            cells = {
                f"{data} {keep:g}": _points(cell.gap) + _mark(cell, real)
                if (cell := found.get((data, keep))) is not None
                else ""
                for data, keep in self.columns
            }
            rows.append({"method": row.name, **cells})
        return Table(tuple(rows))

    def to_pandas(self) -> pandas.DataFrame:
        """One row per trained model."""
        return data_frame([vars(row) for row in self.outcomes])

    def _view(self) -> Table:
        return self.summary()

    @staticmethod
    def join(records: Sequence[BenchRecord]) -> BenchRecord:
        """One record from several of different data sets.

        Parameters
        ----------
        records
            At least one; no two may have a data set in common.
        """
        names = [name for record in records for name in record.data]
        if not records or len(set(names)) != len(names):
            raise InputError(
                f"records to join must be of different data sets; got {', '.join(names) if records else 'none'}."
            )
        return BenchRecord(
            cells=tuple(cell for record in records for cell in record.cells),
            outcomes=tuple(row for record in records for row in record.outcomes),
            left_out=tuple(row for record in records for row in record.left_out),
            protocol={name: value for record in records for name, value in record.protocol.items()},
            provenance={name: value for record in records for name, value in record.provenance.items()},
        )


def _two_sided(gap: float, reach: float) -> float:
    if math.isnan(reach):
        return math.nan
    if reach == 0:
        return 1.0 if gap == 0 else 0.0
    return math.erfc(abs(gap) / reach * NORMAL / math.sqrt(2))


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def _points(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:+.2f}"


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2g}"


def _mark(cell: BenchCell, real: Mapping[tuple[str, str, float], bool]) -> str:
    if not real.get((cell.name, cell.data, cell.keep)):
        return ""
    return " ▲" if cell.gap > 0 else " ▼"
