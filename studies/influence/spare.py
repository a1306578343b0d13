"""The same draws as `curve`, with sets that spare the loss instead of the parameters.

In `curve` the gap in test loss at a tenth removed is not shown to be a tenth of random's: what remains of the change
lies along directions of high curvature, which the length of the change counts like any other. `spare="loss"` measures a
change d by d^T H d instead. That it would help was found on other training images, after `curve` had been seen; random
removals are those of `curve`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from matplotlib.figure import Figure

import winnow as wn
from winnow.core import seeds

from ..comparing import within
from ..parts import COLOURS, RANDOM, Asked, Part, interval, panels
from ..shelf import Shelf
from . import curve
from .curve import CHANCE, OURS, Cells, Sizes, judged, values
from .heads import removal, trained

PARAMETERS, LOSS = "parameters spared", "loss spared"


def run(asked: Asked) -> Part:
    sizes, data = curve.sizes_of(asked), asked.data[0]
    folder = asked.out.parent / "curve"
    before = curve.cells(replace(asked, shelf=Shelf(folder, "influence curve"), out=folder))
    spared = [
        asked.shelf.keep(
            "removals",
            {"data": data, "sizes": asdict(sizes), "repeat": repeat, "spare": "loss"},
            lambda _, repeat=repeat: removals(data, sizes, repeat),
        )
        for repeat in range(len(before))
    ]
    found = [{OURS: ours, CHANCE: one[CHANCE]} for ours, one in zip(spared, before, strict=True)]
    settings = (
        f"{data}: the {len(found)} draws, heads and random removals of *curve* ({sizes.images:,} images, damping "
        f"{sizes.damping:g}); sets by `prune_by_count(spare='loss')`; brackets are 95 % intervals over draws."
    )
    return Part("spare", settings, table(before, found), curve.verdict(found), drawing(before, found))


def removals(data: str, sizes: Sizes, repeat: int) -> dict[str, list[dict[str, float]]]:
    """What removing the sets that spare the loss did to the head of one draw."""
    of = trained(data, sizes.images, sizes.components, "curve", repeat)
    seed = seeds.number(0, "influence", "curve", "removals", repeat)
    out = {}
    for share in sizes.shares:
        ours = wn.influence.prune_by_count(of.vectors, round(share * sizes.images), seed, spare="loss")
        out[str(share)] = [removal(of, ours.removed, ours.certificate)]
    return out


def table(before: Sequence[Cells], found: Sequence[Cells]) -> list[str]:
    """Both ways to choose, beside random."""
    lines = [
        "| removed | | actual change | over random's | actual over linear | test-loss gap | its size over random's |",
        "|---" * 7 + "|",
    ]
    for share in found[0][OURS]:
        for name, cells in ((LOSS, found), (PARAMETERS, before)):
            one = judged(cells, share)
            lines.append(
                f"| {float(share):.0%} | {name} | {interval(values(cells, OURS, share, 'actual'))} | "
                f"{within(one['change'], 3)} | {within(one['predicted'], 3)} | "
                f"{interval(values(cells, OURS, share, 'gap'), 5)} | {within(one['size'], 3)} |"
            )
        change, gap = (values(found, CHANCE, share, name) for name in ("actual", "gap"))
        lines.append(f"| {float(share):.0%} | random | {interval(change)} | | | {interval(gap, 5)} | |")
    return lines


def drawing(before: Sequence[Cells], found: Sequence[Cells]) -> Figure:
    """Change and size of the gap against the share removed."""
    figure, axes = panels(2, 2.9)
    shares = list(found[0][OURS])
    at = [100 * float(share) for share in shares]
    looks = ((LOSS, found, OURS, COLOURS[0]), (PARAMETERS, before, OURS, COLOURS[1]), ("random", found, CHANCE, RANDOM))
    for name, cells, method, colour in looks:
        for axis, what in zip(axes, ("actual", "gap"), strict=True):
            sizes = [values(cells, method, share, what, size=True).mean() for share in shares]
            axis.plot(at, sizes, color=colour, marker="o", ms=4, lw=1.3, label=name)
    axes[0].set(ylabel="actual change of the head")
    axes[1].set(ylabel="size of the test-loss gap")
    axes[0].legend(fontsize=7, frameon=False)
    for axis in axes:
        axis.set(yscale="log", xlabel="removed, %", xticks=at)
    return figure
