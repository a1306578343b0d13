"""A module of this folder in a process of its own, with the package of any checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["child"]

ROOT = Path(__file__).resolve().parent.parent


def child(module: str, arguments: list[str], source: Path, compiled: Path | None = None) -> Any:
    """Run `module` with one thread and the package that lies in `source`; what it prints last, read as JSON.

    `compiled` is a folder for compiled files, so that neither the checkout nor the settings of the shell decide
    whether there are any.
    """
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    if compiled is not None:
        environment["PYTHONPYCACHEPREFIX"] = str(compiled)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[1:])} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])
