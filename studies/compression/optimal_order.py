"""Theorem 7 and Eqs. 13 and 19: what is left if the order grows with the size, in one and two dimensions.

Theorem 7 lets the order k grow with the number of kept points d'. The error of a symmetric function is then to fall
like exp(-c d'^(1/m)), faster than any power, at orders that grow like d'^(1/m); so log^m(d) points are enough for d of
them (Eq. 13), and a loss that falls like a power of d falls like exp(-c d'^(1/m)) in d' (Eq. 19). Three things are
measured, with points uniform in the cube from -1 to 1, drawn anew in every trial:

    error     Eq. 14 on 20,000 points, compressed to each of some sizes at every order that fits; the best order is
              taken by the geometric mean over trials, as the theorem does, which only says that there is one
    size      the smallest size at which the error of the sum of Eq. 14 (d times the mean) is at most one thousandth in
              the median trial, as d grows; sizes are tried upward
    loss      a loss that falls like 1/d, learned from all d points and from (c log d)^m of them, c fixed beforehand,
              at the highest order that fits. One dimension: the mean of Eq. 14 over the whole cube, estimated from the
              points. Two: y = tanh features of x times weights plus noise, fitted by least squares to points (x, y)

Two forms with two parameters each are compared by the squared residuals of logarithms: exp(-c d'^(1/m)) and a power
law for errors and losses, log^m(d) and a power law for sizes. How sure the better one is comes from resampling trials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import winnow as wn
from winnow.core import seeds

from ..parts import COLOURS, INK, Asked, Part, panels
from .parts import exponent

Array = NDArray[np.float64]
DIMENSIONS = (1, 2)
FLOOR = 1e-14  # mean errors below are rounding
OMEGA = 1e-3
HIDDEN, NOISE = 4, 0.1
DRAWS = 500
SURE = 0.95


@dataclass(frozen=True)
class Sizes:
    """Points and trials; kept sizes by dimension; points as d grows; c of (c log d)^m by dimension."""

    points: int = 20_000
    trials: int = 20
    kept: tuple[tuple[int, ...], ...] = ((3, 4, 5, 6, 7, 8, 9, 10, 11, 12), (6, 10, 15, 21, 28, 36, 45, 55, 66, 78))
    grown: tuple[int, ...] = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
    searched: int = 7  # trials at each size
    rate: tuple[float, ...] = (1.2, 1.2)


QUICK = Sizes(500, 4, ((3, 4, 6, 8), (6, 10, 15, 21)), (100, 300, 900), 3)


def run(asked: Asked) -> Part:
    sizes = QUICK if asked.quick else Sizes(trials=4 * asked.seeds)
    found = {m: _measured(asked, sizes, m) for m in DIMENSIONS}
    settings = (
        f"Eq. 14 at {sizes.points:,} points and {sizes.trials} trials (error); {sizes.grown[0]} to {sizes.grown[-1]:,} "
        f"points, {sizes.searched} trials, error of the sum at most {OMEGA:g} (size) and {sizes.trials} trials (loss); "
        f"least squares on {HIDDEN} tanh features, noise {NOISE}; `moments.compress`; better forms are called sure at "
        f"{SURE:.0%} of {DRAWS} resamplings of trials."
    )
    return Part("optimal-order", settings, table(found, sizes), verdict(found, sizes), drawing(found, sizes))


def _measured(asked: Asked, sizes: Sizes, m: int) -> dict[str, Any]:
    about = {"m": m, "sizes": asdict(sizes), "omega": OMEGA}
    kept = {
        "error": asked.shelf.keep("error", about, lambda _: errors(sizes, m)),
        "size": asked.shelf.keep("size", about, lambda _: smallest(sizes, m)),
        "loss": asked.shelf.keep("loss", about, lambda _: losses(sizes, m)),
    }
    # files sort their names as words, so "100" would come after "1000"
    return {what: dict(sorted(values.items(), key=lambda item: int(item[0]))) for what, values in kept.items()}


def orders(m: int, size: int) -> list[int]:
    """All orders that fit into a size."""
    return [k for k in range(1, size + 1) if wn.moments.feasible_size(m, k) <= size]


def drawn(m: int, d: int, trial: int, what: str) -> tuple[Array, Array]:
    """Points, and the value of Eq. 14's inner function at each."""
    draw = seeds.stream(0, "compression", "optimal order", what, m, d, trial)
    points, x = draw.uniform(-1, 1, (d, m)), draw.standard_normal((10, m))
    return points, (1 / (1 + np.exp(-points @ x.T))).mean(axis=1)


def gap(points: Array, values: Array, size: int, order: int) -> float:
    """How far the mean of the values is moved by compressing the points."""
    change = np.full(len(points), -1.0)
    kept, weights = wn.moments.compress(points, size, order)
    change[kept] += weights
    return abs(math.fsum(change * values)) / len(points)


def errors(sizes: Sizes, m: int) -> dict[str, dict[str, list[float]]]:
    """Errors of all trials, by kept size and order."""
    every = [drawn(m, sizes.points, trial, "error") for trial in range(sizes.trials)]
    return {
        str(size): {str(k): [gap(*one, size, k) for one in every] for k in orders(m, size)}
        for size in sizes.kept[DIMENSIONS.index(m)]
    }


def smallest(sizes: Sizes, m: int) -> dict[str, int]:
    """The smallest size whose sum is right to OMEGA in the median trial, by number of points; sizes fill an order."""
    out = {}
    for d in sizes.grown:
        every = [drawn(m, d, trial, "size") for trial in range(sizes.searched)]
        found = d
        for k in range(1, 40):
            size = wn.moments.feasible_size(m, k)
            if size >= d:
                break
            tried = range(max(1, k - 2), k + 1)
            if min(float(np.median([d * gap(*one, size, order) for one in every])) for order in tried) <= OMEGA:
                found = size
                break
        out[str(d)] = found
    return out


def losses(sizes: Sizes, m: int) -> dict[str, list[list[float]]]:
    """By number of points: kept size, and one pair of losses per trial, from all points and from those kept."""
    learn: Callable[[int, int, int], list[float]] = averaged if m == 1 else regressed
    rate = sizes.rate[DIMENSIONS.index(m)]
    out = {}
    for d in sizes.grown:
        size = min(d - 1, math.ceil((rate * math.log(d)) ** m))
        out[str(d)] = [[float(size)], *(learn(d, size, trial) for trial in range(sizes.trials))]
    return out


def averaged(d: int, size: int, trial: int) -> list[float]:
    """Squared error of an estimate of Eq. 14's mean over the cube, by all points and by those kept."""
    draw = seeds.stream(0, "compression", "optimal order", "averaged", d, trial)
    points, x = draw.uniform(-1, 1, (d, 1)), draw.standard_normal((10, 1))
    nodes, mass = np.polynomial.legendre.leggauss(40)

    def inner(w: Array) -> Array:
        return np.asarray((1 / (1 + np.exp(-w.reshape(-1, 1) @ x.T))).mean(axis=1))

    truth = float(inner(nodes) @ mass / 2)
    kept, weights = wn.moments.compress(points, size, orders(1, size)[-1])
    return [float((some - truth) ** 2) for some in (inner(points).mean(), weights @ inner(points[kept]) / d)]


def regressed(d: int, size: int, trial: int) -> list[float]:
    """Mean squared distance to the true curve of a least-squares fit, to all points and to those kept, weighted."""
    draw = seeds.stream(0, "compression", "optimal order", "regressed", d, trial)
    slopes, shifts, true = draw.normal(0, 1, HIDDEN), draw.uniform(-1, 1, HIDDEN), draw.standard_normal(HIDDEN)

    def features(x: Array) -> Array:
        return np.asarray(np.tanh(x[:, None] * slopes + shifts))

    x = draw.uniform(-1, 1, d)
    y = features(x) @ true + NOISE * draw.standard_normal(d)
    points = np.stack([x, y / np.abs(y).max()], axis=1)
    kept, weights = wn.moments.compress(points, size, orders(2, size)[-1])
    grid = np.linspace(-1, 1, 401)
    out = []
    for at, mass in ((np.arange(d), np.ones(d)), (kept, weights)):
        root = np.sqrt(mass)[:, None]
        fit = np.linalg.lstsq(root * features(x[at]), root[:, 0] * y[at], rcond=1e-10)[0]
        out.append(float(np.square(features(grid) @ (fit - true)).mean()))
    return out


def best(found: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[int, tuple[int, Array]]:
    """The order with the smallest geometric mean, and its errors, by kept size; sizes at the floor are left out."""
    out = {}
    for size, by_order in found.items():
        k, values = min(by_order.items(), key=lambda item: _geometric(np.array(item[1])))
        if _geometric(np.array(values)) > FLOOR:
            out[int(size)] = (int(k), np.array(values))
    return out


def _geometric(values: Array) -> float:
    return float(np.exp(np.log(np.maximum(values, 1e-17)).mean()))


def misfit(at: Array, logs: Array) -> float:
    """Squared residuals of a straight line."""
    return float(np.square(logs - np.polyval(np.polyfit(at, logs, 1), at)).sum())


def better(sizes: Sequence[int], every: Sequence[Array], m: int) -> tuple[float, float, float]:
    """Misfit of exp(-c size^(1/m)), that of a power law, and the share of resamplings in which the first is smaller."""
    draw = seeds.stream(0, "compression", "optimal order", "bootstrap", m)
    root, log = np.array(sizes) ** (1 / m), np.log(sizes)

    def both(values: Sequence[Array]) -> tuple[float, float]:
        logs = np.log([_geometric(one) for one in values])
        return misfit(root, logs), misfit(log, logs)

    wins = []
    for _ in range(DRAWS):
        first, second = both([one[draw.integers(0, one.size, one.size)] for one in every])
        wins.append(first < second)
    return (*both(every), float(np.mean(wins)))


def grown(found: Mapping[str, int], m: int) -> tuple[float, float, float]:
    """Misfits in log d' of d'^(1/m) linear in log d and of a power law, and the power law's exponent."""
    d, size = np.array([int(one) for one in found], dtype=float), np.array(list(found.values()), dtype=float)
    line = np.polyval(np.polyfit(np.log(d), size ** (1 / m), 1), np.log(d))
    by_log = float(np.square(np.log(np.maximum(line, 1.0) ** m) - np.log(size)).sum())
    return by_log, misfit(np.log(d), np.log(size)), -exponent(d, size)


def kept_losses(found: Mapping[str, Sequence[Sequence[float]]]) -> tuple[list[int], list[Array], Array]:
    """Kept sizes, losses from the kept points by trial, and the geometric mean of their ratios to those from all."""
    sizes = [int(rows[0][0]) for rows in found.values()]
    pairs = [np.array(rows[1:]) for rows in found.values()]
    ratios = np.array([np.exp(np.log(one[:, 1].mean() / one[:, 0].mean())) for one in pairs])
    return sizes, [one[:, 1] for one in pairs], ratios


def table(found: Mapping[int, Mapping[str, Any]], sizes: Sizes) -> list[str]:
    lines = ["| m | kept | best order | error | error at order 2 |", "|---" * 5 + "|"]
    for m, one in found.items():
        for size, (k, values) in best(one["error"]).items():
            second = one["error"][str(size)].get("2")
            last = "" if second is None else f"{_geometric(np.array(second)):.1e}"
            lines.append(f"| {m} | {size} | {k} | {_geometric(values):.1e} | {last} |")
    lines += [
        "",
        "| points | " + " | ".join(f"{d:,}" for d in sizes.grown) + " |",
        "|---" * (len(sizes.grown) + 1) + "|",
    ]
    for m, one in found.items():
        kept, _, ratios = kept_losses(one["loss"])
        lines.append(f"| m = {m}: enough for the sum | " + " | ".join(str(v) for v in one["size"].values()) + " |")
        lines.append(f"| m = {m}: kept for the loss | " + " | ".join(str(v) for v in kept) + " |")
        lines.append(f"| m = {m}: loss over that of all points | " + " | ".join(f"{v:.2f}" for v in ratios) + " |")
    return lines


def verdict(found: Mapping[int, Mapping[str, Any]], sizes: Sizes) -> list[str]:
    lines = [
        "Claims: with the best order the error falls like exp(-c d'^(1/m)), and that order grows like d'^(1/m) "
        "(Theorem 7); log^m(d) points are enough for d (Eq. 13); a loss that falls like a power of d falls like "
        "exp(-c d'^(1/m)) in d' (Eq. 19)."
    ]
    for m, one in found.items():
        chosen = best(one["error"])
        curved, straight, sure = better(list(chosen), [values for _, values in chosen.values()], m)
        # the number of moments is about (k + (m + 1) / 2)^m / m!
        slope = -exponent(list(chosen), [k + (m + 1) / 2 for k, _ in chosen.values()])
        below = [orders(m, size)[-1] - k for size, (k, _) in chosen.items()]
        lines.append(
            f"Theorem 7, m = {m}: squared residuals {curved:.2f} for exp(-c d'^(1/{m})) and {straight:.2f} for a power "
            f"law, the first smaller in {sure:.0%} of resamplings: {_said(sure)}. The best order is the "
            f"highest that fits at {below.count(0)} of {len(below)} sizes and at most {max(below)} below it; with "
            f"(m + 1) / 2 added it grows like d'^{slope:.2f} (claimed 1/{m})."
        )
        by_log, by_power, power = grown(one["size"], m)
        word = "fits better than" if by_log < by_power else "does not fit better than"
        enough = list(one["size"].values())
        lines.append(
            f"Eq. 13, m = {m}: from {sizes.grown[0]} to {sizes.grown[-1]:,} points the size that is enough grows from "
            f"{enough[0]} to {enough[-1]}; squared residuals {by_log:.3f} for log^{m}(d) and {by_power:.3f} for a "
            f"power law (exponent {power:.2f}): the claimed form {word} a power law."
        )
        kept, values, ratios = kept_losses(one["loss"])
        curved, straight, sure = better(kept, values, m)
        lines.append(
            f"Eq. 19, m = {m}: the loss from {kept[0]} to {kept[-1]} kept points is {ratios.min():.2f} to "
            f"{ratios.max():.2f} times that from all; squared residuals {curved:.2f} for exp(-c d'^(1/{m})) and "
            f"{straight:.2f} for a power law, the first smaller in {sure:.0%} of resamplings: {_said(sure)}."
        )
    return lines


def _said(share: float) -> str:
    if share >= SURE:
        return "holds"
    return "does not hold: the power law fits better" if share <= 1 - SURE else "not decided by these trials"


def drawing(found: Mapping[int, Mapping[str, Any]], sizes: Sizes) -> Figure:
    figure, axes = panels(2 * len(DIMENSIONS), 2.6)
    for place, (m, one) in enumerate(found.items()):
        left, right = axes[2 * place], axes[2 * place + 1]
        chosen = best(one["error"])
        root = np.array(list(chosen)) ** (1 / m)
        means = np.array([_geometric(values) for _, values in chosen.values()])
        left.plot(root, means, "o", ms=3, color=COLOURS[0])
        left.plot(root, np.exp(np.polyval(np.polyfit(root, np.log(means), 1), root)), color=COLOURS[0], lw=1)
        left.set(yscale="log", title=f"error, m = {m}", xlabel="kept" if m == 1 else "root of kept")
        d, enough = [int(v) for v in one["size"]], np.array(list(one["size"].values())) ** (1 / m)
        right.plot(d, enough, "o-", ms=3, color=COLOURS[1], lw=1)
        right.set(
            xscale="log", title=f"size, m = {m}", xlabel="points", ylabel="enough" if m == 1 else "root of enough"
        )
        for axis in (left, right):
            axis.tick_params(labelsize=6)
            axis.title.set(color=INK, fontsize=8)
            axis.xaxis.label.set_fontsize(7)
            axis.yaxis.label.set_fontsize(7)
    return figure
