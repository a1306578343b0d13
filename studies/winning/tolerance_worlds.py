"""Simulated trainings for the search within a tolerance: what is true is known.

Example i under seed s is right if

    m(f) + tau theta_i + omega w_i(f) + gamma g_s(f) + e_si(f) > 0

with independent normal terms: theta is an example's difficulty; w, a random walk in log f, is what a subset does to
single examples under all seeds; g is the luck of a training; e is what is left. m(f) is set such that the accuracy
expected over seeds and examples is exactly full - loss(f) - luck(f), with loss(f) = a (f^-b - 1) and luck the draw of
this trial's subset, so the truth that a claim is about is known. Variances come from real trainings: see SETTINGS.
For regression the error is a sum of such normal terms and the quality 1 minus its square.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from winnow.artefacts.training_result import Marks, Result

__all__ = ["FOLDS", "SETTINGS", "Setting", "World", "Worlds", "could_be_shown"]

FOLDS = 5
MANY = 40_000  # examples by which the variances of a fraction are measured


@dataclass(frozen=True)
class Setting:
    """What is simulated.

    Parameters
    ----------
    name
        What it stands for.
    tolerance, validation
        What is asked, and the number of examples in a fifth of the data: a hold-out, or one of five folds.
    full
        Accuracy (or R2) of the reference.
    a, b
        Of the loss curve.
    shared
        Variance over examples of their mean difference at half kept (var_example).
    rest
        Variance of the difference that seed and example share with nothing (var_rest).
    seeds
        Standard deviation over seeds of the difference in the metric (sd of var_seed).
    luck
        Standard deviation of the loss between draws of a half; sqrt((1 - f) / f) times as much at f.
    step
        Below this fraction the loss is `beyond` times the tolerance, if given: the hardest case for the promise.
    """

    name: str
    tolerance: float
    validation: int
    full: float
    a: float
    b: float
    shared: float
    rest: float
    seeds: float
    luck: float = 0.001
    step: float | None = None
    beyond: float = 1.02
    regression: bool = False

    def loss(self, fraction: float) -> float:
        """Loss of a subset of average luck."""
        if self.step is not None and fraction < self.step:
            return self.beyond * self.tolerance
        return self.a * (fraction**-self.b - 1)

    @property
    def smallest(self) -> float:
        """The smallest fraction that is needed, at least that where the search ends."""
        if self.step is not None:
            return self.step
        return max(0.05, float((1 + self.tolerance / self.a) ** (-1 / self.b)))


# Curves and variances: Fashion-MNIST (8,000 examples, MLP, 6 seeds) and digits (8 seeds) were measured for this;
# CIFAR-10 is a published curve of a fast ResNet (10 seeds, sd of a seed 0.0015); the others are made up around them.
SETTINGS = (
    Setting("Fashion-MNIST 8,000, MLP, random", 0.02, 1600, 0.85, 0.060, 0.4, 0.029, 0.021, 0.001),
    Setting("Fashion-MNIST 20,000, LeNet-5, soft targets", 0.01, 4000, 0.858, 0.006, 0.5, 0.020, 0.030, 0.002),
    Setting("CIFAR-10, fast ResNet, random", 0.02, 10_000, 0.9406, 0.0365, 0.8, 0.020, 0.030, 0.002),
    Setting("CIFAR-10, fast ResNet, EL2N", 0.01, 10_000, 0.9406, 0.0009, 4.0, 0.015, 0.030, 0.002),
    Setting("digits, MLP", 0.02, 288, 0.99, 0.008, 0.8, 0.002, 0.009, 0.001),
    Setting("table, noisy seeds", 0.02, 1000, 0.80, 0.010, 0.7, 0.020, 0.050, 0.006),
    Setting("little validation data", 0.02, 500, 0.90, 0.010, 0.7, 0.015, 0.030, 0.002),
    Setting("nothing can go", 0.01, 2000, 0.85, 0.100, 0.5, 0.029, 0.021, 0.001),
    Setting("loses just too much below 0.7", 0.01, 4000, 0.90, 0.002, 1.0, 0.010, 0.020, 0.002, luck=0.0, step=0.7),
    Setting("the same, few examples", 0.02, 300, 0.98, 0.001, 1.0, 0.005, 0.008, 0.001, luck=0.0, step=0.7),
    Setting("regression", 0.02, 1000, 0.90, 0.010, 0.7, 0.002, 0.002, 0.002, regression=True),
)


@dataclass
class World:
    """One trial's validation examples, subsets and trainings: an engine that trains nothing."""

    setting: Setting
    rng: np.random.Generator
    losses: dict[float, float] = field(default_factory=dict)
    cost: float = 0.0
    _walk: tuple[float, NDArray[np.float64]] | None = None

    def __post_init__(self) -> None:
        s = self.setting
        self.theta = self.rng.standard_normal(s.validation)
        if s.regression:
            return
        at = stats.norm.ppf(s.full)
        density = stats.norm.pdf(at)
        # Near the boundary the latent values have density pdf / total; the variances follow in closed form.
        self.total = 2 / math.sqrt(math.pi) * density / s.rest
        spread = (s.shared * self.total / density / math.sqrt(2 / math.pi) + math.sqrt(2)) ** 2 - 2
        self.omega = math.sqrt(spread / math.log(2))
        self.gamma = s.seeds / math.sqrt(2) * self.total / density
        self.tau = math.sqrt(max(0.1, self.total**2 - 1 - self.gamma**2))

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Any = None
    ) -> Iterator[tuple[int, Any, float]]:
        """Yield made-up results."""
        (protocol,) = shared
        for index, training in enumerate(job.item for job in items):
            yield index, self.trained(len(training.subset) / len(protocol.source)), 0.0

    def trained(self, fraction: float) -> Result:
        """The result of one training."""
        self.cost += fraction
        quality = self.quality(fraction)
        return Result(1, (Marks(float(quality.mean()), 0.0, (), tuple(quality.tolist())),), 0.0)

    def truth(self, fraction: float) -> float:
        """The true loss of this trial's subset."""
        if fraction == 1:
            return 0.0
        if fraction not in self.losses:
            luck = self.setting.luck * math.sqrt((1 - fraction) / fraction) * self.rng.standard_normal()
            self.losses[fraction] = self.setting.loss(fraction) + luck
        return self.losses[fraction]

    def moved(self, fraction: float) -> NDArray[np.float64]:
        """The walk w at a fraction; fractions come from large to small."""
        if fraction == 1:
            return np.zeros(self.setting.validation)
        before, walk = self._walk or (1.0, np.zeros(self.setting.validation))
        if fraction < before:
            walk = walk + math.sqrt(math.log(before / fraction)) * self.rng.standard_normal(walk.size)
            self._walk = (fraction, walk)
        return walk

    def quality(self, fraction: float) -> NDArray[np.float64]:
        """The qualities of one training."""
        s, n = self.setting, self.setting.validation
        aim, walked, noise = s.full - self.truth(fraction), self.moved(fraction), self.rng.standard_normal(n)
        seed = self.rng.standard_normal()
        if s.regression:
            parts = (math.sqrt(0.8) * self.theta, math.sqrt(0.15) * noise, math.sqrt(0.05) * walked)
            size = 0.95 + 0.05 * math.log(1 / fraction)
            error = (1 - aim + s.seeds / math.sqrt(2) * seed) / size
            return np.asarray(1 - max(error, 1e-6) * np.square(sum(parts)))
        total = math.sqrt(self.tau**2 + 1 + self.gamma**2 + self.omega**2 * math.log(1 / fraction))
        latent = stats.norm.ppf(aim) * total + self.tau * self.theta + self.omega * walked + self.gamma * seed + noise
        return np.asarray(latent > 0, dtype=np.float64)


class Worlds:
    """One trial of rotating folds: each has examples, subsets and luck of its own; an engine that trains nothing."""

    def __init__(self, setting: Setting, trial: int) -> None:
        self.folds = [World(setting, np.random.default_rng([15, trial, fold])) for fold in range(FOLDS)]
        self.whole = World(setting, np.random.default_rng([15, trial, FOLDS]))  # of the subset that is returned

    @property
    def cost(self) -> float:
        """Trainings so far, by the share of a fold's training part that they used."""
        return sum(world.cost for world in self.folds)

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Any = None
    ) -> Iterator[tuple[int, Any, float]]:
        """Yield made-up results."""
        (protocols,) = shared
        for index, (fold, training) in enumerate(job.item for job in items):
            fraction = len(training.subset) / len(protocols[fold].source)
            yield index, self.folds[fold].trained(fraction), 0.0


def could_be_shown(setting: Setting, trainings: int = 2, confidence: float = 0.95) -> float:
    """The smallest fraction that a test of rotating folds which knew all variances would pass every other time.

    Parameters
    ----------
    setting
        What is simulated.
    trainings
        Per fold.
    confidence
        Of the one-sided test.
    """
    z, examples = stats.norm.ppf(confidence), FOLDS * setting.validation
    for fraction in np.geomspace(0.05, 0.99, 200).tolist():
        if fraction < (setting.step or 0):
            continue
        world = World(replace(setting, validation=MANY, luck=0.0), np.random.default_rng(0))
        reference = [world.quality(1.0) for _ in range(2)]
        first, second = (one - world.quality(fraction) for one in reference)
        shared = max(0.0, float(np.cov(first, second)[0, 1]))
        left = max(0.0, float(np.mean([first.var(), second.var()])) - shared)
        luck = setting.luck**2 * (1 - fraction) / fraction + setting.seeds**2 / trainings
        error = math.sqrt(luck / FOLDS + (shared + left / trainings) / examples)
        if setting.loss(fraction) + z * error <= setting.tolerance:
            return float(fraction)
    return 1.0
