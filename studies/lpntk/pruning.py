"""Do we need redundant examples, and those of the head cluster? Tables 2 and 3 and Figure 18, with random beside them.

Every repeat draws its examples anew, trains a network on them, takes the kernel from it, chooses, and has
`wn.evaluate` retrain what was chosen, random of the same size and everything: from the same weights, for the same
number of steps, measured on the whole test split. As drawn:

    paper's rule, lpNTK or pNTK   all redundant examples of Section 4.1 removed, by the exact kernel
    cover                         `wn.lpntk.redundant` as it is by default, by the exact kernel
    head thinned                  Section 4.2: redundant ones removed, then a tenth of the classes' largest clusters
    head only                     Appendix E.2: nothing but the largest clusters, 1 % and 5 %; by kernel and by cosine

The head is chosen by `wn.select` from projected features of the same network, as anyone would. The paper speaks of one
head cluster; the selectors cluster each class, since one cluster of all classes would be a choice of classes.

Three changes ask where redundancy should help: a third of the distinct examples repeated with a little noise
(`repeated`), three classes ten times as large as the others (`imbalanced`), a tenth of labels wrong (`mislabelled`).
There `cover` is used as it is by default and at half of the data. As many examples without a change (`unchanged`) tell
what is owed to the change and what to the rule; they were added when one repeat of the others was seen. What `cover`
wins on imbalanced classes may be balance alone, so there a draw with its class counts stands beside it.

The recipe was chosen on examples held out of the training split: at the usual rate and batch the network was still
at 80 % on Fashion-MNIST when the steps were used up; at three times the rate and a quarter of the batch, at 85 %.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from winnow.core import seeds
from winnow.engines import Local
from winnow.training import Feed, train

from ..parts import Asked, Part
from .pruning_tables import Cells, figure, rows, table, verdict

NETWORK = "lenet5"
BATCH, RATE = 32, 3e-3
CLUSTERS = 0.1  # clusters of a class as a share of its examples
THINNED = 0.1  # of the head, as in Section 4.2
SHARES = (0.01, 0.05)  # for the head alone, as in Figure 18; of the paper's 60,000 examples that is 600 and 3,000
DIM = 512  # of projected features, as `wn.observe` has it
HALF = 0.5
REPEATED, COPIES, GREY = 1 / 3, 10, 10.0  # share repeated, how often it is there, sd of the noise in grey levels of 255
LARGE, LARGER = 3, 10  # classes that are larger, and how many times
WRONG = 0.1  # share of labels that are wrong
SITUATIONS = ("as drawn", "unchanged", "repeated", "imbalanced", "mislabelled")


@dataclass(frozen=True)
class Sizes:
    """Examples as drawn (paper: 60,000) and changed, epochs of a retraining and of the kernel's network, test limit."""

    drawn: int
    changed: int
    epochs: int
    kernel_epochs: int
    tests: int | None = None


REAL = Sizes(4000, 2000, 5, 10)
QUICK = Sizes(240, 160, 1, 3, 100)


@dataclass(frozen=True)
class Choice:
    """A subset and the seconds it took: training and kernel, then the rule."""

    subset: wn.Subset
    observe: float
    select: float


def run(asked: Asked) -> Part:
    """Choose, retrain and compare, for every data set, situation and repeat."""
    sizes = QUICK if asked.quick else REAL
    cells: Cells = {}
    for repeat in range(asked.seeds):
        for data in asked.data:
            for situation in SITUATIONS:
                kept = asked.shelf.keep(
                    "cells", settings(data, situation, repeat, sizes), _maker(asked.out, data, situation, repeat, sizes)
                )
                cells.setdefault((data, situation), []).append(kept)
    found = rows(cells)
    said = (
        f"LeNet-5, {sizes.drawn} training examples as drawn, {sizes.changed} or a few less in the rest, and the test "
        f"split ({'all of it' if sizes.tests is None else sizes.tests}); {sizes.epochs} epochs of everything, the same "
        f"number of steps for every subset, batch {BATCH}, AdamW at {RATE:g} falling to zero; the kernel's network "
        f"{sizes.kernel_epochs} epochs. {asked.seeds} repeats, each with examples, kernel and weights of its own. "
        "Seconds of selection are by the clock, on a busy machine."
    )
    return Part("pruning", said, table(found), verdict(found, cells), figure(found))


def settings(data: str, situation: str, repeat: int, sizes: Sizes) -> dict[str, Any]:
    """Everything that decides a cell."""
    how = {"network": NETWORK, "batch": BATCH, "rate": RATE, "clusters": CLUSTERS, "thinned": THINNED}
    how |= {"shares": list(SHARES), "dim": DIM, "half": HALF, "repeated": [REPEATED, COPIES, GREY]}
    how |= {"imbalanced": [LARGE, LARGER], "mislabelled": WRONG}
    return {"data": data, "situation": situation, "repeat": repeat, **asdict(sizes), **how}


def _maker(out: Path, data: str, situation: str, repeat: int, sizes: Sizes) -> Callable[[int], dict[str, Any]]:
    """What makes one cell."""
    size = sizes.drawn if situation == "as drawn" else sizes.changed
    folder = out / "evaluate" / f"{Path(data).name}-{situation.replace(' ', '-')}-{size}-{repeat}"

    def make(seed: int) -> dict[str, Any]:
        source, marks = situated(wn.open(data), situation, size, seed)
        if situation == "as drawn":
            chosen = choices(source, sizes.kernel_epochs, seed)
        else:
            chosen = covers(source, sizes.kernel_epochs, seed, counted=situation == "imbalanced")
        study = wn.evaluate(
            source,
            {name: choice.subset for name, choice in chosen.items()},
            test=wn.open(data, split="test", limit=sizes.tests),
            model=NETWORK,
            recipe=recipe(sizes.epochs),
            seeds=[repeat],
            match_iterations=1.0,
            seed=seed,
            out=folder,
            engine=Local(workers=1),
            costs={name: {"observe": choice.observe, "select": choice.select} for name, choice in chosen.items()},
        )
        telling = {name: told(situation, marks, choice.subset.indices(source)) for name, choice in chosen.items()}
        return plain(study, telling)

    return make


def plain(study: wn.Study, telling: Mapping[str, list[float] | None]) -> dict[str, Any]:
    """A study of one seed in plain numbers."""
    full, arms = _only(study, "full"), {}
    for arm in study.arms:
        if arm.kind == "subset" and arm.baseline is not None:
            got = _only(study, arm.name)
            arms[arm.name] = {
                "kept": arm.size,
                "accuracy": got.value,
                "random": _only(study, arm.baseline).value,
                "selection_s": float(sum(arm.selection.values())),
                "train_s": got.seconds,
                "telling": telling[arm.name],
            }
    return {"examples": study.arm("full").size, "full": full.value, "full_s": full.seconds, "arms": arms}


def _only(study: wn.Study, arm: str) -> Any:
    """The outcome of an arm's one seed."""
    (outcome,) = study.of(arm).values()
    return outcome


def recipe(epochs: int) -> wn.Recipe:
    """How everything is trained."""
    return wn.Recipe(epochs=epochs, batch=BATCH, lr=RATE)


def situated(pool: wn.Source, situation: str, size: int, seed: int) -> tuple[wn.Source, NDArray[np.int64]]:
    """The training data, and a mark for each example.

    The mark is its label; or, where examples are repeated, which distinct one it shows; or, where labels are wrong,
    whether this one is.
    """
    rng = seeds.stream(seed, situation)
    if situation == "imbalanced":
        small = size // (LARGE * LARGER + len(pool.classes) - LARGE)
        large = rng.choice(len(pool.classes), LARGE, replace=False)
        counts = np.where(np.isin(np.arange(len(pool.classes)), large), LARGER * small, small)
        drawn = [rng.choice(np.flatnonzero(pool.labels == c), k, replace=False) for c, k in enumerate(counts)]
        source = pool.at(np.sort(np.concatenate(drawn)))
        return source, np.asarray(source.labels)
    if situation == "repeated":
        return _repeated(pool, size, rng)
    source = pool.at(np.sort(rng.choice(len(pool), size, replace=False)))
    labels = np.asarray(source.labels)
    if situation != "mislabelled":
        return source, labels
    wrong = np.zeros(size, dtype=np.int64)
    wrong[rng.choice(size, round(WRONG * size), replace=False)] = 1
    other = (labels + rng.integers(1, len(pool.classes), size)) % len(pool.classes)
    return source.with_labels(np.where(wrong == 1, other, labels), "classification", source.classes), wrong


def _repeated(pool: wn.Source, size: int, rng: np.random.Generator) -> tuple[wn.Source, NDArray[np.int64]]:
    """Distinct examples once, and a share of them COPIES times, each copy with noise of its own."""
    distinct = round(size / (1 - REPEATED + REPEATED * COPIES))
    often = round(REPEATED * distinct)
    which = np.concatenate([np.arange(distinct), np.repeat(np.arange(often), COPIES - 1)])
    drawn = rng.choice(len(pool), distinct, replace=False)
    images = pool.read(drawn)[which].astype(np.float64)
    images[distinct:] += rng.normal(0.0, GREY, images[distinct:].shape)
    names = np.array(pool.classes)[np.asarray(pool.labels)[drawn[which]]]
    pixels = np.clip(np.rint(images), 0, 255).astype(np.uint8)
    return wn.open((pixels, names), classes=pool.classes, name=f"{pool.name}, repeated"), which


def told(situation: str, marks: NDArray[np.int64], kept: NDArray[np.int64]) -> list[float] | None:
    """What the marks say of a subset, and would say of a random one of its size on average.

    Where examples are repeated, the share of distinct ones that are kept; on imbalanced classes, the share of the
    smallest classes' examples that are; where labels are wrong, the share of the kept that are.
    """
    share = kept.size / marks.size
    if situation == "repeated":
        counts = np.bincount(marks)
        return [np.unique(marks[kept]).size / counts.size, float((1 - (1 - share) ** counts).mean())]
    if situation == "imbalanced":
        counts = np.bincount(marks)
        small = np.isin(marks, np.flatnonzero(counts == counts.min()))
        return [float(small[kept].sum() / small.sum()), share]
    if situation == "mislabelled":
        return [float(marks[kept].mean()), float(marks.mean())]
    return None


def choices(source: wn.Source, epochs: int, seed: int) -> dict[str, Choice]:
    """The paper's arms, all from one network."""
    feed = Feed(source)
    x, labels = feed.inputs(np.arange(len(feed))), np.asarray(feed.targets, dtype=np.int64)
    init = seeds.number(seed, "kernel")
    network = wn.models.build(NETWORK, classes=len(source.classes), shape=source.shape, seed=init)
    # By an engine, whose clock leaves out what torch loads behind its first optimiser.
    ((_, _, trained),) = Local(workers=1).map(lambda init: train(network, feed, recipe(epochs), init), [init])
    lpntk, lp_seconds = _timed(lambda: wn.lpntk.gram(network, x, labels))
    pntk, p_seconds = _timed(lambda: wn.lpntk.gram(network, x, labels, "pntk"))
    projected, f_seconds = _timed(lambda: wn.lpntk.features(network, x, labels, project=DIM, seed=init))
    signals = wn.Signals(feed.ids, {"lpntk": projected[None]}, "classification", labels, source.classes)
    ways: dict[str, tuple[float, Callable[[], wn.Subset]]] = {
        "paper's rule, lpNTK": (lp_seconds, lambda: wn.Subset(feed.ids[wn.lpntk.redundant(lpntk, "paper").kept])),
        "paper's rule, pNTK": (p_seconds, lambda: wn.Subset(feed.ids[wn.lpntk.redundant(pntk, "paper").kept])),
        "cover": (lp_seconds, lambda: wn.Subset(feed.ids[wn.lpntk.redundant(lpntk, labels=labels).kept])),
        "head thinned, paper's rule": (f_seconds, lambda: thinned(signals, "paper", seed)),
        "head thinned, cover": (f_seconds, lambda: thinned(signals, "cover", seed)),
    }
    for share in SHARES:
        for kind, word in (("raw", ""), ("cosine", ", cosine")):
            ways[f"head only {share:.0%}{word}"] = (f_seconds, _head_only(signals, share, kind, seed))
    return {name: Choice(*_after(trained + kernel, choose)) for name, (kernel, choose) in ways.items()}


def thinned(signals: wn.Signals, rule: str, seed: int) -> wn.Subset:
    """Without redundant examples and without a tenth of what is then the head."""
    features, labels = np.asarray(signals.array("lpntk"))[0], np.asarray(signals.labels)
    rest = wn.lpntk.redundant(wn.lpntk.FeatureRows(features), rule, labels=labels if rule == "cover" else None).kept
    around = wn.lpntk.farthest_points(wn.lpntk.FeatureRows(features[rest]), CLUSTERS, labels=labels[rest])
    size = rest.size - round(THINNED * float(around.sizes[around.heads].sum()))
    return wn.select("lpntk_head", signals, size=size, balance=None, seed=seed, rule=rule, clusters=CLUSTERS)


def _head_only(signals: wn.Signals, share: float, kind: str, seed: int) -> Callable[[], wn.Subset]:
    how = {"balance": None, "clusters": CLUSTERS, "kind": kind}
    return lambda: wn.select("lpntk_head_only", signals, keep=share, seed=seed, **how)


def _half(signals: wn.Signals, seed: int) -> wn.Subset:
    return wn.select("lpntk_redundancy", signals, keep=HALF, balance=None, seed=seed)


def covers(source: wn.Source, epochs: int, seed: int, counted: bool) -> dict[str, Choice]:
    """`cover` as it is by default and at half of the data; if counted, also a draw with its class counts."""
    look = {"recipe": recipe(epochs), "seeds": 1, "want": "lpntk", "gradient_dim": DIM, "seed": seed}
    signals, seconds = _timed(lambda: wn.observe(source, NETWORK, **look, engine=Local(workers=1)))
    features, labels = wn.lpntk.FeatureRows(np.asarray(signals.array("lpntk"))[0]), np.asarray(signals.labels)
    chosen = {
        "cover": Choice(
            *_after(seconds, lambda: wn.Subset(signals.ids[wn.lpntk.redundant(features, labels=labels).kept]))
        ),
        "cover, half": Choice(*_after(seconds, lambda: _half(signals, seed))),
    }
    if counted:
        rng, kept = seeds.stream(seed, "counted"), labels[positions(signals, chosen["cover"].subset)]
        drawn = [rng.choice(np.flatnonzero(labels == c), (kept == c).sum(), replace=False) for c in np.unique(kept)]
        chosen["drawn with cover's class counts"] = Choice(
            wn.Subset(signals.ids[np.sort(np.concatenate(drawn))]), chosen["cover"].observe, chosen["cover"].select
        )
    return chosen


def positions(signals: wn.Signals, subset: wn.Subset) -> NDArray[np.int64]:
    """Where a subset's examples are among the signals'."""
    return np.flatnonzero(np.isin(signals.ids, subset.ids))


def _timed(make: Callable[[], Any]) -> tuple[Any, float]:
    clock = time.perf_counter()
    made = make()
    return made, time.perf_counter() - clock


def _after(observed: float, choose: Callable[[], wn.Subset]) -> tuple[wn.Subset, float, float]:
    """A subset, the seconds before it and its own."""
    subset, seconds = _timed(choose)
    return subset, observed, seconds
