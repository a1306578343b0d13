"""Slow, obvious twins of the scaling fits and of the Pareto envelope."""

from __future__ import annotations

import math

import numpy as np

CURVES = {
    "power": lambda n, c, b: c * n**-b,
    "floor": lambda n, e0, c, b: e0 + c * n**-b,
    "exponential": lambda n, c, n0: c * np.exp(-n / n0),
    "stretched": lambda n, c, n0, b: c * np.exp(-((n / n0) ** b)),
}


def squares(form, parameters, sizes, errors):
    """The sum of squared misses of log error, straight from the printed formula."""
    curve = CURVES[form](np.asarray(sizes, dtype=float), **parameters)
    return float(np.sum((np.log(errors) - np.log(curve)) ** 2))


def grid_fit(form, sizes, errors, cells=31, zooms=40):
    """The least sum of squares found by a grid over the shape that closes in on its best cell; c is the mean miss."""
    n, y = np.asarray(sizes, dtype=float), np.log(errors)
    middle = math.exp(np.log(n).mean())
    x = n / middle
    boxes = {  # log b; log of the floor over the power part at the middle size, log b; log n0; log n0, log b
        "power": [(-4.0, 1.5)],
        "floor": [(-12.0, 6.0), (-3.0, 1.5)],
        "exponential": [(-4.0, 8.0)],
        "stretched": [(-12.0, 8.0), (math.log(0.1), math.log(4.0))],
    }
    log_shapes = {
        "power": lambda b: -np.exp(b) * np.log(x),
        "floor": lambda r, b: np.log(np.exp(r) + x ** -np.exp(b)),
        "exponential": lambda s: -x / np.exp(s),
        "stretched": lambda s, b: -((x / np.exp(s)) ** np.exp(b)),
    }
    box, best = boxes[form], (math.inf, ())
    for _ in range(zooms):
        for point in np.stack(np.meshgrid(*(np.linspace(*side, cells) for side in box)), axis=-1).reshape(-1, len(box)):
            miss = y - log_shapes[form](*point)
            miss = miss - miss.mean()
            found = float(np.sum(miss**2))
            if found < best[0]:
                best = (found, tuple(point))
        box = [(p - 0.3 * (hi - lo), p + 0.3 * (hi - lo)) for p, (lo, hi) in zip(best[1], box, strict=True)]
        if form == "stretched":
            box[1] = (max(box[1][0], math.log(0.1)), min(box[1][1], math.log(4.0)))
    return best[0]


def aicc(rss, n, curve_parameters):
    """Akaike's criterion with the small-sample correction; the scatter is one parameter more."""
    k = curve_parameters + 1
    return n * math.log(rss / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)


def envelope(total, keep, errors):
    """The envelope as {(total, keep): (kept, mean error)}, by comparing every pair of settings."""
    runs = {}
    for t, f, e in zip(total, keep, errors, strict=True):
        runs.setdefault((float(t), float(f)), []).append(float(e))
    points = [(round(t * f, 6), sum(e) / len(e), t, f) for (t, f), e in runs.items()]
    on = {}
    for kept, error, t, f in points:
        beaten = False
        for kept2, error2, t2, _ in points:
            no_worse = kept2 <= kept and error2 <= error
            better = kept2 < kept or error2 < error or t2 < t
            beaten = beaten or (no_worse and better)
        if not beaten:
            on[(t, f)] = (kept, error)
    return on
