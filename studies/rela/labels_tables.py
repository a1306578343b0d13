"""Tables, verdict and figure of the part on soft labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from winnow.artefacts.intervals import Interval, mean

from ..parts import COLOURS, RANDOM, SOFT, interval, panels, written

CHOICES = ("herding", "moderate", "drawn")
CALLED = {"cifar10": "CIFAR-10", "fashion-mnist": "Fashion-MNIST"}
Cells = Mapping[str, Sequence[Mapping[str, Any]]]


def values(cells: Sequence[Mapping[str, Any]], choice: str, count: int, soft: bool) -> NDArray[np.float64]:
    """Accuracies of an arm in percent, by repeat."""
    return 100 * np.array([cell["arms"][f"{choice} {count}"][int(soft)] for cell in cells])


def gain(cells: Sequence[Mapping[str, Any]], choice: str, count: int) -> Interval:
    """What soft labels add to the same images."""
    return mean(values(cells, choice, count, True) - values(cells, choice, count, False))


def against_drawn(cells: Sequence[Mapping[str, Any]], choice: str, count: int, soft: bool) -> Interval:
    """What the choice adds to drawn images under the same targets."""
    return mean(values(cells, choice, count, soft) - values(cells, "drawn", count, soft))


def table(cells: Cells, counts: Sequence[int]) -> list[str]:
    """Every arm under both targets."""
    lines = [
        "| data | images a class | chosen by | labels, % | soft labels, % | soft - labels | against drawn, soft |",
        "|---|---|---|---|---|---|---|",
    ]
    for data, found in cells.items():
        for count in counts:
            for choice in CHOICES:
                hard, soft = (interval(values(found, choice, count, kind), 1) for kind in (False, True))
                other = "" if choice == "drawn" else written(against_drawn(found, choice, count, True), 1)
                name = "drawn (random)" if choice == "drawn" else choice
                lines.append(
                    f"| {CALLED.get(data, data)} | {count} | {name} | {hard} | {soft} | "
                    f"{written(gain(found, choice, count), 1)} | {other} |"
                )
        full = interval([100 * cell["full"] for cell in found], 1)
        lines.append(f"| {CALLED.get(data, data)} | the whole pool | | {full} | | | |")
    return lines


def verdict(cells: Cells, counts: Sequence[int]) -> list[str]:
    """What soft labels do, what the choice does, and what the prior is."""
    lines = [
        "Paper: a few real images a class with a prior's soft targets train better students than distilled sets do, at "
        "1, 10 and 50 images a class. Distilled sets were not made; soft labels against labels, and chosen images "
        "against drawn ones, were."
    ]
    for data, found in cells.items():
        name = CALLED.get(data, data)
        prior = interval([100 * cell["prior"] for cell in found], 1)
        seen = (
            "It was trained on these images and their labels, so this is distillation"
            if data == "cifar10"
            else f"It was trained here in {np.mean([c['prior_s'] for c in found]):.0f} s on images outside of the pool"
        )
        lines.append(
            f"{name}: the prior is right on {prior} % of the test images and gives its own first class a mean "
            f"probability of {np.mean([c['certain'] for c in found]):.2f} after the temperature. {seen}; labelling the "
            f"pool took {np.mean([c['labels_s'] for c in found]):.0f} s by the clock."
        )
        chosen_ones = [choice for choice in CHOICES if choice != "drawn"]
        lines.append(
            f"{name}, soft labels lift chosen images: "
            f"{judged([gain(found, c, n) for c in chosen_ones for n in counts])}."
        )
        lines.append(f"{name}, soft labels lift drawn images too: {judged([gain(found, 'drawn', n) for n in counts])}.")
        for soft, word in ((False, "labels"), (True, "soft labels")):
            gaps = [against_drawn(found, c, n, soft) for c in chosen_ones for n in counts]
            lines.append(f"{name}, chosen images beat drawn ones under {word}: {judged(gaps)}.")
    return lines


def judged(gaps: Sequence[Interval]) -> str:
    """Whether a difference is above zero in all cases, by their intervals."""
    above = sum(gap.low > 0 for gap in gaps)
    below = sum(gap.high < 0 for gap in gaps)
    if above == len(gaps):
        word = "holds"
    elif below:
        word = "does not hold"
    else:
        word = "not decided"
    smallest, largest = (f(gap.centre for gap in gaps) for f in (min, max))
    return (
        f"{word} ({above} of {len(gaps)} differences above zero by their interval, {below} below; from {smallest:+.1f} "
        f"to {largest:+.1f} points)"
    )


def drawing(cells: Cells, counts: Sequence[int]) -> Figure:
    """Accuracy against images a class: soft labels in full lines, labels in dashed ones."""
    figure, axes = panels(len(cells), 3.2)
    colours = {"herding": COLOURS[0], "moderate": COLOURS[1], "drawn": RANDOM}
    for place, (panel, (data, found)) in enumerate(zip(axes, cells.items(), strict=True)):
        for choice in CHOICES:
            for soft in (True, False):
                spread = [mean(values(found, choice, n, soft)) for n in counts]
                panel.errorbar(
                    counts,
                    [s.centre for s in spread],
                    yerr=[0 if np.isnan(s.low) else s.half_width for s in spread],
                    color=colours[choice],
                    linestyle="-" if soft else "--",
                    linewidth=1.5,
                    marker="o" if soft else "s",
                    markersize=3.5,
                    elinewidth=0.8,
                    label=f"{'drawn (random)' if choice == 'drawn' else choice}, {'soft labels' if soft else 'labels'}",
                )
        panel.axhline(100 * float(np.mean([cell["full"] for cell in found])), color=SOFT, linewidth=0.8, linestyle=":")
        panel.annotate(
            "whole pool, labels",
            (counts[0], 100 * float(np.mean([cell["full"] for cell in found]))),
            xytext=(0, -9),
            textcoords="offset points",
            fontsize=7,
            color=SOFT,
        )
        panel.set_xscale("log")
        panel.set_xticks(counts, [str(n) for n in counts])
        panel.minorticks_off()
        panel.set_title(CALLED.get(data, data), fontsize=9)
        panel.set_xlabel("images a class")
        if place == 0:
            panel.set_ylabel("test accuracy, %")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=7, frameon=False)
    return figure
