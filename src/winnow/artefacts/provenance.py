"""Where an artefact came from: the step, its parameters, the versions, the fingerprints of its inputs.

Provenance holds nothing that differs between two runs of the same thing (no clock, no host, no duration),
so that the same inputs, seed and version give the same bytes. Durations live in a run's step records.
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from functools import cache
from typing import Any

from ..core.files import plain

__all__ = ["Provenance", "record"]

Provenance = Mapping[str, Any]


def record(step: str, parameters: Mapping[str, Any], inputs: Mapping[str, str | Provenance]) -> dict[str, Any]:
    """Provenance of something made by `step`.

    Parameters
    ----------
    step
        The public function, such as `observe`.
    parameters
        What it was called with, seeds included.
    inputs
        For each input its provenance, or its fingerprint where it is raw data.
    """
    return {"step": step, "parameters": plain(parameters), "inputs": plain(inputs), "versions": versions()}


@cache
def versions() -> dict[str, str]:
    """Versions of winnow and of what its numbers depend on, without importing any of it."""
    found = {"python": platform.python_version()}
    for name in ("winnow-data", "torch", "numpy", "scipy", "scikit-learn", "faiss-cpu"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
