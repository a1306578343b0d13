"""plan_rows: time, memory, disk and network of a selection over so many rows, from rates that were measured.

No data are opened: sizes are enough. The rates are those of `benchmarks/scale.py` at its largest size, on one core;
[docs/scale.md](../scale.md) has the table they were read from, and walks through 10^7, 10^8 and 10^9 rows. What grows
with the square of the rows is not in it: `core.comparisons` refuses it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from ..core import checks
from ..core.comparisons import MOST
from ..core.request import Parameter, number, whole
from ..core.units import bytes_text, seconds_text
from ..engines.named import Where, engine_of

__all__ = ["RowsPlan", "StepNeeds", "plan_rows"]

OWNER = "plan_rows"
EPOCHS = 10  # of the training whose dynamics are recorded
SHARD = 1_000_000  # rows that a worker works on at a time
BASE = 700e6  # bytes of a process with torch
NUMBER = 4  # bytes of a float32
DYNAMICS = 6  # bytes per row and epoch: three float16
SCORED = 24  # bytes per row in a file of scores: id, score, label
FLAGS = 3  # bytes per row while choosing
KEPT = 64  # bytes per kept row at the peak: ids, weights and their checked copies
SHARE = 0.1  # kept
# CPU seconds per row on one core, as measured by benchmarks/scale.py and benchmarks/recording.py
OPENED, EMBEDDED, LOGGED, SCORING, CHOSEN = 1.3e-6, 1.1e-6, 4.2e-7, 3.7e-7, 9.2e-8
NEAR, NEAR_GROWS = 2.7e-5, 0.2  # at 10^6 rows; per row it grows with this power of the rows, from 10^5 to 10^6
NEAR_HELD = 140  # bytes per row: what was measured beside a process with torch at 10^7 rows, which are in files


def _rows(name: str, owner: str, value: Any) -> int:
    given = checks.number(name, owner, value, low=1)
    return checks.integer(name, owner, int(given) if given == int(given) else value, low=1)


Rows = Annotated[int, Parameter("How many rows, such as 1e9.", _rows, kind=float, read=int)]
Dim = Annotated[int, whole("Numbers per row, or per embedding.", low=1)]
Classes = Annotated[int, whole("Classes, each with a floor.", low=1)]
Pace = Annotated[
    float | None, number("Examples per second that your network embeds on one worker.", low=0, open_low=True)
]


@dataclass(frozen=True)
class StepNeeds:
    """What one step takes.

    Parameters
    ----------
    step
        Its name.
    hours
        On all workers together, if they share the work evenly.
    memory
        Bytes per worker, or of the one process that chooses.
    disk
        Bytes that it leaves.
    network
        Bytes that move between where data are kept and the workers.
    """

    step: str
    hours: float
    memory: float
    disk: float
    network: float


@dataclass(frozen=True)
class RowsPlan:
    """The needs of all steps; its text is a table.

    Parameters
    ----------
    rows, dim, classes, workers
        What was asked.
    steps
        The needs of each step.
    remarks
        What the numbers assume, and which methods remain.
    """

    rows: int
    dim: int
    classes: int
    workers: int
    steps: tuple[StepNeeds, ...]
    remarks: tuple[str, ...]

    def values(self) -> dict[str, Any]:
        """Everything as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        head = f"{self.rows:,} rows of {self.dim} numbers, {self.classes:,} classes, {self.workers} worker(s)"
        lines = [head, "", f"{'step':<18}{'time':>14}{'memory':>12}{'disk':>12}{'network':>12}"]
        for one in self.steps:
            sizes = "".join(f"{bytes_text(size):>12}" for size in (one.memory, one.disk, one.network))
            lines.append(f"{one.step:<18}{seconds_text(3600 * one.hours):>14}{sizes}")
        return "\n".join([*lines, "", *self.remarks])


def plan_rows(rows: Rows, dim: Dim, classes: Classes = 1, *, pace: Pace = None, engine: Where = None) -> RowsPlan:
    """Say what a selection over so many rows takes, step by step, without opening anything.

    Parameters
    ----------
    rows
        The number of rows.
    dim
        Numbers per row: columns of a table, or the length of the embeddings.
    classes
        The number of classes, each with a floor.
    pace
        Examples per second that your network embeds on one worker. If not given, rows are their own embeddings, as with
        `wn.embed(source, "raw")`.
    engine
        Where work would run; its number of workers counts.

    Returns
    -------
    RowsPlan
        Hours, memory per worker, disk and network of each step.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> import winnow as wn
    >>> found = wn.plan_rows(10**9, 512, 1000, engine=wn.Local(workers=16))
    >>> [one.step for one in found.steps]
    ['open', 'embed', 'dynamics', 'score', 'select', 'near-duplicates', 'export']
    """
    n = _rows("rows", OWNER, rows)
    d = checks.integer("dim", OWNER, dim, low=1)
    k = checks.integer("classes", OWNER, classes, low=1)
    each = None if pace is None else checks.number("pace", OWNER, pace, low=0, open_low=True)
    workers = max(1, int(getattr(engine_of(OWNER, engine), "workers", 1) or 1))
    return RowsPlan(n, d, k, workers, tuple(_steps(n, d, k, each, workers)), tuple(_remarks(n, k, each)))


def _steps(n: int, d: int, k: int, pace: float | None, workers: int) -> Iterator[StepNeeds]:
    raw, shard = NUMBER * d, min(n, SHARD)
    hours = n / workers / 3600
    numbers = d / 16  # rates were measured with 16 numbers per row
    yield StepNeeds("open", hours * OPENED * numbers, BASE + shard * raw, 0, n * raw)
    looked = EMBEDDED * numbers if pace is None else 1 / pace
    yield StepNeeds("embed", hours * looked, BASE + 2 * shard * raw, n * raw, 2 * n * raw)
    logged = DYNAMICS * EPOCHS
    yield StepNeeds("dynamics", hours * LOGGED * EPOCHS, BASE + shard * logged, n * logged, n * logged)
    yield StepNeeds("score", hours * SCORING, BASE + shard * logged, n * SCORED, n * (logged + SCORED))
    table = 8 * max(k, 1) * 2048
    memory = BASE / 2 + FLAGS * n + KEPT * SHARE * n + table
    yield StepNeeds("select", n * CHOSEN / 3600, memory, SHARE * n * 16, 6 * n * SCORED)  # one process
    near = n / 3600 * NEAR * numbers * (n / 1e6) ** NEAR_GROWS
    yield StepNeeds("near-duplicates", near, BASE + NEAR_HELD * n, 2 * n * raw, 3 * n * raw)  # one process
    yield StepNeeds("export", SHARE * hours * OPENED * numbers, BASE, SHARE * n * raw, 2 * SHARE * n * raw)


def _remarks(n: int, k: int, pace: float | None) -> Iterator[str]:
    yield (
        f"An estimate from rates of one core (docs/scale.md): a training of {EPOCHS} epochs is recorded, "
        f"{SHARE:.0%} are kept, workers take {SHARD:,} rows at a time. The training itself is yours and not counted."
    )
    if pace is None:
        yield "embed: rows are their own embeddings; give the pace of your network for the real one."
    yield "select: one process reads the file of scores about six times; steps before it are split over the workers."
    yield "near-duplicates: one process, with the rows in files of the temporary folder; a run keeps what was found."
    least = math.ceil(n * SHARE)
    gone = [name for name, count in (("kcenter, herding", n * least), ("graph, facility_location", n * n))
            if count > MOST]  # fmt: skip
    if n * n / k > MOST:
        gone.append("lpntk_head, lpntk_redundancy, lpntk_head_only")
    if gone:
        yield f"Refused at this size, since they compare examples with each other: {', '.join(gone)}."
    yield "Any number of rows: random, rank, strata, tilted and beta."
