"""How examples teach each other: the labelled pseudo neural tangent kernel, and what to read from it.

`gram`, `cross` and `features` compute it exactly, or projected for many examples; `relations`, `neighbours` and
`contradictions` say which examples are interchangeable and which contradict each other; `redundant` finds what others
cover; `farthest_points` spreads centres over the data. These take any kernel: a square array, memory-mapped or not, or
`FeatureRows`. `predict_forgetting` says which examples an update of the network will make it forget.
"""

from __future__ import annotations

from .contradictions import Contradictions, contradictions
from .farthest_points import FarthestPoints, farthest_points
from .kernel import cross, features, gram
from .kernel_rows import FeatureRows
from .predict_forgetting import Forgetting, ForgettingReport, forgetting_report, predict_forgetting
from .redundancy import Redundancy, redundant
from .relations import Neighbours, Relations, neighbours, relations

__all__ = [
    "Contradictions",
    "FarthestPoints",
    "FeatureRows",
    "Forgetting",
    "ForgettingReport",
    "Neighbours",
    "Redundancy",
    "Relations",
    "contradictions",
    "cross",
    "farthest_points",
    "features",
    "forgetting_report",
    "gram",
    "neighbours",
    "predict_forgetting",
    "redundant",
    "relations",
]
