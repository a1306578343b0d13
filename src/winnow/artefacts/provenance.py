"""Provenance of artefacts: the step, its parameters, versions, and the fingerprints of its inputs.

Provenance holds nothing that differs between two identical runs (no time, host or duration), so that the same inputs,
seed and version give the same bytes. Durations are in a run's step records.
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
    """Provenance of an artefact made by `step`.

    Parameters
    ----------
    step
        The public function, such as `observe`.
    parameters
        The arguments of the call, including seeds.
    inputs
        The provenance of each input, or its fingerprint if it is raw data.
    """
    return {"step": step, "parameters": plain(parameters), "inputs": plain(inputs), "versions": versions()}


@cache
def versions() -> dict[str, str]:
    """Versions of winnow and of the packages its numbers depend on, without importing them."""
    found = {"python": platform.python_version()}
    for name in ("winnow-data", "torch", "numpy", "scipy", "scikit-learn", "faiss-cpu"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
