"""Section 3.2: which data train fast. Two Gaussians, samples of smaller spread, labels nearer a good model's.

Points have two coordinates, both 1 in the first class and 2 in the second, with normal noise of spread sigma. A 2-50-1
network with ReLU and a sigmoid learns them from one fresh point a step: squared error, SGD, rate .002, momentum .98,
1,000 steps, all as in the paper. Its loss is measured on points of spread .5. First sigma varies. Then sigma is 1 and
the label of a point becomes rho f*(x) + (1 - rho) y, where f* was trained, from weights and points of its own, at
spread .1. The paper shows single runs. Here a repeat has the same initial weights, classes and noise in every arm, so
arms are compared in pairs. How fast a network learns is its loss averaged over the steps of training.

Beside it stands the one-parameter case of Appendix B, whose error after t steps is known in closed form. The paper only
bounds the effect of rho; its second moment is worked out here instead. That sentence was added after a first table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import ndtr

from winnow.artefacts.intervals import difference
from winnow.core import seeds

from ..parts import COLOURS, INK, SOFT, Asked, Part, interval, panels, written

SIGMAS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
RHOS = (0.0, 0.25, 0.5, 0.75, 1.0)
ARMS = (*(("sigma", value) for value in SIGMAS), *(("rho", value) for value in RHOS))
EXAM_SIGMA, PRIOR_SIGMA, RHO_SIGMA = 0.5, 0.1, 1.0
HIDDEN, RATE, MOMENTUM = 50, 0.002, 0.98
ONE_RATE, ONE_STEPS = 0.1, 1000  # of the one-parameter case

Arm = tuple[str, float]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """How much is run; a seed is a batch of repeats, trained side by side."""

    repeats: int = 8
    steps: int = 1000
    every: int = 20
    exam: int = 2000

    @property
    def marks(self) -> list[int]:
        """The steps at which the loss is measured, the start among them."""
        return list(range(0, self.steps + 1, self.every))


QUICK = Sizes(repeats=2, steps=60, every=20, exam=200)


def closed_form(sigma: float, rho: float, rate: float, steps: int, start: float, means: tuple[float, float]) -> float:
    """E (theta - theta*)^2 of the one-parameter case after so many steps (Appendix B.3; B.3 itself is rho = 0).

    SGD on (1 - y (x + theta))^2 / 2 moves theta by -rate (theta + x - y), so that only the second moment of the noise
    x - y + theta* counts. Relabelling puts rho sign(x + theta*) + (1 - rho) y in the place of y.
    """
    left = (1 - rate) ** (2 * steps)
    best = -sum(means) / 2
    return left * (start - best) ** 2 + rate / (2 - rate) * (1 - left) * noise(sigma, rho, (means[1] - means[0]) / 2)


def noise(sigma: float, rho: float, half: float) -> float:
    """The second moment of u - rho sign(u) - (1 - rho) y, with u = half y + sigma z and z standard normal."""
    right = float(ndtr(half / sigma)) if sigma else 1.0  # how often the sign of u is y
    folded = half * (2 * right - 1) + (
        sigma * math.sqrt(2 / math.pi) * math.exp(-0.5 * (half / sigma) ** 2) if sigma else 0
    )
    given = 1 - rho
    return (
        half**2 + sigma**2 + rho**2 + given**2 - 2 * rho * folded - 2 * given * half + 2 * rho * given * (2 * right - 1)
    )


@dataclass
class Networks:
    """A 2-50-1 network for each of many runs, trained side by side by SGD with momentum, one point a run and step."""

    weights: list[Values]  # of the hidden layer (r, 50, 2), its biases (r, 50), the output's weights (r, 50), bias (r,)
    speeds: list[Values] = field(default_factory=list)

    @classmethod
    def drawn(cls, runs: int, rng: np.random.Generator) -> Networks:
        """As torch begins: uniform within one over the root of the inputs."""
        low, small = 1 / math.sqrt(2), 1 / math.sqrt(HIDDEN)
        shapes = [((runs, HIDDEN, 2), low), ((runs, HIDDEN), low), ((runs, HIDDEN), small), ((runs,), small)]
        return cls([rng.uniform(-bound, bound, shape) for shape, bound in shapes])

    def copies(self, times: int) -> Networks:
        """The same networks once for each arm, arms one after the other."""
        return Networks([np.concatenate([value] * times) for value in self.weights])

    def said(self, x: Values) -> Values:
        """Outputs (runs, points) for points (runs, points, 2), or (points, 2) for all."""
        one, bias, two, last = self.weights
        hidden = np.maximum(x @ one.transpose(0, 2, 1) + bias[:, None], 0)
        return 1 / (1 + np.exp(-((hidden @ two[:, :, None])[..., 0] + last[:, None])))

    def step(self, x: Values, y: Values) -> None:
        """One step on one point a run: x (runs, 2), y (runs,)."""
        one, bias, two, last = self.weights
        before = np.einsum("rhi,ri->rh", one, x) + bias
        hidden = np.maximum(before, 0)
        out = 1 / (1 + np.exp(-((hidden * two).sum(1) + last)))
        error = 2 * (out - y) * out * (1 - out)
        back = error[:, None] * two * (before > 0)
        slopes = [back[:, :, None] * x[:, None], back, error[:, None] * hidden, error]
        if not self.speeds:
            self.speeds = [np.zeros_like(value) for value in self.weights]
        for value, speed, slope in zip(self.weights, self.speeds, slopes, strict=True):
            speed *= MOMENTUM
            speed += slope
            value -= RATE * speed


def curves(sizes: Sizes, seed: int) -> list[list[list[float]]]:
    """Losses (arm, repeat, mark) on points of spread .5."""
    rng = seeds.stream(seed, "points")
    prior = Networks.drawn(sizes.repeats, seeds.stream(seed, "prior"))
    own = seeds.stream(seed, "points of the prior")
    for _ in range(sizes.steps):
        y = own.integers(0, 2, sizes.repeats).astype(np.float64)
        prior.step(1 + y[:, None] + PRIOR_SIGMA * own.standard_normal((sizes.repeats, 2)), y)
    exam = seeds.stream(seed, "exam")
    classes = exam.integers(0, 2, sizes.exam).astype(np.float64)
    points = 1 + classes[:, None] + EXAM_SIGMA * exam.standard_normal((sizes.exam, 2))
    spread = np.repeat([value if kind == "sigma" else RHO_SIGMA for kind, value in ARMS], sizes.repeats)[:, None]
    rho = np.repeat([value if kind == "rho" else 0.0 for kind, value in ARMS], sizes.repeats)
    network = Networks.drawn(sizes.repeats, seeds.stream(seed, "weights")).copies(len(ARMS))
    prior = prior.copies(len(ARMS))
    found = []
    for step in range(sizes.steps + 1):
        if step % sizes.every == 0:
            found.append(((network.said(points) - classes) ** 2).mean(1))
        y = np.tile(rng.integers(0, 2, sizes.repeats).astype(np.float64), len(ARMS))
        x = 1 + y[:, None] + spread * np.tile(rng.standard_normal((sizes.repeats, 2)), (len(ARMS), 1))
        network.step(x, rho * prior.said(x[:, None])[:, 0] + (1 - rho) * y)
    return np.array(found).reshape(-1, len(ARMS), sizes.repeats).transpose(1, 2, 0).tolist()


def run(asked: Asked) -> Part:
    """Train every arm in every repeat, then compare neighbours."""
    sizes = QUICK if asked.quick else Sizes()
    kept = []
    for seed in range(asked.seeds):
        settings = {**vars(sizes), "arms": [list(arm) for arm in ARMS], "hidden": HIDDEN, "rate": RATE, "seed": seed}
        settings |= {"momentum": MOMENTUM, "spreads": [EXAM_SIGMA, PRIOR_SIGMA, RHO_SIGMA]}
        kept.append(np.array(asked.shelf.keep("curves", settings, lambda seed: curves(sizes, seed))))
    found = dict(zip(ARMS, np.concatenate(kept, axis=1), strict=True))
    about = (
        f"Two Gaussians in two dimensions, means 1 and 2; 2-{HIDDEN}-1 network, SGD with rate {RATE}, momentum "
        f"{MOMENTUM}, batch 1, {sizes.steps} steps; {sizes.repeats * asked.seeds} paired repeats; loss on {sizes.exam} "
        f"points of spread {EXAM_SIGMA}. One parameter: rate {ONE_RATE}, {ONE_STEPS} steps from 0."
    )
    return Part("properties", about, table(found), verdict(found), drawing(found, sizes.marks))


def named(arm: Arm) -> str:
    kind, value = arm
    return f"sigma {value:g}" if kind == "sigma" else f"rho {value:g} (sigma {RHO_SIGMA:g})"


def one_parameter(arm: Arm) -> float:
    """What the closed form says of an arm."""
    kind, value = arm
    sigma, rho = (value, 0.0) if kind == "sigma" else (RHO_SIGMA, value)
    return closed_form(sigma, rho, ONE_RATE, ONE_STEPS, 0.0, (1.0, 2.0))


def table(found: Mapping[Arm, Values]) -> list[str]:
    """A row an arm."""
    lines = [
        "| data | mean loss over training | loss at the end | one parameter: squared error, closed form |",
        "|---|---|---|---|",
    ]
    for arm, losses in found.items():
        over, end = interval(losses.mean(1), 4), interval(losses[:, -1], 4)
        lines.append(f"| {named(arm)} | {over} | {end} | {one_parameter(arm):.4f} |")
    return lines


def verdict(found: Mapping[Arm, Values]) -> list[str]:
    """The paper's claim, and for both knobs which steps of it held."""
    lines = ["The paper: samples of smaller spread, and labels nearer a good model's, make training converge faster."]
    for kind, better, words in (
        ("sigma", SIGMAS, "the smaller spread learns faster"),
        ("rho", RHOS[::-1], "the higher rho learns faster"),
    ):
        lines.append(judged(found, [(kind, value) for value in better], words))
    lowest = min((arm for arm in found if arm[0] == "sigma"), key=lambda arm: found[arm][:, -1].mean())
    lines.append(
        f"At the end the loss is lowest at sigma {lowest[1]:g} ({interval(found[lowest][:, -1], 4)}); the paper has "
        f"sigma {PRIOR_SIGMA:g}."
    )
    return [*lines, exact()]


def exact() -> str:
    """Where the closed form has its least error: the paper's bound on it falls in rho throughout."""
    grid = np.linspace(0, 1, 101)
    errors = [one_parameter(("rho", float(rho))) for rho in grid]
    best = int(np.argmin(errors))
    says = "as the paper's bound does" if best == 100 else "unlike the paper's bound, which falls up to rho 1"
    return (
        f"With one parameter the exact error grows with sigma. In rho it is least at {grid[best]:.2f} "
        f"({errors[best]:.4f}; {errors[0]:.4f} at rho 0, {errors[-1]:.4f} at rho 1), {says}."
    )


def judged(found: Mapping[Arm, Values], order: Sequence[Arm], words: str) -> str:
    """Whether each arm learns faster than the next, as paired intervals allow to say."""
    gaps = {(good, bad): difference(found[bad].mean(1), found[good].mean(1)) for good, bad in pairwise(order)}
    held = [pair for pair, gap in gaps.items() if gap.excludes_zero and gap.centre > 0]
    failed = [pair for pair, gap in gaps.items() if gap.excludes_zero and gap.centre < 0]
    open_ = len(gaps) - len(held) - len(failed)
    ends = difference(found[order[-1]].mean(1), found[order[0]].mean(1))
    whole = "holds" if len(held) == len(gaps) else "does not hold throughout" if failed else "is not decided throughout"
    text = (
        f"Of neighbouring values {words} in {len(held)} of {len(gaps)} pairs, slower in {len(failed)}, not decided in "
        f"{open_}: the claim {whole}. From {named(order[-1])} to {named(order[0])} the mean loss falls by "
        f"{written(ends, 4)}."
    )
    slower = [f"{named(good)} against {named(bad)} ({written(gaps[good, bad], 4)})" for good, bad in failed]
    return text + (f" Slower: {'; '.join(slower)}." if slower else "")


def drawing(found: Mapping[Arm, Values], marks: Sequence[int]) -> Figure:
    """Loss over steps for both knobs, means of the repeats, each line named at its end."""
    figure, axes = panels(2, 3.0, sharey=True)
    for panel, kind, title in (
        (axes[0], "sigma", "samples of spread sigma"),
        (axes[1], "rho", f"labels at rho, samples of spread {RHO_SIGMA:g}"),
    ):
        arms = [arm for arm in found if arm[0] == kind]
        ends = spaced([float(found[arm][:, -1].mean()) for arm in arms])
        for arm, colour, end in zip(arms, [*COLOURS, SOFT], ends, strict=False):
            panel.plot(marks, found[arm].mean(0), color=colour, lw=1.4)
            panel.annotate(
                f"{arm[1]:g}",
                (marks[-1], end),
                xytext=(4, 0),
                textcoords="offset points",
                color=colour,
                fontsize=7,
                va="center",
            )
        panel.set(xlabel="steps, one point each", title=title, xlim=(0, marks[-1] * 1.1))
        panel.title.set_color(INK)
        panel.title.set_fontsize(9)
    axes[0].set(ylabel="mean squared error, spread .5")
    return figure


def spaced(values: Sequence[float], apart: float = 0.008) -> list[float]:
    """Heights for labels: the values, pushed up where they would overlap."""
    heights = list(values)
    last = -math.inf
    for index in np.argsort(values):
        heights[index] = last = max(heights[index], last + apart)
    return heights
