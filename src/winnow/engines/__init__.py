"""Engines: where work runs. `Local` uses the cores of this machine; `run_jobs` makes any engine resumable.

To add an engine: write a class with the `map` method of `jobs.Engine`.
"""

from __future__ import annotations

from .jobs import Engine, Job, run_jobs
from .local import Local, engine_of

__all__ = ["Engine", "Job", "Local", "engine_of", "run_jobs"]
