"""How fast and how exact the theory's solver is, against the usual way: scipy's dblquad and fsolve.

    python benchmarks/theory.py [--points 400] [--repeats 3]

The usual way solves Eqs. 1 to 3 of the paper as they stand (66 and 67 at angle 0), with dblquad at its own accuracy
for every integral and fsolve started within a few per cent of the answer, one point at a time. `learning_curve` is
timed on curves of many points, `solve` on the same points one by one from a cold start. Both run in this process, in
turn, so that a slow minute slows both; what is printed are ratios of medians. Then every point of a grid is solved
again by nested adaptive quadrature asked for twelve digits, and the largest difference is printed.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from machine import processor
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1]))  # the slow twins live with the tests

from tests.methods.theory.test_solve import GRID, start_near
from tests.oracles import theory as twin

from winnow.methods.theory import Solution, Window, learning_curve, solve
from winnow.methods.theory.policies import interval

ALPHAS = (0.7, 1.5, 3.0, 6.0)
SETTINGS = [(1.0, 0.0), (0.2, 0.0), (0.05, 0.0), (0.2, 10.0), (0.2, 20.0), (0.5, 40.0)]


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def usual(point: Solution) -> None:
    """The usual way from a good start; checked, so that a failed search is not counted as a fast one."""
    low, high, kept = interval("benchmark", point.policy, point.keep)
    near = [point.R - 0.02 * (1 - point.R), point.kappa * 1.01]
    if point.angle:
        near.insert(1, point.rho - 0.02 * (1 - point.rho))
    found = twin.plain_solve(point.alpha, low, high, kept, point.angle, near)
    if abs(found / point.error - 1) > 1e-5:
        raise ArithmeticError(f"the usual way went astray at {point}: {found}")


def row(keep: float, angle: float, points: int, repeats: int) -> tuple[float, float, float]:
    """Median seconds a point: the usual way, a cold `solve`, a point of a curve."""
    curve = np.geomspace(0.1, 1000, points)
    few = curve[:: max(1, points // 50)]
    slow, cold, fast = [], [], []
    for _ in range(repeats):
        for alpha in ALPHAS:
            point = solve(alpha, keep, angle)
            slow.append(seconds(lambda point=point: usual(point)))
        cold.append(seconds(lambda: [solve(alpha, keep, angle) for alpha in few]) / len(few))
        fast.append(seconds(lambda: learning_curve(curve, keep, angle)) / points)
    return statistics.median(slow), statistics.median(cold), statistics.median(fast)


def worst() -> tuple[float, int]:
    """The largest relative difference to adaptive quadrature over the grid of the tests."""
    largest = 0.0
    for alpha, keep, angle, policy in GRID:
        found = solve(alpha, 1.0 if isinstance(policy, Window) else keep, angle, policy)
        low, high, kept = interval("benchmark", policy, keep)
        slow = twin.solve(alpha, low, high, kept, angle, start_near(found))
        largest = max(largest, abs(found.error / slow - 1))
    return largest, len(GRID)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=int, default=400, help="points of a timed curve")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    learning_curve([1.0, 2.0], 0.2, 10)  # compile
    machine = processor()
    print(f"{datetime.date.today()}, {machine}, one thread, Python {platform.python_version()}\n")
    print("| keep | angle | dblquad + fsolve | solve, cold | a point of a curve | ratio, cold | ratio, curve |")
    print("|---|---|---|---|---|---|---|")
    with threadpool_limits(1):
        for keep, angle in SETTINGS:
            slow, cold, fast = row(keep, angle, asked.points, asked.repeats)
            print(
                f"| {keep:g} | {angle:g} | {slow * 1e3:.0f} ms | {cold * 1e6:.0f} us | {fast * 1e6:.1f} us "
                f"| {slow / cold:,.0f} | {slow / fast:,.0f} |",
                flush=True,
            )
        largest, count = worst()
    print(f"\nlargest relative difference to adaptive quadrature at {count} points: {largest:.1e}")


if __name__ == "__main__":
    main()
