"""How fast and how exact the theory's solver is, against two usual ways: dblquad or a grid of Gauss nodes, and fsolve.

    python benchmarks/theory.py [--points 400] [--repeats 3]

The usual way solves Eqs. 1 to 3 of the paper as they stand (66 and 67 at angle 0), with dblquad at its own accuracy
for every integral and fsolve started within a few per cent of the answer, one point at a time. The faster usual way
puts the same equations on a grid of Gauss-Legendre nodes as numpy arrays, with the fewest nodes (40 to 1,280 per
side) that give the error to 1e-5, or to 1e-9, at that point; finding that number is not timed, and points at which
none is enough are left out. It is timed at every twentieth point of the same curve. `learning_curve` is timed on
curves of many points, `solve` on the same points one by one from a cold start. All run in this process, in turn, so
that a slow minute slows each; what is printed are ratios of medians. Then every point of a grid is solved again by
nested adaptive quadrature asked for twelve digits, and the largest difference is printed.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import math
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from machine import processor
from scipy.optimize import fsolve
from scipy.special import ndtr
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1]))  # the slow twins live with the tests

from tests.methods.theory.test_solve import GRID, start_near
from tests.oracles import theory as twin

from winnow.methods.theory import Solution, Window, learning_curve, solve
from winnow.methods.theory.policies import interval

ALPHAS = (0.7, 1.5, 3.0, 6.0)
SETTINGS = [(1.0, 0.0), (0.2, 0.0), (0.05, 0.0), (0.2, 10.0), (0.2, 20.0), (0.5, 40.0)]


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def usual(point: Solution) -> None:
    """The usual way from a good start; checked, so that a failed search is not counted as a fast one."""
    low, high, kept = interval("benchmark", point.policy, point.keep)
    near = [point.R - 0.02 * (1 - point.R), point.kappa * 1.01]
    if point.angle:
        near.insert(1, point.rho - 0.02 * (1 - point.rho))
    found = twin.plain_solve(point.alpha, low, high, kept, point.angle, near)
    if abs(found / point.error - 1) > 1e-5:
        raise ArithmeticError(f"the usual way went astray at {point}: {found}")


@functools.cache
def nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(count)


def grid_conditions(
    x: list[float], alpha: float, low: float, high: float, keep: float, theta: float, count: int
) -> list[float]:
    """The equations of `tests.oracles.theory.plain_conditions`, every integral a sum over one grid."""
    (place, weight), kappa, top = nodes(count), x[-1], min(high, 8.0)
    z = (low + (top - low) * (place + 1) / 2)[:, None]
    t = (kappa - 5 + 5 * place)[None, :]
    area = (weight * (top - low) / 2)[:, None] * (weight * 5) * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) / keep
    if theta == 0.0:
        r = x[0]
        s = 1 - r * r
        bell = area * np.exp(-((t - r * z) ** 2) / (2 * s)) / math.sqrt(2 * math.pi * s) * (kappa - t)
        return [r - 2 * alpha * (bell * (z - r * t)).sum() / s, s - 2 * alpha * (bell * (kappa - t)).sum()]
    r, rho, _ = x
    cos, sin = math.cos(theta), math.sin(theta)
    s, lam = 1 - rho * rho, math.sqrt(sin**2 - r * r - rho * rho + 2 * rho * r * cos)
    first = second = third = 0.0
    for z_ in (z, -z):
        apart = z_ * z_ * (rho**2 + cos**2 - 2 * rho * r * cos) + 2 * t * z_ * (r * cos - rho) + t * t * sin**2
        edge = area * np.exp(-apart / (2 * lam**2)) * (kappa - t)
        gamma = z_ * (rho * r - cos) - t * (r - rho * cos)
        bell = area * np.exp(-((t - rho * z_) ** 2) / (2 * s)) / math.sqrt(2 * math.pi * s) * (kappa - t)
        bell *= ndtr(-gamma / (math.sqrt(s) * lam))
        first += edge.sum()
        second += (bell * (kappa - t)).sum()
        third += 2 * (bell * (z_ - rho * t)).sum() / s + edge.sum() / (math.pi * lam) * (rho * r - cos) / s
    return [
        (r - rho * cos) / sin**2 - alpha / (math.pi * lam) * first,
        1 - (rho**2 + r * r - 2 * rho * r * cos) / sin**2 - 2 * alpha * second,
        (rho - r * cos) / sin**2 - alpha * third,
    ]


def by_grid(point: Solution, count: int) -> float:
    """The error by Gauss nodes and fsolve, from the same start as `usual`."""
    low, high, kept = interval("benchmark", point.policy, point.keep)
    near = [point.R - 0.02 * (1 - point.R), point.kappa * 1.01]
    if point.angle:
        near.insert(1, point.rho - 0.02 * (1 - point.rho))
    given = (point.alpha, low, high, kept, math.radians(point.angle), count)
    return math.acos(min(fsolve(grid_conditions, near, args=given, xtol=1e-11)[0], 1.0)) / math.pi


def enough(point: Solution, digits: float) -> int | None:
    """The fewest nodes that give the error to so many digits."""
    for count in (40, 80, 160, 320, 640, 1280):
        try:
            if abs(by_grid(point, count) / point.error - 1) < digits:
                return count
        except ValueError:  # the search left the domain
            continue
    return None


def grid_seconds(keep: float, angle: float, curve: np.ndarray, digits: float) -> tuple[float, int]:
    """Mean seconds of a point of a curve by Gauss nodes, and at how many points they were enough."""
    points = [solve(alpha, keep, angle) for alpha in curve]
    known = [(point, count) for point in points if (count := enough(point, digits))]
    return statistics.mean(seconds(lambda p=p, n=n: by_grid(p, n)) for p, n in known), len(known)


def row(keep: float, angle: float, points: int, repeats: int) -> tuple[float, float, float]:
    """Median seconds a point: by dblquad, a cold `solve`, a point of a curve."""
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
    heads = ("keep", "angle", "dblquad, ms", "Gauss to 1e-5, ms", "Gauss to 1e-9, ms", "solve, cold, us", "curve, us")
    print("|", " | ".join((*heads, "curve beside dblquad", "beside Gauss to 1e-5", "to 1e-9")), "|")
    print("|---" * 10 + "|")
    with threadpool_limits(1):
        for keep, angle in SETTINGS:
            slow, cold, fast = row(keep, angle, asked.points, asked.repeats)
            some = np.geomspace(0.1, 1000, asked.points)[:: max(1, asked.points // 20)]
            (rough, easy), (fine, hard) = (grid_seconds(keep, angle, some, digits) for digits in (1e-5, 1e-9))
            print(
                f"| {keep:g} | {angle:g} | {slow * 1e3:.0f} | {rough * 1e3:.2f} ({easy} of {len(some)}) "
                f"| {fine * 1e3:.2f} ({hard} of {len(some)}) | {cold * 1e6:.0f} | {fast * 1e6:.1f} "
                f"| {slow / fast:,.0f} | {rough / fast:,.0f} | {fine / fast:,.0f} |",
                flush=True,
            )
        largest, count = worst()
    print(f"\nlargest relative difference to adaptive quadrature at {count} points: {largest:.1e}")


if __name__ == "__main__":
    main()
