"""How soon is it learned? Fig. 4: accuracy against seconds of training, with the seconds of choosing shown.

A network is trained from the same weights on four things and tested after every epoch:

    everything          all of the images, for all epochs
    everything, short   all of the images, but only as many steps as a subset gets, the rate falling to zero by then
    random, influence   sixty of a hundred images of each class, for all epochs

The paper has the first, and ours. Fewer images for as many epochs are fewer steps, so that time is saved whatever is
left out; the short one and random tell what is owed to that. Seconds are the processor's, of training alone: tests
are not counted. Choosing is the observed training and the selection, once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts.intervals import Interval, difference
from winnow.core import seeds
from winnow.engines import Local
from winnow.training import Feed, predict, train

from ..comparing import ONE, better, ratio, signed, within
from ..parts import COLOURS, FULL, INK, RANDOM, SOFT, Asked, Part, interval, panels
from .arms import TRAINED, Sizes, called, chosen, network, recipe, settings, sizes_of

SHARE = 0.6  # kept, as in the paper's Fig. 4
DROP = 1.3  # points that the paper gives up for it
ARMS = ("everything", "everything, short", "random", "influence")
TINTS = dict(zip(ARMS, (FULL, COLOURS[1], RANDOM, COLOURS[0]), strict=True))
MARKS = dict(zip(ARMS, "sDxo", strict=True))
Cell = Mapping[str, Any]


def run(asked: Asked) -> Part:
    """Follow the trainings of every repeat, and compare."""
    found: dict[str, list[Cell]] = {data: [] for data in asked.data}
    for repeat in range(asked.seeds):
        for data in asked.data:
            about = settings(data, repeat, sizes_of(data, asked.quick), share=SHARE, arms=ARMS)
            found[data].append(asked.shelf.keep("curves", about, _maker(asked, data, repeat)))
    return Part("time", described(asked), table(found), verdict(found), figure(found))


def _maker(asked: Asked, data: str, repeat: int) -> Callable[[int], dict[str, Any]]:
    def make(seed: int) -> dict[str, Any]:
        sizes, drawn = sizes_of(data, asked.quick), chosen(asked, data, repeat)
        ours, other = (drawn.subsets[method, SHARE].indices(drawn.source) for method in ("influence", "random"))
        short = recipe(sizes.epochs).steps(ours.size)
        test = wn.open(data, split="test", limit=sizes.tests)
        jobs = [
            (drawn.source, None),
            (drawn.source, short),
            (drawn.source.at(np.sort(other)), None),
            (drawn.source.at(np.sort(ours)), None),
        ]
        engine = Local(workers=1)  # its first act loads what torch loads behind an optimiser
        curves = [[]] * len(jobs)
        for place, curve, _ in engine.map(lambda job: followed(*job, test, sizes, seed), jobs):
            curves[place] = curve
        return {"curves": dict(zip(ARMS, curves, strict=True)), "choosing": drawn.seconds["influence", SHARE]}

    return make


def followed(
    source: wn.Source, steps: int | None, test: wn.Source, sizes: Sizes, seed: int
) -> list[tuple[int, float, float]]:
    """Steps, processor seconds of training and test accuracy in % after every epoch."""
    plan, feed = recipe(sizes.epochs), Feed(source)
    exam = Feed(test, feed.scaling)
    labels = np.asarray(exam.targets)
    total = plan.steps(len(feed)) if steps is None else steps
    net = wn.models.build(
        network(sizes.network, source), classes=len(source.classes), shape=source.shape, seed=seeds.number(seed, "init")
    )
    out: list[tuple[int, float, float]] = []
    spent, since = 0.0, time.process_time()

    def look(epoch: int, trained: Any) -> None:
        nonlocal spent, since
        spent += time.process_time() - since
        right = predict(trained, exam, plan).argmax(1) == labels
        out.append((min(epoch * plan.batches(len(feed)), total), spent, 100 * float(right.mean())))
        since = time.process_time()

    train(net, feed, plan, seeds.number(seed, "training"), steps=total, after_epoch=look)
    return out


def described(asked: Asked) -> str:
    """Data, sizes, networks, training and repeats in a few sentences."""
    said = []
    for data in asked.data:
        sizes = sizes_of(data, asked.quick)
        said.append(f"{data}: {sizes.images} images, {called(sizes.network)}, {sizes.epochs} epochs")
    return (
        f"{'; '.join(said)}. {SHARE:.0%} of each class kept. {TRAINED} "
        f"{asked.seeds} repeats; the subsets are those of `pruning`. Seconds are the "
        "processor's."
    )


def last(repeats: Sequence[Cell], arm: str, what: int) -> NDArray[np.float64]:
    """Steps (0), seconds (1) or accuracy (2) at the end of an arm's training, a number a repeat."""
    return np.array([cell["curves"][arm][-1][what] for cell in repeats], dtype=np.float64)


def reached(repeats: Sequence[Cell], arm: str) -> list[float | None]:
    """Seconds of training until accuracy is within DROP of where everything ends, None if never, for each repeat."""
    out: list[float | None] = []
    for cell in repeats:
        level = cell["curves"]["everything"][-1][2] - DROP
        out.append(next((seconds for _, seconds, accuracy in cell["curves"][arm] if accuracy >= level), None))
    return out


def table(found: Mapping[str, Sequence[Cell]]) -> list[str]:
    """One line an arm."""
    lines = [
        "Mean over repeats ± half the 95 % t interval; differences in points, paired. ▲ and ▼: the interval leaves "
        f"zero out. Near: seconds of training until a test is within {DROP} points of where everything ends, over the "
        "repeats that get there.",
        "",
        "| data | training set | steps | training, s | choosing, s | accuracy, % | against everything | near, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for data, repeats in found.items():
        for arm in ARMS:
            spent = f"{np.mean([cell['choosing'] for cell in repeats]):.0f}" if arm == "influence" else "0"
            gap = "" if arm == "everything" else signed(difference(*_ends(repeats, arm, "everything")))
            ends = f"{interval(last(repeats, arm, 1), 1)} | {spent} | {interval(last(repeats, arm, 2), 2)}"
            steps, near = last(repeats, arm, 0).mean(), _near(reached(repeats, arm))
            lines.append(f"| {data} | {arm} | {steps:.0f} | {ends} | {gap} | {near} |")
    return lines


def _near(seconds: Sequence[float | None]) -> str:
    there = [s for s in seconds if s is not None]
    if not there:
        return f"never in {len(seconds)}"
    return f"{np.mean(there):.1f} in {len(there)} of {len(seconds)}"


def _ends(repeats: Sequence[Cell], arm: str, other: str) -> tuple[list[float], list[float]]:
    """Accuracies of two arms at their ends."""
    return list(last(repeats, arm, 2)), list(last(repeats, other, 2))


def verdict(found: Mapping[str, Sequence[Cell]]) -> list[str]:
    """The paper's claim, and what became of it on each data set."""
    lines = [
        f"The paper: with 40 % pruned, the time to converge is nearly halved, at {DROP} points less accuracy "
        "(CIFAR-10, ResNet-50)."
    ]
    for data, repeats in found.items():
        gap = difference(*_ends(repeats, "influence", "everything"))
        share = ratio(last(repeats, "influence", 1), last(repeats, "everything", 1))
        choosing = np.array([cell["choosing"] for cell in repeats])
        lines.append(
            f"{data}: a training on ours takes {within(share)} of the seconds of one on everything, and ends at "
            f"{signed(gap)} points, {_drop(gap)}."
        )
        said = []
        for other in ("everything, short", "random"):
            beside = difference(*_ends(repeats, "influence", other))
            said.append(f"{signed(beside)} against {other} ({better(beside)})")
        lines.append(f"{data}, as many steps without ours: {'; '.join(said)}.")
        once = float((choosing + last(repeats, "influence", 1)).mean() / last(repeats, "everything", 1).mean())
        saved = float((last(repeats, "everything", 1) - last(repeats, "influence", 1)).mean())
        pays = f"pays after {max(1, math.ceil(choosing.mean() / saved))} trainings" if saved > 0 else "never pays"
        lines.append(
            f"{data}, with choosing counted, one training on ours takes {once:.2f} times the seconds of one on "
            f"everything; choosing {pays}."
        )
    return lines


def _drop(gap: Interval) -> str:
    """What an interval says of a loss of DROP points."""
    if gap.runs < 2:
        return ONE
    if gap.high < -DROP:
        return f"which is more than the paper's {DROP} lost: does not hold"
    return (
        f"no more than {DROP} lost: holds" if gap.low >= -DROP else f"{DROP} lost is inside the interval: not decided"
    )


def figure(found: Mapping[str, Sequence[Cell]]) -> Figure:
    """Accuracy against seconds, mean over repeats; ours from its own start, and again behind the choosing."""
    drawing, axes = panels(len(found), 3.6)
    for axis, (data, repeats) in zip(axes, found.items(), strict=True):
        choosing = float(np.mean([cell["choosing"] for cell in repeats]))
        for arm in ARMS:
            curve = np.mean([cell["curves"][arm] for cell in repeats], axis=0)
            axis.plot(
                curve[:, 1], curve[:, 2], color=TINTS[arm], marker=MARKS[arm], markersize=3, linewidth=1.2, label=arm
            )
        late = {"color": TINTS["influence"], "linestyle": "--", "linewidth": 1.2, "marker": MARKS["influence"]}
        axis.plot(curve[:, 1] + choosing, curve[:, 2], **late, markersize=3, label="influence, after choosing")
        low, high = axis.get_ylim()
        axis.set_ylim(low - 0.16 * (high - low), high)
        axis.plot([0, choosing], [low - 0.1 * (high - low)] * 2, color=TINTS["influence"], linewidth=3)
        axis.text(
            0.5 * choosing, low - 0.08 * (high - low), "choosing", ha="center", va="bottom", fontsize=8, color=SOFT
        )
        axis.set_xlim(0, None)
        axis.set_title(data, fontsize=10, color=INK, loc="left")
        axis.set_xlabel("processor seconds", fontsize=9, color=INK)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8, colors=SOFT)
    axes[0].set_ylabel("test accuracy, %", fontsize=9, color=INK)
    names, words = axes[0].get_legend_handles_labels()
    drawing.legend(names, words, loc="outside lower center", ncols=5, frameon=False, fontsize=7.5, labelcolor=INK)
    return drawing
