"""What the first use on a machine costs: functions that numba compiles once and keeps on disk.

    python benchmarks/first_use.py [--repeats 3]

Each turn starts two new processes with an empty cache: the first compiles, the second reads what was compiled. The
processor seconds are those of the call alone, with the import of numba but without that of winnow.
"""

from __future__ import annotations

import argparse
import datetime
import os
import statistics
import subprocess
import sys
import tempfile

from machine import processor

CALLS = {
    "moments.compress": "wn.moments.compress(np.random.default_rng(0).uniform(-1, 1, (10_000, 3)), 1_000, 5)",
    "theory.learning_curve": "wn.theory.learning_curve([1.0, 2.0], 0.2, 10)",
    "select kcenter": "wn.select('kcenter', wn.Signals(ids=np.arange(500), task='unlabelled', arrays={'embeddings': "
    "np.random.default_rng(0).standard_normal((500, 8)).astype('f4')}), size=50, balance=0.0)",
}
PROGRAM = """
import time
import numpy as np
import winnow as wn
wn.theory, wn.moments, wn.select
start = time.process_time()
{call}
print(time.process_time() - start)
"""


def seconds(call: str, cache: str) -> float:
    program = PROGRAM.format(call=call)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    print(f"{datetime.date.today()}, {processor()}\n")
    print("| call | first use, s | first use in a later process, s |\n|---|---|---|")
    for name, call in CALLS.items():
        first, later = [], []
        for _ in range(asked.repeats):
            with tempfile.TemporaryDirectory() as cache:
                first.append(seconds(call, cache))
                later.append(seconds(call, cache))
        print(f"| {name} | {statistics.median(first):.1f} | {statistics.median(later):.1f} |", flush=True)


if __name__ == "__main__":
    main()
