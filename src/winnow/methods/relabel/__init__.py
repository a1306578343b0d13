"""Targets from any prior model, and training that starts from them (ReLA: Sun et al. 2024).

- `targets` runs a prior once over the data and reduces its representations to a few numbers per example.
- An `Accelerator` trains a student towards these targets until the switch to the actual method.
- `accelerate` does both for eight self-supervised methods.
- `soft_labels` computes the class probabilities of a trained classifier.
- `representation_distance` and `compare` say how well one representation predicts another, to choose a prior.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...artefacts.soft_labels import SoftLabels
    from ...artefacts.targets import Targets
    from .acceleration import Pretrained, accelerate
    from .accelerator import Accelerator
    from .comparison import Comparison
    from .distance import compare, representation_distance
    from .prior_labels import soft_labels
    from .prior_targets import targets

_HOMES = {
    "Accelerator": ".accelerator",
    "Comparison": ".comparison",
    "Pretrained": ".acceleration",
    "SoftLabels": "...artefacts.soft_labels",
    "Targets": "...artefacts.targets",
    "accelerate": ".acceleration",
    "compare": ".distance",
    "representation_distance": ".distance",
    "soft_labels": ".prior_labels",
    "targets": ".prior_targets",
}

__all__ = [
    "Accelerator",
    "Comparison",
    "Pretrained",
    "SoftLabels",
    "Targets",
    "accelerate",
    "compare",
    "representation_distance",
    "soft_labels",
    "targets",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'winnow.methods.relabel' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value
