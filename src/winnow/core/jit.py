"""Functions compiled by numba: its decorators, with the types that its own lack.

Whoever imports this loads numba; only rooms that nobody opens without need do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numba import njit

__all__ = ["compiled", "inlined", "summing"]

F = TypeVar("F", bound=Callable[..., object])

compiled: Callable[[F], F] = njit(cache=True, nogil=True)
inlined: Callable[[F], F] = njit(cache=True, inline="always")
# lets a sum be split over vector lanes, and assumes nothing about infinities
summing: Callable[[F], F] = njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
