"""Run every example in a folder of its own and say how long each took.

    python examples/run_all.py

Each runs as a user would run it: a process of its own, started elsewhere, with no data set at hand.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def run(script: Path) -> bool:
    """Run one example; its output is shown only if it fails."""
    surroundings = {name: value for name, value in os.environ.items() if name != "WINNOW_DATA"}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            [sys.executable, str(script)], cwd=elsewhere, env=surroundings, capture_output=True, text=True, check=False
        )
    passed = done.returncode == 0
    print(f"{script.name:24} {time.perf_counter() - start:6.1f} s  {'ok' if passed else 'failed'}", flush=True)
    if not passed:
        print(done.stdout + done.stderr)
    return passed


def main() -> int:
    """Run them all; the number of failures is the exit code."""
    here = Path(__file__).resolve()
    results = [run(script) for script in sorted(here.parent.glob("*.py")) if script != here]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return results.count(False) or (not results)


if __name__ == "__main__":
    sys.exit(main())
