"""The labelled pseudo neural tangent kernel (lpNTK): how training on one example affects another.

- `gram`, `cross` and `features` compute the kernel, exactly or projected for many examples.
- `relations`, `neighbours` and `contradictions` say which examples are interchangeable and which contradict each other.
- `redundant` finds examples that others cover; `farthest_points` spreads centres over the data.
- `predict_forgetting` predicts which examples an update makes the network forget.

All but the last work on any kernel: a square array, memory-mapped or not, or `FeatureRows`.
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
