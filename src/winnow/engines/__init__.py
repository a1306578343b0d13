"""Engines: where work runs. `Local` uses the cores of this machine, `Ray` a cluster; `run_jobs` makes any resumable.

To add an engine: write a class with the `map` method of `jobs.Engine`, and check it with `winnow.testing.check_engine`.
"""

from __future__ import annotations

from .jobs import Engine, Job, run_jobs
from .local import Local
from .named import engine_of
from .needs import Needs
from .ray import Ray
from .written_steps import Later

__all__ = ["Engine", "Job", "Later", "Local", "Needs", "Ray", "engine_of", "run_jobs"]
