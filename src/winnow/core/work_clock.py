"""Seconds of work: what something takes on a machine that does nothing else.

Costs are compared with each other: observing with training, choosing with what it saves. On a busy machine wall time
depends on what else runs at that moment, so that one of two equal trainings may look twice as dear. The processor time
of this process does not. It says too little where the work is done elsewhere, and counts every thread. So seconds of
work are processor time, but never more than wall time, and wall time if there is a GPU. Waiting for a disk or a network
is not counted. Use it only around work of this process itself, not around workers.
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

__all__ = ["Begun", "begin", "seconds_since"]


class Begun(NamedTuple):
    """When some work began, by both clocks."""

    wall: float
    own: float


def begin() -> Begun:
    """Return the time at which work begins, for `seconds_since`."""
    return Begun(time.perf_counter(), time.process_time())


def seconds_since(start: Begun) -> float:
    """Return the seconds of work since it began."""
    wall, own = time.perf_counter() - start.wall, time.process_time() - start.own
    return wall if _on_gpu() else min(wall, own)


def _on_gpu() -> bool:
    """Whether work may be done by a GPU; torch is asked only if it was imported."""
    torch = sys.modules.get("torch")
    return torch is not None and (torch.cuda.is_available() or torch.backends.mps.is_available())
