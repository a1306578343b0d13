"""Where work runs. `Local` uses the cores of this machine; `run_jobs` makes any engine resumable."""

from __future__ import annotations

from .jobs import Engine, Job, run_jobs
from .local import Local

__all__ = ["Engine", "Job", "Local", "run_jobs"]
