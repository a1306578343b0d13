"""The long tail of clusters (Fig. 15): farthest points by class, on the raw kernel and on cosines.

Each class is clustered around a tenth of its examples. The paper finds one cluster that holds most of the class, 5 to
20 more with several examples, and single examples for the rest, and reads it as a property of the data.

Lengths alone would do that. On a kernel |phi| |phi'| c whose cosines c are all alike, the first centre is the longest
example, the others are the shortest ones in turn, and nobody ever moves to them: the first cluster keeps n - M + 1 of n
examples, 90 %, and all others hold one. So two questions are asked of each clustering: how near the largest cluster
comes to that share, and how many centres are those that lengths alone would choose, where chance finds a tenth. The
correlation of being a centre with the length of the feature is given too.

The paper clusters all examples of class 0 of MNIST and CIFAR-10; here each class of a draw is clustered, and the
network is trained on that draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts.intervals import Interval, mean
from winnow.core import seeds
from winnow.training import Feed, Recipe, train

from ..parts import COLOURS, INK, SOFT, Asked, Part, interval, panels
from .parts import drawn

EXAMPLES, EPOCHS = 3000, 20  # about 300 a class; the paper has some 6,000 a class
CENTRES = 0.1  # of each class, as the paper
TOP = 30  # clusters shown, as Fig. 15
KINDS = {"raw": "raw kernel", "cosine": "cosine"}
MOST = 0.5  # of the examples in the largest cluster, and of the clusters with one example

Clustered = Mapping[str, Mapping[str, Any]]  # by kind: one number a class of each measure, and `sizes`
Found = Mapping[str, Sequence[Clustered]]  # by data, one a seed


def run(asked: Asked) -> Part:
    """Cluster each class of each data set both ways."""
    examples, epochs = (300, 1) if asked.quick else (EXAMPLES, EPOCHS)
    found: dict[str, list[Clustered]] = {}
    for data in asked.data:
        for repeat in range(asked.seeds):
            settings = {"data": data, "examples": examples, "epochs": epochs, "centres": CENTRES, "repeat": repeat}
            kept = asked.shelf.keep("clusters", settings, lambda seed, s=settings: clustered(seed, **s))
            found.setdefault(data, []).append(kept)
    return Part(
        "tail",
        f"LeNet-5, trained {epochs} epochs on {examples:,} examples by the usual recipe, exact kernels by class, "
        f"{CENTRES:.0%} of each class as centres; means over ten classes, ± half the 95 % interval over {asked.seeds} "
        "seeds, each with examples and weights of its own.",
        table(found),
        verdict(found),
        figure(found),
    )


def clustered(seed: int, data: str, examples: int, epochs: int, centres: float, repeat: int) -> dict[str, Any]:
    """Train, and measure the clusters of each class."""
    x, labels = drawn(data, examples, "tail", repeat)
    feed = Feed(wn.open((x.numpy(), labels)))
    labels, x = labels[feed.order], feed.inputs(np.arange(examples))
    net = wn.models.build("lenet5", classes=10, shape=tuple(x.shape[1:]), seed=seeds.number(seed, "init"))
    train(net, feed, Recipe(epochs=epochs, device="cpu"), seeds.number(seed, "training"))
    out: dict[str, dict[str, list[Any]]] = {kind: {} for kind in KINDS}
    for k in np.unique(labels):
        where = np.flatnonzero(labels == k)
        kernel = wn.lpntk.gram(net, x[where], labels[where])
        for kind, measures in out.items():
            for name, value in described(kernel, wn.lpntk.farthest_points(kernel, centres, kind=kind)).items():
                measures.setdefault(name, []).append(value)
    return out


def described(kernel: NDArray[Any], found: wn.lpntk.FarthestPoints) -> dict[str, Any]:
    """How long the tail is, and what lengths have to do with it.

    `by_length` is the share of centres after the first that are among the shortest, as many as there are such centres.
    """
    n, centres = len(kernel), found.centres
    lengths = np.sqrt(kernel.diagonal().astype(np.float64))
    sizes = np.sort(found.sizes)[::-1]
    is_centre = np.isin(np.arange(n), centres)
    shortest = np.argsort(lengths, kind="stable")[: centres.size - 1]
    return {
        "head": float(sizes[0] / n),
        "several": int((sizes[1:] > 1).sum()),
        "single": float((sizes == 1).mean()),
        "alike": (n - centres.size + 1) / n,
        "correlation": float(np.corrcoef(is_centre, lengths)[0, 1]),
        "by_length": float(np.isin(centres[1:], shortest).mean()) if centres.size > 1 else 0.0,
        "sizes": (sizes[:TOP] / n).tolist(),
    }


def by_seed(runs: Sequence[Clustered], kind: str, name: str) -> list[float]:
    """The mean over classes of a measure, one a seed."""
    return [float(np.mean(one[kind][name])) for one in runs]


def table(found: Found) -> list[str]:
    lines = [
        "| data | kernel | largest cluster | lowest to highest class | others with several | clusters of one "
        "| correlation of centre and length | centres that lengths choose |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for data, runs in found.items():
        for kind, words in KINDS.items():
            heads = [share for one in runs for share in one[kind]["head"]]
            lines.append(
                f"| {data} | {words} | {interval(by_seed(runs, kind, 'head'))} | {min(heads):.2f} to {max(heads):.2f} "
                f"| {interval(by_seed(runs, kind, 'several'), 1)} | {interval(by_seed(runs, kind, 'single'))} "
                f"| {interval(by_seed(runs, kind, 'correlation'))} | {interval(by_seed(runs, kind, 'by_length'))} |"
            )
    return lines


def verdict(found: Found) -> list[str]:
    lines = [
        "The paper's claim: most examples of a class are in its largest cluster, and nearly all other clusters hold "
        "one example."
    ]
    for data, runs in found.items():
        for kind, words in KINDS.items():
            heads, alike = mean(by_seed(runs, kind, "head")), np.mean(by_seed(runs, kind, "alike"))
            single, chosen = (mean(by_seed(runs, kind, name)) for name in ("single", "by_length"))
            lines.append(
                f"{data}, {words}: {holding(heads, single)}. The largest cluster has {heads.centre:.1%} ± "
                f"{heads.half_width:.1%} of its class, where lengths alone would give {alike:.1%}; "
                f"{single.centre:.0%} ± {single.half_width:.0%} of clusters hold one example. {explained(chosen)}"
            )
    return lines


def holding(heads: Interval, single: Interval) -> str:
    """Whether most examples are in the largest cluster and most clusters hold one example, by the intervals."""
    if heads.low > MOST and single.low > MOST:
        return "holds"
    return "does not hold" if heads.high < MOST or single.high < MOST else "not decided"


def explained(chosen: Interval) -> str:
    """What lengths have to do with the centres, where chance would choose `CENTRES` of them."""
    share = f"({chosen.centre:.0%} ± {chosen.half_width:.0%}, {CENTRES:.0%} by chance)"
    if chosen.low > CENTRES:
        much = "mostly" if chosen.low > MOST else "in part"
        return f"Its centres are {much} those that lengths alone would choose {share}."
    if chosen.high < CENTRES:
        return f"Its centres are not those that lengths alone would choose {share}."
    return f"Whether lengths choose its centres is not decided {share}."


def figure(found: Found) -> Figure:
    """Share of a class against the rank of the cluster, with the spread over seeds."""
    drawing, axes = panels(len(found), 2.9, sharey=True)
    for ax, (data, runs) in zip(axes, found.items(), strict=True):
        for (kind, words), colour in zip(KINDS.items(), COLOURS, strict=False):
            shown = min(TOP, *(len(sizes) for one in runs for sizes in one[kind]["sizes"]))
            sizes = np.array([[one[:shown] for one in seed[kind]["sizes"]] for seed in runs]).mean(axis=1)
            ranks = np.arange(1, shown + 1)
            ax.fill_between(ranks, sizes.min(axis=0), sizes.max(axis=0), color=colour, alpha=0.2, lw=0)
            ax.plot(ranks, sizes.mean(axis=0), color=colour, marker="o", ms=2.5, lw=1.2)
            at = min(3, shown - 1)
            ax.annotate(
                words, (ranks[at], sizes.mean(axis=0)[at]), (6, 6), textcoords="offset points", fontsize=8, color=colour
            )
        alike = float(np.mean(by_seed(runs, "raw", "alike")))
        ax.plot(1, alike, marker="D", mfc="none", color=SOFT, ms=5, ls="")
        ax.annotate("lengths alone", (1, alike), (8, -2), textcoords="offset points", fontsize=7, color=SOFT)
        ax.set_yscale("log")
        ax.set_title(data, fontsize=9, color=INK)
        ax.set_xlabel("cluster of a class, from the largest", fontsize=8)
        ax.tick_params(labelsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("share of the class", fontsize=8)
    return drawing
