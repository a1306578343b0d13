"""Does a set chosen with one network serve another? Fig. 3.

The very subsets of `pruning`, chosen with the first network of a data set, are trained on by its second one: the same
layers twice as wide on CIFAR-10, another kind of network on Fashion-MNIST. The first network's own result on the same
subsets, from `pruning`, stands beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from matplotlib.figure import Figure

from winnow.artefacts.intervals import difference

from ..comparing import better, signed
from ..parts import INK, RANDOM, SOFT, Asked, Part, interval, panels, written
from ..shelf import Shelf
from . import pruning
from .arms import TRAINED, called, settings, sizes_of
from .pruning import OURS, TINTS, name_of
from .trainings import Cell, Cells, Row, everything, points, retrained, rows

METHODS = ("random", "forgetting", "influence")
SHARES = (0.6, 0.2)


def run(asked: Asked) -> Part:
    """Train the second network on every subset of every repeat, and compare."""
    own = pruning.cells(replace(asked, shelf=_pruning_shelf(asked), out=asked.out.parent / "pruning"))
    found = cells(asked)
    made = rows(found)
    return Part(
        "transfer", described(asked), table(found, own, made), verdict(found, own, made), figure(own, made, asked.quick)
    )


def _pruning_shelf(asked: Asked) -> Shelf:
    """Where `pruning` keeps its results."""
    return Shelf(asked.out.parent / "pruning", "influence pruning")


def cells(asked: Asked) -> Cells:
    """The kept numbers, a repeat of every data set before the next."""
    out: dict[str, list[Cell]] = {data: [] for data in asked.data}
    for repeat in range(asked.seeds):
        for data in asked.data:
            sizes = sizes_of(data, asked.quick)
            about = settings(data, repeat, sizes, methods=METHODS, shares=SHARES)
            make = retrained(asked, data, repeat, sizes.other, METHODS, SHARES)
            out[data].append(asked.shelf.keep("cells", about, make))
    return out


def described(asked: Asked) -> str:
    """Data, sizes, networks, training and repeats in a few sentences."""
    said = []
    for data in asked.data:
        sizes = sizes_of(data, asked.quick)
        said.append(
            f"{data}: {sizes.images} images, chosen with {called(sizes.network)}, trained on by {called(sizes.other)} "
            f"for {sizes.epochs} epochs on every set"
        )
    return (
        f"{'; '.join(said)}. {TRAINED} "
        f"Every set has as many images of each class. {asked.seeds} repeats; the subsets are those of `pruning`."
    )


def gains(repeats: Sequence[Cell], method: str, share: float) -> list[float]:
    """Accuracy above random, in points, a number a repeat."""
    return list(points(repeats, method, share) - points(repeats, "random", share))


def table(found: Cells, own: Cells, made: Sequence[Row]) -> list[str]:
    """One line a method and share."""
    lines = [
        "Test accuracy of the second network in %, and paired differences in points: mean over repeats ± half the "
        "95 % t interval. ▲ and ▼: the interval leaves zero out. In the last column, the first network, which chose.",
        "",
        "| data | kept | method | accuracy | against random | against everything | first network, against random |",
        "|---|---|---|---|---|---|---|",
    ]
    for data, repeats in found.items():
        lines.append(f"| {data} | 100% | everything | {interval(everything(repeats), 2)} | | | |")
        for row in made:
            if row.data == data:
                drawn = row.method == "random"
                first = difference(gains(own[data], row.method, row.share), [0.0] * len(own[data]))
                lines.append(
                    f"| {data} | {row.share:.0%} | {name_of(row.method)} | {written(row.accuracy, 2)} | "
                    f"{'' if drawn else signed(row.random)} | {signed(row.full)} | {'' if drawn else signed(first)} |"
                )
    return lines


def verdict(found: Cells, own: Cells, made: Sequence[Row]) -> list[str]:
    """The paper's claim, and what became of it on each data set."""
    lines = [
        "The paper: a set chosen with a small network serves larger ones, unknown when it was chosen, as well; "
        "accuracy after pruning stays close to that with everything."
    ]
    for data, repeats in found.items():
        for row in made:
            if row.data == data and row.method == OURS:
                other = difference(points(repeats, OURS, row.share), points(repeats, "forgetting", row.share))
                kept = difference(gains(repeats, OURS, row.share), gains(own[data], OURS, row.share))
                lines.append(
                    f"{data}, {row.share:.0%} kept, the second network on ours: {signed(row.random)} points "
                    f"against random ({better(row.random)}), {signed(other)} against forgetting ({better(other)}), "
                    f"{signed(row.full)} against everything. Its gain over random less the first network's: "
                    f"{signed(kept)} ({_carried(kept)})."
                )
    return lines


def _carried(gap: object) -> str:
    """What the difference of two gains says of the claim that a choice carries over."""
    return {"better": "it gains more", "worse": "it gains less"}.get(better(gap), better(gap))


def figure(own: Cells, made: Sequence[Row], quick: bool) -> Figure:
    """Gain over random for the first and the second network, data sets side by side."""
    drawing, axes = panels(len(own), 3.3)
    for axis, data in zip(axes, own, strict=True):
        axis.axhline(0, color=RANDOM, linewidth=1)
        sizes = sizes_of(data, quick)
        shares = sorted({row.share for row in made if row.data == data}, reverse=True)
        for block, share in enumerate(shares):
            for place, method in enumerate(m for m in METHODS if m != "random"):
                (row,) = (r for r in made if (r.data, r.method, r.share) == (data, method, share))
                first = difference(gains(own[data], method, share), [0.0] * len(own[data]))
                at = [3 * block + 0.3 * place, 3 * block + 1 + 0.3 * place]
                ends = [first, row.random]
                halves = [0.0 if math.isnan(end.half_width) else end.half_width for end in ends]
                axis.errorbar(
                    at, [end.centre for end in ends], yerr=halves, color=TINTS[method], marker="oD"[place],
                    markersize=4, capsize=2, linewidth=1.2, label=name_of(method) if block == 0 else None,
                )  # fmt: skip
            axis.text(
                3 * block + 0.65, 1.0, f"{share:.0%} kept", transform=axis.get_xaxis_transform(), ha="center",
                va="bottom", fontsize=8, color=SOFT,
            )  # fmt: skip
        ticks = [3 * block + side + 0.15 for block in range(len(shares)) for side in (0, 1)]
        names = [called(kind).replace(" of width", "\nwidth") for kind in (sizes.network, sizes.other)]
        axis.set_xticks(ticks, names * len(shares))
        axis.set_title(data, fontsize=10, color=INK, loc="left", pad=16)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=7, colors=SOFT)
        axis.set_xlim(-0.6, 3 * len(shares) - 1 + 0.6)
    axes[0].set_ylabel("accuracy above random, points", fontsize=9, color=INK)
    names, words = axes[0].get_legend_handles_labels()
    drawing.legend(names, words, loc="outside lower center", ncols=2, frameon=False, fontsize=8, labelcolor=INK)
    return drawing
