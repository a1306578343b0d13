"""Fig. 2: how fast the error of a symmetric function falls when d points are compressed to a tenth.

The function is Eq. 14: the mean over d points w of ten sigmoids of <w, x>. Points are uniform in the cube from -1 to 1,
the x standard normal, both drawn anew in every trial (the paper leaves their laws open). The claim is an error that
falls like d^-((k + 1)/m + 1/2) when moments up to order k are matched in m dimensions. A line is fitted to logarithms
of mean errors over trials, as in the paper. Errors are heavy-tailed, so the interval is that of a bootstrap over
trials. Sizes with too few cells to be called small, and errors at the floor of rounding, are not fitted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import winnow as wn
from winnow.core import seeds

from ..parts import COLOURS, INK, Asked, Part, panels
from .parts import exponent

Array = NDArray[np.float64]
Case = tuple[int, int]

DIMENSIONS = (2, 3)
ORDERS = (1, 2, 3, 4)
SIZES = (1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000)
KEPT = 10  # of so many points one stays
TRIALS = 4  # for each seed asked for
CELLS = 8  # fewer are not small
FLOOR = 1e-15
NEAR = 0.25
DRAWS = 1000


def run(asked: Asked) -> Part:
    sizes = SIZES[:4] if asked.quick else SIZES
    trials = TRIALS * asked.seeds
    found = {
        (m, k): {d: measured(asked, m, k, d, trials) for d in sizes if enough(m, k, d)}
        for m in DIMENSIONS
        for k in ORDERS
    }
    settings = (
        f"Eq. 14 at {sizes[0]:,} to {sizes[-1]:,} points uniform in [-1, 1]^m, compressed to a tenth by "
        f"`moments.compress`; {trials} trials a size, points and x drawn anew; only sizes with at least {CELLS} cells "
        f"and mean errors above {FLOOR:g} are fitted."
    )
    return Part("exponents", settings, table(found), verdict(found), drawing(found))


def enough(m: int, k: int, d: int) -> bool:
    """Whether the points that stay make cells enough to call them small."""
    return d // KEPT >= CELLS * wn.moments.feasible_size(m, k)


def measured(asked: Asked, m: int, k: int, d: int, trials: int) -> Array:
    """Errors of all trials at one size."""
    settings = {"m": m, "order": k, "points": d, "kept": d // KEPT, "trials": trials}
    return np.array(
        asked.shelf.keep("errors", settings, lambda _: [trial(m, k, d, repeat) for repeat in range(trials)])
    )


def trial(m: int, k: int, d: int, repeat: int) -> float:
    """The error of Eq. 14 on one draw of points and functions, which are the same for every order."""
    draw = seeds.stream(0, "compression", "exponents", m, d, repeat)
    points, x = draw.uniform(-1, 1, (d, m)), draw.standard_normal((10, m))
    values = (1 / (1 + np.exp(-points @ x.T))).mean(axis=1)
    change = np.full(d, -1.0)
    idx, w = wn.moments.compress(points, d // KEPT, k)
    change[idx] += w
    return abs(math.fsum(change * values)) / d


def theory(m: int, k: int) -> float:
    return (k + 1) / m + 0.5


def fitted(errors: Mapping[int, Array]) -> tuple[float, float, float]:
    """The exponent of the mean error, and its 95 % bootstrap interval; NaN where fewer than three sizes can be used."""
    used = [d for d, every in errors.items() if every.mean() > FLOOR]
    if len(used) < 3:
        return math.nan, math.nan, math.nan
    centre = exponent(used, [errors[d].mean() for d in used])
    draw = seeds.stream(0, "compression", "exponents", "bootstrap")
    again = []
    for _ in range(DRAWS):
        means = [errors[d][draw.integers(0, errors[d].size, errors[d].size)].mean() for d in used]
        again.append(exponent(used, means))
    low, high = np.quantile(again, [0.025, 0.975])
    return centre, float(low), float(high)


def table(found: Mapping[Case, Mapping[int, Array]]) -> Sequence[str]:
    lines = ["| m | order | (k + 1)/m + 1/2 | exponent | 95 % interval | off by | sizes | mean error at the largest |"]
    lines.append("|---" * 8 + "|")
    for (m, k), errors in found.items():
        centre, low, high = fitted(errors)
        largest = max(errors, default=0)
        last = f"{errors[largest].mean():.1e}" if errors else "none"
        lines.append(
            f"| {m} | {k} | {theory(m, k):.2f} | {centre:.2f} | {low:.2f} to {high:.2f} | {centre - theory(m, k):+.2f} "
            f"| {len(errors)}, to {largest:,} | {last} |"
        )
    return lines


def verdict(found: Mapping[Case, Mapping[int, Array]]) -> Sequence[str]:
    off = {case: fitted(errors)[0] - theory(*case) for case, errors in found.items()}
    known = {case: one for case, one in off.items() if math.isfinite(one)}
    lines = ["Claim: the error falls like d^-((k + 1)/m + 1/2)."]
    if not known:
        return [*lines, "No case has three sizes to fit."]
    (m, k), worst = max(known.items(), key=lambda item: abs(item[1]))
    good = sum(abs(one) <= NEAR for one in known.values())
    lines.append(
        f"{good} of {len(off)} exponents are within {NEAR} of it; the largest difference is {worst:+.2f}, at m = {m} "
        f"and order {k}."
    )
    return lines


def drawing(found: Mapping[Case, Mapping[int, Array]]) -> Figure:
    figure, axes = panels(len(DIMENSIONS), 3.0, sharey=True)
    for panel, m in zip(axes, DIMENSIONS, strict=True):
        for k, colour in zip(ORDERS, COLOURS, strict=False):
            errors = found[m, k]
            if not errors:
                continue
            at, means = np.array(list(errors)), np.array([one.mean() for one in errors.values()])
            label = f"order {k}: {fitted(errors)[0]:.2f} ({theory(m, k):.2f})"
            panel.plot(at, means, "o", ms=3, color=colour, label=label)
            middle = np.exp(np.log(means).mean() + theory(m, k) * np.log(at).mean())
            panel.plot(at, middle * at ** -theory(m, k), color=colour, lw=1, ls="--")
        panel.set(xscale="log", yscale="log", xlabel="points before compression, d", title=f"m = {m}")
        panel.title.set_color(INK)
        panel.legend(fontsize=6, frameon=False, title="exponent (theory, dashed)", title_fontsize=6)
    axes[0].set(ylabel="mean error of Eq. 14")
    return figure
