"""What is read off a curve of `trainings` between its stops, on straight lines from the untrained student onwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Curve = Mapping[str, Any]


def at_seconds(curve: Curve, seconds: float, start: float) -> float:
    """Accuracy when as much time has gone by; `start` is that of the untrained student."""
    return float(np.interp(seconds, [0.0, *curve["seconds"]], [start, *curve["accuracies"]]))


def seconds_to(curve: Curve, accuracy: float, start: float) -> float:
    """Seconds after which a curve is first at an accuracy; infinity if it never is."""
    times, heights = [0.0, *curve["seconds"]], [start, *curve["accuracies"]]
    if start >= accuracy:
        return 0.0
    for place in range(1, len(times)):
        low, high = heights[place - 1], heights[place]
        if high >= accuracy:
            return float(times[place - 1] + (accuracy - low) / (high - low) * (times[place] - times[place - 1]))
    return float("inf")


def mean_or_never(values: Sequence[float], form: str, never: str = "never") -> str:
    """The mean of what was reached by every seed; by how many, if not by all."""
    reached = [value for value in values if np.isfinite(value)]
    if not reached:
        return never
    told = format(float(np.mean(reached)), form)
    return told if len(reached) == len(values) else f"{told} ({len(reached)} of {len(values)} seeds)"
