"""The five artefacts that stages pass to each other, and nothing else.

`Source` -> `Signals` -> `Scores` -> `Subset` -> `Study`. Each is frozen, checked when it is built,
carries stable example ids and its provenance, and is saved and loaded without pickle.
"""

from __future__ import annotations

from .intervals import Interval, difference, mean
from .provenance import Provenance, record
from .scores import Scores
from .signals import Signals
from .source import Source
from .study import Outcome, Study
from .subset import Subset
from .table import Table

__all__ = [
    "Interval",
    "Outcome",
    "Provenance",
    "Scores",
    "Signals",
    "Source",
    "Study",
    "Subset",
    "Table",
    "difference",
    "mean",
    "record",
]
