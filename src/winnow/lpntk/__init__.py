"""How examples teach each other: the labelled pseudo neural tangent kernel, and what to read from it.

`gram` and `features` compute it exactly, or projected for many examples; `relations`, `neighbours` and
`contradictions` say which examples are interchangeable and which contradict each other; `redundant` finds what others
cover; `farthest_points` spreads centres over the data. Everything but the first two takes any kernel: a square array,
memory-mapped or not, or `FeatureRows`.
"""

from __future__ import annotations

from .farthest import FarthestPoints, farthest_points
from .kernel import features, gram
from .kernel_rows import FeatureRows
from .redundancy import Redundancy, redundant
from .relating import Contradictions, Neighbours, Relations, contradictions, neighbours, relations

__all__ = [
    "Contradictions",
    "FarthestPoints",
    "FeatureRows",
    "Neighbours",
    "Redundancy",
    "Relations",
    "contradictions",
    "farthest_points",
    "features",
    "gram",
    "neighbours",
    "redundant",
    "relations",
]
