"""Which method prunes best? Fig. 1, with every class keeping the same number whatever the method.

A network of the same kind as the one that was observed is trained from scratch on every subset, for the same epochs,
and measured on the test split. What is compared and how it is chosen is in `arms`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from winnow.artefacts.intervals import difference, mean

from ..comparing import ONE, better, claimed, signed
from ..parts import COLOURS, FULL, INK, RANDOM, SOFT, Asked, Part, interval, panels, written
from .arms import KEPT, METHODS, NAMES, TRAINED, called, settings, sizes_of
from .trainings import Cell, Cells, Row, everything, points, retrained, rows

OURS = "influence"
TINTS = dict(zip(("influence", "forgetting", "el2n", "grand", "herding"), COLOURS, strict=True)) | {
    "random": RANDOM,
    "influence_norm": SOFT,
    "everything": FULL,
}
MARKS = {"influence": "o", "random": "x", "influence_norm": "s", "el2n": "^", "grand": "v", "forgetting": "D"}


def run(asked: Asked) -> Part:
    """Train on every subset of every repeat, and compare."""
    found = cells(asked)
    made = rows(found)
    return Part("pruning", described(asked), table(found, made), verdict(found, made), figure(found, made))


def cells(asked: Asked) -> Cells:
    """The kept numbers, a repeat of every data set before the next."""
    out: dict[str, list[Cell]] = {data: [] for data in asked.data}
    for repeat in range(asked.seeds):
        for data in asked.data:
            sizes = sizes_of(data, asked.quick)
            make = retrained(asked, data, repeat, sizes.network, METHODS, KEPT)
            out[data].append(asked.shelf.keep("cells", settings(data, repeat, sizes, methods=METHODS), make))
    return out


def described(asked: Asked) -> str:
    """Data, sizes, network, training and repeats in a few sentences."""
    said = []
    for data in asked.data:
        sizes = sizes_of(data, asked.quick)
        said.append(
            f"{data}: {sizes.images} images, {called(sizes.network)}, observed for {sizes.observed} epochs and trained "
            f"for {sizes.epochs} on every set"
        )
    return (
        f"{'; '.join(said)}. {TRAINED} "
        f"Every set has as many images of each class. {asked.seeds} repeats, each with a draw, an observation, choices "
        "and weights of its own. Seconds are the processor's."
    )


def name_of(method: str) -> str:
    """A method as tables call it."""
    return NAMES.get(method, method)


def table(found: Cells, made: Sequence[Row]) -> list[str]:
    """One line a method and share."""
    lines = [
        "Test accuracy in %, and paired differences in points: mean over repeats ± half the 95 % t interval. ▲ and ▼: "
        "the interval leaves zero out, as one in twenty does by chance.",
        "",
        "| data | kept | method | accuracy | against random | against everything | choosing, s | pays after |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for data, repeats in found.items():
        lines.append(f"| {data} | 100% | everything | {interval(everything(repeats), 2)} | | | | |")
        for row in made:
            if row.data == data:
                lines.append(_line(row))
    return [
        *lines,
        "",
        "Choosing is the observed training, the score and the selection. It pays after as many trainings on the subset "
        "as it takes for what each is shorter than one on everything to add up to it.",
    ]


def _line(row: Row) -> str:
    gap = "" if row.method == "random" else signed(row.random)
    pays = "never" if row.pays_after is None else f"{row.pays_after}"
    spent = "0 | 1" if row.method == "random" else f"{row.selection:.0f} | {pays}"
    return (
        f"| {row.data} | {row.share:.0%} | {name_of(row.method)} | {written(row.accuracy, 2)} | {gap} | "
        f"{signed(row.full)} | {spent} |"
    )


def verdict(found: Cells, made: Sequence[Row]) -> list[str]:
    """The paper's claims, and what became of them on each data set."""
    lines = [
        "The paper: the set that influence chooses beats random, herding, forgetting, GraNd, EL2N and the influence "
        "score at every pruning ratio, and by more the more is pruned."
    ]
    for data, repeats in found.items():
        ours = {row.share: row for row in made if row.data == data and row.method == OURS}
        against = [f"{signed(r.random)} at {r.share:.0%} kept ({better(r.random)})" for r in ours.values()]
        lines.append(f"{data}, ours against random, in points: {', '.join(against)}.")
        lines += [f"{data}, {share:.0%} kept: {_beside(repeats, share)}" for share in ours]
        most, least = max(ours), min(ours)
        grown = difference(
            points(repeats, OURS, least) - points(repeats, "random", least),
            points(repeats, OURS, most) - points(repeats, "random", most),
        )
        lines.append(
            f"{data}, gain over random at {least:.0%} kept less that at {most:.0%}: {signed(grown)} points; that it "
            f"grows: {claimed(grown)}."
        )
        lines.append(_promised(data, repeats, list(ours)))
    return lines


def _beside(repeats: Sequence[Cell], share: float) -> str:
    """Ours beside every other method at one share."""
    sorted_out: dict[str, list[str]] = {}
    for method in METHODS:
        if method != OURS:
            gap = difference(points(repeats, OURS, share), points(repeats, method, share))
            sorted_out.setdefault(better(gap), []).append(f"{name_of(method)} ({signed(gap)})")
    words = {"better": "ours is better than", "worse": "ours is worse than", "not told apart": "not told apart from"}
    words[ONE] = "one repeat does not tell ours from"
    return "; ".join(f"{words[word]} {', '.join(names)}" for word, names in sorted_out.items()) + "."


def _promised(data: str, repeats: Sequence[Cell], shares: Sequence[float]) -> str:
    """What the certificate says of the head, and how alike influence norm and EL2N rank."""
    heads = []
    for share in shares:
        moved = [np.divide(*cell["heads"][f"{share:g}"]) for cell in repeats]
        heads.append(f"{np.mean(moved):.2f} at {share:.0%} kept")
    alike = np.mean([cell["agreement"] for cell in repeats])
    return (
        f"{data}, what ours promises is about the head alone: by the corrected prediction it moves, as a share of what "
        f"is predicted of a random removal, {', '.join(heads)}. Rank correlation of the influence score with EL2N: "
        f"{alike:.2f}."
    )


def figure(found: Cells, made: Sequence[Row]) -> Figure:
    """Difference to random against the share pruned, data sets side by side; everything as a line above."""
    drawing, axes = panels(len(found), 3.6)
    for axis, (data, repeats) in zip(axes, found.items(), strict=True):
        shares = sorted({row.share for row in made if row.data == data}, reverse=True)
        pruned = [100 * (1 - share) for share in shares]
        others = [method for method in METHODS if method != "random"]
        ends = {}
        for place, method in enumerate(others):
            line = [
                row for share in shares for row in made if (row.data, row.method, row.share) == (data, method, share)
            ]
            aside = np.array(pruned) + 0.7 * (place - (len(others) - 1) / 2)
            halves = [0.0 if math.isnan(row.random.half_width) else row.random.half_width for row in line]
            heavy = method == OURS
            axis.errorbar(
                aside, [row.random.centre for row in line], yerr=halves, color=TINTS[method], capsize=2, markersize=4,
                marker=MARKS.get(method, "P"), linewidth=2 if heavy else 1, zorder=3 if heavy else 2,
            )  # fmt: skip
            ends[method] = (aside[-1], line[-1].random.centre)
        full = [mean(everything(repeats) - points(repeats, "random", share)).centre for share in shares]
        axis.plot([0, pruned[-1]], [0, 0], color=RANDOM, linewidth=1)
        axis.set_xlim(pruned[0] - 5, None)
        axis.plot(pruned, full, color=FULL, linestyle=":", linewidth=1)
        ends["everything"], ends["random"] = (pruned[-1], full[-1]), (pruned[-1], 0.0)
        labelled(axis, ends, TINTS)
        axis.set_title(data, fontsize=10, color=INK, loc="left")
        axis.set_xlabel("pruned, %", fontsize=9, color=INK)
        axis.set_xticks(pruned)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8, colors=SOFT)
    axes[0].set_ylabel("accuracy above random, points", fontsize=9, color=INK)
    return drawing


def labelled(axis: Any, ends: dict[str, tuple[float, float]], tints: Mapping[str, str]) -> None:
    """Names to the right of where lines end, pushed apart where they would lie on each other."""
    low, high = axis.get_ylim()
    gap = 0.06 * (high - low)
    names = sorted(ends, key=lambda name: ends[name][1])
    wanted = np.array([ends[name][1] for name in names])
    heights = wanted.copy()
    for i in range(1, len(names)):
        heights[i] = max(heights[i], heights[i - 1] + gap)
    heights -= (heights - wanted).mean()
    right, left = max(at for at, _ in ends.values()), axis.get_xlim()[0]
    for name, height in zip(names, heights, strict=True):
        axis.annotate(
            name_of(name), ends[name], (right + 0.1 * (right - left), height), fontsize=7.5, color=tints[name],
            va="center", arrowprops={"arrowstyle": "-", "color": tints[name], "linewidth": 0.5, "relpos": (0, 0.5)},
        )  # fmt: skip
    axis.set_xlim(left, right + 0.62 * (right - left))
    axis.spines["bottom"].set_bounds(left, right)
