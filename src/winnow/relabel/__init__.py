"""Targets from any prior model, and training that starts from them (ReLA: Sun et al. 2024).

`targets` runs a prior once over the data; an `Accelerator` pulls a student towards what it found until the
switch to the method proper; `accelerate` does both for eight self-supervised methods.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .accelerating import Pretrained, accelerate
    from .accelerator import Accelerator
    from .artefact import Targets
    from .comparison import Comparison
    from .distance import compare, representation_distance
    from .labelling import SoftLabels, soft_labels
    from .making import targets

_HOMES = {
    "Accelerator": "accelerator",
    "Comparison": "comparison",
    "Pretrained": "accelerating",
    "SoftLabels": "labelling",
    "Targets": "artefact",
    "accelerate": "accelerating",
    "compare": "distance",
    "representation_distance": "distance",
    "soft_labels": "labelling",
    "targets": "making",
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
        raise AttributeError(f"module 'winnow.relabel' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
