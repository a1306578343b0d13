"""Does the search within a tolerance keep its promise, and how much does it leave on the table?

    python -m studies.winning.tolerance_simulation --out runs/tolerance.json [--trials 200] [--real 30]

The search is winnow's own (`smallest_within`); only the trainings are simulated. Example i under seed s is right if

    m(f) + tau theta_i + omega w_i(f) + gamma g_s(f) + e_si(f) > 0

with independent normal terms: theta is an example's difficulty; w, a random walk in log f, is what a subset does to
single examples under all seeds; g is the luck of a training; e is what is left. m(f) is set such that the accuracy
expected over seeds and examples is exactly full - loss(f) - luck(f), with loss(f) = a (f^-b - 1) and luck the draw of
this trial's subset, so the truth that a claim is about is known. Variances come from real trainings: see SETTINGS.
For regression the error is a sum of such normal terms and the quality 1 minus its square.

A promise is kept if the subset found, or everything, truly loses at most the tolerance. The smallest that would do is
where loss(f) reaches the tolerance. Cost is in trainings on everything (a subset of a tenth costs a tenth).
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

import winnow as wn
from winnow.artefacts import Source
from winnow.artefacts.training_result import Marks, Result
from winnow.core.run import Run
from winnow.evaluation.tolerance import Search, smallest_within

TRAINING = 2000  # examples of the simulated source
LARGE = 8000  # examples that stand for the truth of a real table


@dataclass(frozen=True)
class Setting:
    """What is simulated.

    Parameters
    ----------
    name
        What it stands for.
    tolerance, validation
        What is asked, and on how many validation examples.
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
        """The smallest fraction that would do, at least that where the search ends."""
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

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any, float]]:
        """Yield made-up results."""
        for index, (protocol, training) in enumerate(items):
            fraction = len(training.subset) / len(protocol.source)
            self.cost += fraction
            quality = self.quality(fraction)
            yield index, Result(1, 0.0, (Marks(float(quality.mean()), 0.0, (), tuple(quality.tolist())),)), 0.0

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


def sources(setting: Setting) -> tuple[Source, Source]:
    """A source and validation examples of the right sizes; nothing is trained on them."""
    found = []
    for size in (TRAINING, setting.validation):
        labels = np.arange(size) % 2
        values = np.arange(size, dtype=np.float32)[:, None] / size
        found.append(wn.open((values, labels.astype(np.float64) if setting.regression else labels)))
    return found[0], found[1]


def evenly(source: Source) -> Callable[[float], wn.Subset]:
    """A choice that keeps every k-th example; which ones does not matter where trainings are simulated."""
    order = source.order
    return lambda keep: wn.Subset(source.ids[order[: round(keep * len(source))]])


def simulated(setting: Setting, trials: int) -> dict[str, Any]:
    """Search in simulated worlds; return what became of the promise, and at what cost."""
    source, validation = sources(setting)
    model = torch.nn.Linear(1, source.outputs)
    rows = []
    for trial in range(trials):
        world = World(setting, np.random.default_rng([15, trial]))
        found = smallest_within(
            setting.tolerance, evenly(source), source, validation, model=model, run=Run(None, {}), engine=world
        )
        rows.append(row(found, world.truth(found.keep), setting.smallest, world.cost))
    return {"setting": asdict(setting), **summary(rows)}


def row(found: Search, truth: float, smallest: float, cost: float) -> dict[str, Any]:
    """What one trial came to."""
    sizes = len({look.size for look in found.looks})
    return {
        "keep": found.keep,
        "loss": truth,
        "kept": truth <= found.tolerance,
        "smallest": smallest,
        "sizes": sizes,
        "looks": len(found.looks),
        "cost": cost,
    }


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The trials in a few numbers."""
    keeps = np.array([one["keep"] for one in rows])
    smallest = float(rows[0]["smallest"])
    return {
        "trials": len(rows),
        "kept": sum(one["kept"] for one in rows) / len(rows),
        "median_keep": float(np.median(keeps)),
        "smallest": smallest,
        "ratio": float(np.median(keeps)) / smallest,
        "everything": float(np.mean(keeps == 1)),
        "median_cost": float(np.median([one["cost"] for one in rows])),
        "mean_looks": float(np.mean([one["looks"] / max(1, one["sizes"]) for one in rows])),
        "rows": list(rows),
    }


@dataclass
class Counted:
    """A local engine that counts trainings by the share of the data they use."""

    inner: Any
    cost: float = 0.0

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any, float]]:
        """Yield results."""
        self.cost += sum(len(training.subset) / len(protocol.source) for protocol, training in items)
        yield from self.inner.map(function, items)


def real(name: str, trials: int) -> dict[str, Any]:
    """Search with real trainings, of random trees on random subsets; judged on examples that it never saw."""
    from sklearn.datasets import load_digits, make_classification
    from sklearn.ensemble import ExtraTreesClassifier

    if name == "digits":
        x, y = load_digits(return_X_y=True)
        parts, tolerance = (800, 400), 0.03
    else:
        x, y = make_classification(
            40 * 2000 + LARGE, 12, n_informative=6, n_redundant=2, n_classes=3, class_sep=1.5, random_state=0
        )
        parts, tolerance = (1200, 800), 0.03
    model = ExtraTreesClassifier(30, n_jobs=1)
    rows, curve = [], []
    for trial in range(trials):
        rng = np.random.default_rng([15, 1, trial])
        order = rng.permutation(len(y))
        train, held, rest = np.split(order, np.cumsum(parts))
        rest = rest[:LARGE]
        source, validation = wn.open((x[train], y[train])), wn.open((x[held], y[held]))
        draw = rng.permutation(len(source))

        def choose(keep: float, source: Source = source, draw: NDArray[np.int64] = draw) -> wn.Subset:
            return wn.Subset(source.ids[draw[: round(keep * len(source))]])

        engine = Counted(wn.Local(1))
        found = smallest_within(
            tolerance, choose, source, validation, model=model, run=Run(None, {}), engine=engine, seed=trial
        )

        def accuracy(keep: float, kept: NDArray[np.int64] = train[draw], rest: NDArray[np.int64] = rest) -> float:
            where = kept[: round(keep * len(kept))]
            made = [ExtraTreesClassifier(30, random_state=1000 + k).fit(x[where], y[where]) for k in range(3)]
            return float(np.mean([one.score(x[rest], y[rest]) for one in made]))

        full = accuracy(1.0)
        if trial < 10:
            curve.append([full - accuracy(keep) for keep in np.geomspace(0.9, 0.05, 12)])
        rows.append(row(found, full - accuracy(found.keep), math.nan, engine.cost))
    grid = np.geomspace(0.9, 0.05, 12)
    losses = np.mean(curve, axis=0)
    doing = [keep for keep, loss in zip(grid, losses, strict=True) if loss <= tolerance]
    rows = [{**one, "smallest": float(min(doing, default=1.0))} for one in rows]
    return {
        "setting": {"name": f"real: {name}, trees", "tolerance": tolerance, "validation": parts[1]},
        **summary(rows),
    }


def table(results: Sequence[dict[str, Any]]) -> str:
    """The results as Markdown."""
    lines = [
        "| setting | tolerance | validation | promise kept | smallest that would do | median certified | ratio "
        "| everything kept | cost, full trainings |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        s = one["setting"]
        lines.append(
            f"| {s['name']} | {s['tolerance']:g} | {s['validation']:,} | {one['kept']:.1%} of {one['trials']} "
            f"| {one['smallest']:.2f} | {one['median_keep']:.2f} | {one['ratio']:.2f} | {one['everything']:.0%} "
            f"| {one['median_cost']:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.winning.tolerance_simulation")
    parser.add_argument("--out", type=Path, required=True, help="file for the results, JSON")
    parser.add_argument("--trials", type=int, default=200, help="simulated trials per setting")
    parser.add_argument("--real", type=int, default=30, help="real trials per data set")
    asked = parser.parse_args()
    results = []
    for setting in SETTINGS:
        results.append(simulated(setting, asked.trials))
        print(table(results[-1:]).splitlines()[-1], flush=True)
    for name in ("digits", "table") if asked.real else ():
        results.append(real(name, asked.real))
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(results, indent=1))
    print(table(results))


if __name__ == "__main__":
    main()
