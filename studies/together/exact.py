"""What an exact weighted head is worth to a linear probe and to fine-tuning, at 10, 50 and 100 examples per class.

Arms of the same size: random, k-means medoids with the sizes of their clusters as weights, the best unweighted swaps
(`influence`), `head_exact`, and two kinds of distillation: weighted k-means centroids of each class (made-up features),
and random examples with the soft predictions of the head of all. Each probe is trained with the damping of the
selection and with the best of four dampings on 1,000 training examples that were set aside before the selection.
Fine-tuning starts from the network that made the features, with a new head.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin

import winnow as wn
from winnow.artefacts import mean
from winnow.artefacts.quotas import share_out
from winnow.engines import Local

from ..comparing import signed
from ..parts import Asked, Part, interval
from .features import Fixed, fixed

DAMPING, GRID = 0.01, (0.001, 0.01, 0.1, 1.0)
SELECTED = {"random": "random", "medoids": "medoids", "swaps": "influence", "exact": "head_exact"}
TUNED = ("random", "medoids", "exact")
ARMS = (*SELECTED, "centroids", "random + soft")


@dataclass(frozen=True)
class Sizes:
    """Examples drawn, set aside and tested on; the network of the features; examples per class."""

    n: int = 10_000
    aside: int = 1_000
    test: int = 5_000
    images: int = 20_000
    epochs: int = 3
    each: tuple[int, ...] = (10, 50, 100)
    steps: int = 300


QUICK = Sizes(n=400, aside=100, test=200, images=200, epochs=1, each=(5,), steps=4)


def run(asked: Asked) -> Part:
    sizes = QUICK if asked.quick else Sizes()
    found = {}
    for data in asked.data:
        here = sizes if data != "digits" else Sizes(**{**asdict(sizes), "n": min(sizes.n, 1_300), "aside": 200})
        found[data] = [one(asked, data, here, repeat) for repeat in range(asked.seeds)]
    settings = (
        f"Heads on {' and '.join(asked.data)} (digits: pixels, 1,100 examples; Fashion-MNIST: "
        f"{sizes.n - sizes.aside:,} examples, 84 features of LeNet-5 trained for {sizes.epochs} epochs on "
        f"{sizes.images:,} images of MNIST), damping {DAMPING:g}, {asked.seeds} draws; "
        f"fine-tuning {sizes.steps} steps of 64."
    )
    return Part("exact", settings, table(found), verdict(found))


def one(asked: Asked, data: str, sizes: Sizes, repeat: int) -> dict[str, Any]:
    """All arms of one draw."""
    settings = {"data": data, "sizes": asdict(sizes), "repeat": repeat, "version": 4}
    return asked.shelf.keep("draw", settings, lambda seed: drawn(asked, data, sizes, repeat))


def drawn(asked: Asked, data: str, sizes: Sizes, repeat: int) -> dict[str, Any]:
    whole = fixed(data, sizes.n, sizes.test, sizes.images, sizes.epochs, repeat)
    rows, aside = part_of(whole, sizes.aside, repeat)
    whole = whole.scaled_by(rows)
    full = wn.influence.fit_head(whole.rows[rows], whole.labels[rows], DAMPING)
    judged = Judged(whole, rows, aside, full.theta)
    out: dict[str, Any] = {"all": judged.told(whole.rows[rows], whole.labels[rows], None)}
    ids = whole.signals.ids[rows]
    for each in sizes.each:
        size = each * int(whole.labels.max() + 1)
        subsets = {}
        for arm, selector in SELECTED.items():
            clock = time.process_time()
            how = {} if arm == "random" or arm == "medoids" else {"damping": DAMPING}
            given = whole.signals.take(ids)
            subset = wn.select(selector, given, size=size, balance=1.0, seed=repeat, **how)
            seconds = time.process_time() - clock
            where = lookup(ids, rows, subset)
            if arm == "medoids":
                held = represented(whole.rows[rows], whole.labels[rows], whole.rows[where], whole.labels[where])
                subset = wn.Subset(subset.ids, weights=held)
            subsets[arm] = subset
            known = {"largest": float(subset.weights.max() / subset.weights.mean()), "seconds": seconds}
            if arm == "exact":
                known |= {key: subset.certificate[key] for key in ("exact", "verified", "effective_size", "conditions")}
            out[f"{arm} {each}"] = {**judged.told(whole.rows[where], whole.labels[where], subset.weights), **known}
            if arm == "random":
                out[f"random + soft {each}"] = judged.taught(whole.rows[where])
        points, labels, weights = centroids(whole.rows[rows], whole.labels[rows], size, repeat)
        out[f"centroids {each}"] = judged.told(points, labels, weights)
        if whole.network is not None:
            for arm, accuracy in tuned(asked, whole, subsets, sizes, repeat).items():
                out[f"{arm} {each}"]["tuned"] = accuracy
    return out


def lookup(ids: Any, rows: Any, subset: Any) -> Any:
    place = dict(zip(ids.tolist(), rows.tolist(), strict=True))
    return np.array([place[key] for key in subset.ids.tolist()])


def represented(x: Any, y: Any, points: Any, labels: Any) -> Any:
    """How many examples of its class are nearest to each point, itself among them."""
    weights = np.zeros(len(points))
    for label in np.unique(labels):
        mine = np.flatnonzero(labels == label)
        nearest = pairwise_distances_argmin(x[y == label], points[mine])
        weights[mine] = np.bincount(nearest, minlength=mine.size)
    return np.maximum(weights, 1.0)


def part_of(whole: Fixed, aside: int, repeat: int) -> tuple[Any, Any]:
    """Positions to select from, in the order of the ids, and those set aside to choose a damping."""
    order = np.random.default_rng([repeat, 7]).permutation(len(whole.labels))
    first = np.sort(order[aside:])
    return first[np.argsort(whole.signals.ids[first], kind="stable")], order[:aside]


@dataclass(frozen=True, eq=False)
class Judged:
    """The head of all, and what others are compared with."""

    whole: Fixed
    rows: Any
    aside: Any
    theta: Any

    def told(self, x: Any, y: Any, weights: Any) -> dict[str, float]:
        """Change of the head, and accuracy on test data with this damping and the best of the grid."""
        classes = self.theta.shape[1]
        heads = {lam: wn.influence.fit_head(x, y, lam, weights=weights, classes=classes).theta for lam in GRID}
        best = max(GRID, key=lambda lam: right(heads[lam], self.whole.rows[self.aside], self.whole.labels[self.aside]))
        return {
            "change": float(np.linalg.norm(heads[DAMPING] - self.theta)),
            "accuracy": right(heads[DAMPING], self.whole.others, self.whole.truth),
            "best": right(heads[best], self.whole.others, self.whole.truth),
        }

    def taught(self, x: Any) -> dict[str, float]:
        """Random examples with the soft predictions of the head of all: each class of each example, weighted."""
        soft, classes = softmax(x @ self.theta, axis=1), self.theta.shape[1]
        copies, labels = np.repeat(x, classes, axis=0), np.tile(np.arange(classes), len(x))
        return self.told(copies, labels, np.maximum(soft.ravel(), 1e-12))


def right(theta: Any, x: Any, y: Any) -> float:
    return float(((x @ theta).argmax(axis=1) == y).mean() * 100)


def centroids(x: Any, y: Any, size: int, seed: int) -> tuple[Any, Any, Any]:
    """Centroids of each class, weighted by how many examples are nearest."""
    counts = share_out(np.bincount(y), size)
    points, labels, weights = [], [], []
    for label, k in enumerate(counts.tolist()):
        own = x[y == label]
        found = KMeans(k, n_init=1, random_state=seed).fit(own)
        points.append(found.cluster_centers_)
        labels.append(np.full(k, label))
        weights.append(np.bincount(found.labels_, minlength=k))
    sizes = np.concatenate(weights).astype(float)
    return np.concatenate(points)[sizes > 0], np.concatenate(labels)[sizes > 0], sizes[sizes > 0]


def tuned(asked: Asked, whole: Fixed, subsets: Mapping[str, Any], sizes: Sizes, repeat: int) -> dict[str, float]:
    """Accuracy after fine-tuning the network that made the features."""
    size = len(next(iter(subsets.values())))
    recipe = wn.Recipe(epochs=max(1, round(sizes.steps * 64 / size)), batch=64, lr=1e-3)
    study = wn.evaluate(
        whole.source,
        {arm if arm != "random" else "chance": subsets[arm] for arm in TUNED},
        test=whole.test,
        model=wn.models.FineTune(whole.network),
        recipe=recipe,
        seeds=1,
        seed=repeat,
        random=False,
        full=False,
        same_steps=False,
        engine=Local(workers=1),
    )
    return {arm: study.interval(arm if arm != "random" else "chance").centre * 100 for arm in TUNED}


def table(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    lines = [
        "| data | per class | arm | change of the head | probe, same damping (%) | probe, best damping (%) "
        "| fine-tuned (%) | largest weight |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for data, draws in found.items():
        lines.append(
            f"| {data} | all | everything | 0 | {interval([d['all']['accuracy'] for d in draws], 1)} "
            f"| {interval([d['all']['best'] for d in draws], 1)} | | 1 |"
        )
        for each in sorted({int(key.rsplit(" ", 1)[1]) for key in draws[0] if key != "all"}):
            for arm in ARMS:
                got = [draw[f"{arm} {each}"] for draw in draws]
                change = np.mean([one["change"] for one in got])
                after = interval([one["tuned"] for one in got], 1) if "tuned" in got[0] else ""
                largest = f"{np.max([one['largest'] for one in got]):.1f}" if "largest" in got[0] else ""
                lines.append(
                    f"| {data} | {each} | {arm} | {change:.2g} | {interval([o['accuracy'] for o in got], 1)} | "
                    f"{interval([o['best'] for o in got], 1)} | {after} | {largest} |"
                )
    return lines


def verdict(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    lines = [
        "Differences of `head_exact` to the other arms in points of test accuracy, paired by draw (▲ ▼: the 95 % "
        "interval leaves zero out):"
    ]
    for data, draws in found.items():
        for each in sorted({int(key.rsplit(" ", 1)[1]) for key in draws[0] if key != "all"}):
            mine = [draw[f"exact {each}"] for draw in draws]
            words = []
            for arm in (arm for arm in ARMS if arm != "exact"):
                other = [draw[f"{arm} {each}"] for draw in draws]
                words.append(f"{arm} {signed(mean(np.array([m['best'] for m in mine]) - [o['best'] for o in other]))}")
            kind = "exact" if all(one["exact"] for one in mine) else "not exact"
            text = f"{data}, {each} per class ({kind}, {mine[0]['conditions']} conditions), "
            text += f"probe with the best damping: {', '.join(words)}"
            if "tuned" in mine[0]:
                gaps = []
                for arm in (arm for arm in TUNED if arm != "exact"):
                    gap = [m["tuned"] - draw[f"{arm} {each}"]["tuned"] for m, draw in zip(mine, draws, strict=True)]
                    gaps.append(f"{arm} {signed(mean(gap))}")
                text += f"; fine-tuned: {', '.join(gaps)}"
            lines.append(text + f". Selecting took {np.median([m['seconds'] for m in mine]):.1f} s of processor.")
    return lines
