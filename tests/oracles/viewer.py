"""Slow, obvious twins of what the viewer computes fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["inside_polygon", "percentile"]


def inside_polygon(point: Sequence[float], corners: Sequence[Sequence[float]]) -> bool:
    """Whether a ray from the point to the right crosses an odd number of edges."""
    x, y = point
    odd = False
    for k, (x1, y1) in enumerate(corners):
        x2, y2 = corners[(k + 1) % len(corners)]
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) * (x2 - x1) / (y2 - y1):
            odd = not odd
    return odd


def percentile(values: Sequence[Any], value: Any) -> float:
    """The share of the known values that are not larger, in per cent."""
    known = [one for one in values if one == one]
    return 100.0 * sum(one <= value for one in known) / len(known)
