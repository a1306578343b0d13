"""How fast compression by moments is, and how exact, against the paper's algorithm and against coreax.

    python benchmarks/moments.py [--trials 5] [--largest 1000000] [--coreax PYTHON]

First 10^4 points of 3 dimensions to 10^3 with moments of order 5, by `compress` as it is, with `refine`, and by the
paper's algorithm (k-means and greedy rounds, one singular value decomposition for each point that goes). All see the
same points in turn, in this process, on one thread, and are judged by the function of the paper's Eq. 14. Then the time
of `compress` from 10^4 points to the largest, against d log d. Times are the processor's, which a busy machine changes
little.

coreax has no cells: it recombines all points it is given at once. `--coreax` names a Python that has it (install it
into an environment of its own); it then gets the same points to reduce to as many as there are moments, whole and cell
by cell.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from machine import processor
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from winnow.methods.moments import compress, feasible_size, moment_error
from winnow.methods.moments.cells import merge, split
from winnow.methods.moments.moment_table import table
from winnow.methods.moments.recombination import terms

Array = NDArray[np.float64]

M, ORDER, SHARE = 3, 5, 10
WAYS = {
    "cells, tree": {},
    "cells, tree, refined": {"refine": True},
    "k-means and greedy, tree": {"strategy": "kmeans"},
    "k-means and greedy, one SVD per point (the paper's)": {"strategy": "kmeans", "reduce": "paper"},
}
OURS, PAPER = next(iter(WAYS)), list(WAYS)[-1]
# run by the other interpreter: features of each job in, indices, weights and seconds out, timed after compiling
COREAX = """
import sys, json, time
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp, numpy as np
from coreax import Data
from coreax.solvers import TreeRecombination
jobs = np.load(sys.argv[1])
solver = TreeRecombination(mode="implicit-explicit")
run = jax.jit(lambda x: solver.reduce(Data(x))[0])
out = []
for turn in range(2):
    start, out = time.process_time(), []
    for name in jobs.files:
        found = run(jnp.asarray(jobs[name]))
        out.append([np.asarray(found.unweighted_indices).tolist(), np.asarray(found.points.weights).tolist()])
    seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "found": out}))
"""


def seconds(call: Callable[[], tuple[Array, Array]]) -> tuple[float, tuple[Array, Array]]:
    start = time.process_time()
    made = call()
    return time.process_time() - start, made


def drawn(d: int, trial: int) -> Array:
    return np.random.default_rng([trial, d]).uniform(-1, 1, (d, M))


def function(points: Array, trial: int) -> Array:
    """Eq. 14 at each point."""
    x = np.random.default_rng([trial, 14]).standard_normal((10, M))
    return np.asarray((1 / (1 + np.exp(-points @ x.T))).mean(axis=1))


def against_the_paper(d: int, trials: int) -> None:
    taken: dict[str, list[tuple[float, float, float, int]]] = {way: [] for way in WAYS}
    for trial in range(trials):
        points = drawn(d, trial)
        values = function(points, trial)
        for way, options in WAYS.items():
            spent, (idx, w) = seconds(
                lambda points=points, options=options: compress(points, d // SHARE, ORDER, **options)
            )
            off = abs(w @ values[idx] / d - values.mean())
            taken[way].append((spent, off, moment_error(points, idx, w, ORDER), len(idx)))
    print(f"{d:,} points, m = {M}, order {ORDER}, to {d // SHARE:,}; {trials} draws of points and functions\n")
    print("| way | points kept | seconds (median) | times ours | error of Eq. 14 (mean) | relative error of moments |")
    print("|---|---|---|---|---|---|")
    ours = statistics.median(one[0] for one in taken[OURS])
    for way, every in taken.items():
        spent = statistics.median(one[0] for one in every)
        print(
            f"| {way} | {max(one[3] for one in every):,} | {spent:.3f} | {spent / ours:,.1f} "
            f"| {statistics.mean(one[1] for one in every):.1e} | {max(one[2] for one in every):.0e} |"
        )
    paired = statistics.median(slow[0] / fast[0] for slow, fast in zip(taken[PAPER], taken[OURS], strict=True))
    worse = statistics.mean(one[1] for one in taken[OURS]) / statistics.mean(one[1] for one in taken[PAPER])
    print(f"\nThe paper's takes {paired:,.0f} times as long (median of pairs);", end=" ")
    print(f"our mean error is {worse:.2f} times its own.\n", flush=True)


def growth(largest: int) -> None:
    sizes = [d for d in (10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6) if d <= largest]
    spent = []
    print("| d | kept | seconds | microseconds / (d log2 d) | relative error of moments |")
    print("|---|---|---|---|---|")
    for d in sizes:
        points = drawn(d, 0)
        every = [
            seconds(lambda points=points, d=d: compress(points, d // SHARE, ORDER))
            for _ in range(3 if d < 10**6 else 1)
        ]
        spent.append(statistics.median(one[0] for one in every))
        idx, w = every[0][1]
        unit = spent[-1] / (d * np.log2(d)) * 1e6
        print(
            f"| {d:,} | {len(idx):,} | {spent[-1]:.2f} | {unit:.3f} | {moment_error(points, idx, w, ORDER):.0e} |",
            flush=True,
        )
    if len(sizes) > 1:
        slope = np.polyfit(np.log(sizes), np.log(spent), 1)[0]
        expected = np.polyfit(np.log(sizes), np.log(sizes * np.log(sizes)), 1)[0]
        print(f"\nTime grows like d^{slope:.2f}; d log d over the same range is d^{expected:.2f}.\n")


def beside_coreax(python: str, d: int) -> None:
    points, products = drawn(d, 0), table(M, ORDER)
    data = merge(points, None, np.ones(d))
    members, starts = split(np.ascontiguousarray(data.points.T), d // SHARE // products.moments)
    tasks = {
        "all points at once": [np.arange(d)],
        "cell by cell": [members[a:b] for a, b in pairwise(starts)],
    }
    print(
        f"| {d:,} points to {products.moments} per job | jobs | ours, seconds | coreax, seconds "
        "| ours, moments | coreax, moments |"
    )
    print("|---|---|---|---|---|---|")
    for name, jobs in tasks.items():
        fast, own = 0.0, 0.0
        for job in jobs:
            spent, (idx, w) = seconds(lambda job=job: compress(data.points[job], products.moments, ORDER))
            fast, own = fast + spent, max(own, moment_error(data.points[job], idx, w, ORDER))
        features = [terms(data.points, data.weights, job, products)[:, 1:] for job in jobs]
        found = _asked(python, features)
        theirs = max(
            moment_error(data.points[job], *_positive(one, len(job)), ORDER)
            for job, one in zip(jobs, found["found"], strict=True)
        )
        print(f"| {name} | {len(jobs)} | {fast:.3f} | {found['seconds']:.3f} | {own:.0e} | {theirs:.0e} |", flush=True)


def _asked(python: str, features: list[Array]) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "jobs.npz"
        # features scaled to a size near 1 each, in doubles, so that the comparison is of algorithms
        np.savez(file, *[one / np.abs(one).max(axis=0) for one in features])
        ran = subprocess.run([python, "-c", COREAX, str(file)], capture_output=True, text=True,
                             env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": ""}, check=False)  # fmt: skip
    if ran.returncode:
        raise SystemExit(f"coreax did not run: {ran.stderr.strip().splitlines()[-1]}")
    return json.loads(ran.stdout.splitlines()[-1])


def _positive(found: list[list[float]], total: int) -> tuple[NDArray[np.int64], Array]:
    """The points that coreax gives weight to; its weights sum to one."""
    idx, w = np.array(found[0], np.int64), np.array(found[1], float)
    alive = w > 0
    return idx[alive], w[alive] * (total / w.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--largest", type=int, default=10**6)
    parser.add_argument("--coreax", help="a Python interpreter that has coreax")
    asked = parser.parse_args()
    compress(drawn(2000, 0), 2 * feasible_size(M, ORDER), ORDER)  # compile
    machine = processor()
    print(f"{datetime.date.today()}, {machine}, one thread, Python {platform.python_version()}; processor seconds\n")
    with threadpool_limits(1):
        against_the_paper(10**4, asked.trials)
        growth(asked.largest)
        if asked.coreax:
            beside_coreax(asked.coreax, 10**4)


if __name__ == "__main__":
    main()
