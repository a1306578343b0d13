"""What influence vectors cost: exact, by conjugate gradients, and what `auto` takes, at 5,130 parameters.

    python benchmarks/influence_vectors.py [--examples 600] [--many 100000]

A softmax head on 512 made features and a column of ones, ten classes. First all solvers on few examples, because
conjugate gradients take so long; then `auto` on many, with its rows written to a file: the peak is of memory that is
not the file's. Processor seconds on one thread.
"""

from __future__ import annotations

import argparse
import datetime
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from machine import processor
from numpy.typing import NDArray
from scipy.special import softmax
from threadpoolctl import threadpool_limits

import winnow as wn

FEATURES, CLASSES, DAMPING = 512, 10, 1e-2


def problem(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    draw = np.random.default_rng(0)
    x = np.hstack([draw.standard_normal((n, FEATURES)) * np.geomspace(1, 0.1, FEATURES), np.ones((n, 1))])
    probs = softmax(x @ draw.standard_normal((FEATURES + 1, CLASSES)) / 3, axis=1)
    return x, probs, (probs.cumsum(axis=1) > draw.random((n, 1))).argmax(axis=1)


def own_megabytes() -> float:
    """Memory of this process that is no file's."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return 0.0


class Peak:
    """The largest own memory while a block runs, looked at ten times a second."""

    def __enter__(self) -> Peak:
        self.start = self.megabytes = own_megabytes()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self.megabytes = max(self.megabytes, own_megabytes())

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--examples", type=int, default=600)
    parser.add_argument("--many", type=int, default=100_000, help="examples of the large run; 0 for none")
    asked = parser.parse_args()
    print(f"{datetime.date.today()}, {processor()}, one thread, {(FEATURES + 1) * CLASSES:,} parameters\n")
    print("| solver | examples | seconds | largest difference to exact |\n|---|---|---|---|")
    with threadpool_limits(1):
        wn.influence.vectors(*problem(50), DAMPING)  # what is loaded once is not part of it
        given, first, reference = problem(asked.examples), 0.0, None
        for solver in ("exact", "auto", "cg"):
            start = time.process_time()
            rows = np.asarray(wn.influence.vectors(*given, DAMPING, solver=solver))
            taken = time.process_time() - start
            reference = rows if reference is None else reference
            first = first or taken
            off = abs(rows - reference).max() / abs(reference).max()
            print(f"| {solver} | {asked.examples:,} | {taken:.1f} ({taken / first:.1f} x) | {off:.0e} |", flush=True)
        if not asked.many:
            return
        given, shape = problem(asked.many), (asked.many, (FEATURES + 1) * CLASSES)
        with tempfile.TemporaryDirectory() as folder, Peak() as peak:
            out = np.lib.format.open_memmap(Path(folder) / "rows.npy", "w+", np.float32, shape)
            start = time.process_time()
            wn.influence.vectors(*given, DAMPING, out=out)
            taken = time.process_time() - start
        size = shape[0] * shape[1] * 4 / 2**20
        print(
            f"\nauto, {asked.many:,} examples: {taken:.0f} s, {peak.megabytes - peak.start:,.0f} MB above the "
            f"{peak.start:,.0f} MB before (the rows in the file take {size:,.0f} MB)."
        )


if __name__ == "__main__":
    main()
