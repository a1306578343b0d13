"""All values that can be saved, and nothing else.

The stages pass `Source` -> `Signals` -> `Scores` -> `Subset` -> `Study` to each other; other functions make `Targets`,
`SoftLabels`, `Issues`, `Plan`, `Explanation`, `Gallery` and `ProxyStudy`. Each is frozen, checked when built, records
its provenance, and inherits `save` and `load` from `core.serialiser`, without pickle.
"""

from __future__ import annotations

from .explanation import DatasetExplanation, Explanation
from .gallery import Gallery
from .intervals import Interval, difference, mean
from .issues import Finding, Issues
from .plan import Plan
from .provenance import Provenance, record
from .proxy_study import ProxyStudy
from .scores import Scores
from .signals import Signals
from .soft_labels import SoftLabels
from .source import Source
from .study import Outcome, Study
from .subset import Subset
from .table import Table
from .targets import Targets

__all__ = [
    "DatasetExplanation",
    "Explanation",
    "Finding",
    "Gallery",
    "Interval",
    "Issues",
    "Outcome",
    "Plan",
    "Provenance",
    "ProxyStudy",
    "Scores",
    "Signals",
    "SoftLabels",
    "Source",
    "Study",
    "Subset",
    "Table",
    "Targets",
    "difference",
    "mean",
    "record",
]
