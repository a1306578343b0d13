"""The forecast of memory against the peak of a real pruning."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# In a process of its own, because a peak is never taken back. What both sizes need alike, the libraries, is taken off.
MEASURE = """
import json, pathlib, resource, sys
import numpy as np, torch
import winnow as wn
from winnow.engines import Local
from winnow.planning.resources import estimate

def peak():
    # getrusage counts the peak of the parent too, because it outlives fork and exec; the status file does not.
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


rng = np.random.default_rng(0)
peaks, forecasts = [], []
for n in (2_000, 120_000):
    source = wn.open((rng.normal(size=(n, 24)).astype(np.float32), rng.integers(0, 8, n)))
    asked = {"method": "el2n", "model": torch.nn.Linear(24, 8), "recipe": wn.Recipe(epochs=2, batch=4096), "seeds": 2,
             "engine": Local(workers=1)}
    forecasts.append(estimate(source, keep=0.5, seconds_per_example=1e-6, **asked).memory_bytes)
    wn.prune(source, 0.5, **asked)
    peaks.append(peak())
print(json.dumps([peaks[1] - peaks[0], forecasts[1] - forecasts[0]]))
"""


def test_memory_is_what_a_real_run_takes() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", MEASURE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    taken, forecast = json.loads(done.stdout.splitlines()[-1])
    assert taken > 50 << 20  # examples count, not the noise of an allocator
    assert forecast == pytest.approx(taken, rel=0.5), f"{taken >> 20} MB taken, {forecast >> 20} MB forecast"
