"""Methods without an order are computed anew by `winnow select`, in its own process, from what the run recorded."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..artefacts import Subset
from ..core import checks, registry
from ..core.errors import InputError, StoreError
from ..core.remote import copied_back
from .example_table import ExampleTable
from .run_contents import WHAT_IF

__all__ = ["Recomputation"]


@dataclass
class _Job:
    name: str
    file: Path
    process: subprocess.Popen[bytes]
    said: IO[bytes]
    state: str = "running"
    message: str = ""


class Recomputation:
    """Background selections of a run; finished ones become subsets of its table."""

    def __init__(self, table: ExampleTable) -> None:
        self.table = table
        self._jobs: dict[str, _Job] = {}
        self._lock = threading.RLock()  # requests come from several threads

    @property
    def possible(self) -> bool:
        """Whether the run has recorded anything to select from."""
        return any(
            set(file.arrays) - {"embeddings_again"} and file.path.parent.name != "recordings"  # of winnow explain
            for file in self.table.run.signals
        ) and not any("-fold-" in file.path.name for file in self.table.run.signals)

    def methods(self) -> list[dict[str, str]]:
        """Every selector, with its first sentence."""
        task = self.table.source.task
        return [{"name": one.name, "said": one.summary} for one in registry.listing("selector") if task in one.tasks]

    def start(self, method: str, keep: float, balance: float | None) -> str:
        """Start a selection and return the name of its subset; the same one is not started twice."""
        registry.get("selector", method)  # a name that is not registered never reaches the command line
        share = checks.number("keep", "a selection", keep, low=0, high=1, open_low=True)
        even = None if balance is None else checks.number("balance", "a selection", balance, low=0, high=1)
        if not self.possible:
            raise InputError(
                "this run recorded no signals to select from; use a run of winnow prune or winnow observe."
            )
        name = re.sub(r"[^\w@.+-]", "-", f"{method}@{share:g}" + ("" if even is None else f"-balance-{even:g}"))
        with self._lock:
            self._begin(name, method, share, even)
        return name

    def _begin(self, name: str, method: str, share: float, even: float | None) -> None:
        known = self._jobs.get(name)
        if known is not None and known.state != "failed":
            return
        if any(job.state == "running" for job in self.state_of_all()):
            raise InputError("a selection is running, and a run takes one at a time; wait for it to end.")
        run = self.table.run.path.resolve()
        file = run / WHAT_IF / f"{name}.parquet"
        file.parent.mkdir(exist_ok=True)
        words = ["select", method, str(run), "--keep", str(share), "--out", str(file)]
        words += ["--balance", "none" if even is None else str(even)]
        said = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the job has ended
        command = [sys.executable, "-c", "from winnow.cli import main; main()", *words]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, stdin=subprocess.DEVNULL)
        self._jobs[name] = _Job(name, file, process, said)

    def state_of_all(self) -> list[_Job]:
        """Every selection, as it stands now."""
        with self._lock:
            for job in self._jobs.values():
                if job.state == "running" and job.process.poll() is not None:
                    self._ended(job)
            return list(self._jobs.values())

    def report(self) -> list[dict[str, Any]]:
        """Every selection in words."""
        return [{"name": job.name, "state": job.state, "message": job.message} for job in self.state_of_all()]

    def _ended(self, job: _Job) -> None:
        job.said.seek(0)
        lines = job.said.read().decode(errors="replace").strip().splitlines()
        job.said.close()
        try:
            if job.process.returncode != 0:
                raise StoreError(lines[-1] if lines else "the selection failed")
            self.table.add_subset(job.name, Subset.load(job.file))
            copied_back(self.table.run.path)
            job.state = "done"
        except StoreError as error:
            job.state, job.message = "failed", str(error).removeprefix("winnow: ")

    def stop(self) -> None:
        """End what is still running."""
        for job in self._jobs.values():
            if job.state == "running" and job.process.poll() is None:
                job.process.terminate()
                job.process.wait(timeout=30)
                job.said.close()
                job.state, job.message = "failed", "stopped"
