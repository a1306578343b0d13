"""The table, verdict and figure of poisoned labels, made from what `poison` kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from winnow.artefacts.intervals import Interval, difference, mean

from ..parts import COLOURS, INK, RANDOM, interval, panels

THRESHOLD = 0.75  # of `relations`
MEASURES = {
    "contradiction": "contradiction score",
    "pairs": "contradictory pairs",
    "loss": "training loss",
    "aum": "AUM",
    "confidence": "cleanlab: self-confidence",
    "margin": "cleanlab: normalised margin",
    "random": "random",
}
SETS = {"cleanlab": "cleanlab's label issues", "explain": "looks wrong to `explain`"}
Found = Mapping[tuple[str, int], Sequence[Mapping[str, Any]]]  # by data and epochs, one a seed


def of(runs: Sequence[Mapping[str, Any]], part: str, name: str, value: str) -> list[float]:
    """One number a seed."""
    return [float(one[part][name][value]) for one in runs]


def facts(runs: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [float(one["facts"][name]) for one in runs]


def table(found: Found) -> list[str]:
    lines = [
        "| data | epochs | measure | AUROC | average precision | found among the first k | precision of its set "
        "| recall of its set | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (data, epochs), runs in found.items():
        for name, words in MEASURES.items():
            cells = " | ".join(interval(of(runs, "measures", name, value)) for value in ("auroc", "average", "at_k"))
            seconds = np.mean(of(runs, "measures", name, "seconds"))
            lines.append(f"| {data} | {epochs} | {words} | {cells} | | | {seconds:.1f} |")
        for name, words in SETS.items():
            cells = " | ".join(interval(of(runs, "sets", name, value)) for value in ("precision", "recall"))
            size = np.mean(of(runs, "sets", name, "found"))
            lines.append(f"| {data} | {epochs} | {words}, {size:.0f} labels | | | | {cells} | |")
    return lines


def verdict(found: Found) -> list[str]:
    lines = [
        "The paper's guess (C.3, C.4): wrong labels make examples contradict each other, so contradictions find them."
    ]
    for (data, epochs), runs in found.items():
        lines.append(f"{data}, {epochs} epochs: {about_pairs(runs)} {about_measures(runs)}")
    return lines + [across(found, data) for data in dict.fromkeys(data for data, _ in found)]


def about_pairs(runs: Sequence[Mapping[str, Any]]) -> str:
    """How many pairs contradict each other by the definition, and what the networks had learned."""
    some = sum(facts(runs, "contradictory"))
    lowest = min(facts(runs, "lowest"))
    held = "wrong labels do make contradictory pairs" if some else "it does not hold for pairs"
    return (
        f"{held}: {some:,.0f} of {sum(facts(runs, 'pairs')):,.0f} reach -{THRESHOLD:g}, the lowest is {lowest:.2f}. "
        f"The network says the given label for {np.mean(facts(runs, 'fitted')):.0%} of all and for "
        f"{np.mean(facts(runs, 'learned_wrong')):.0%} of the wrong ones."
    )


def about_measures(runs: Sequence[Mapping[str, Any]]) -> str:
    """Which measure finds most, and where the contradiction score stands."""
    scores = {name: of(runs, "measures", name, "at_k") for name in MEASURES}
    best, second = sorted(scores, key=lambda name: -float(np.mean(scores[name])))[:2]
    lead = difference(scores[best], scores[second])
    clear = "" if lead.excludes_zero else ", not told apart by these seeds"
    against = "; ".join(
        f"{compare(difference(scores['contradiction'], scores[name]))} {MEASURES[name]}"
        for name in ("random", "loss", "aum", "confidence", "margin")
    )
    return (
        f"Most is found by {MEASURES[best]}, {np.mean(scores[best]):.1%}, then {MEASURES[second]}, "
        f"{np.mean(scores[second]):.1%} ({signed(lead)}{clear}). The contradiction score finds "
        f"{np.mean(scores['contradiction']):.1%}: {against}."
    )


def across(found: Found, data: str) -> str:
    """Every measure at the length of training that suits it; seeds are paired, since lengths share draws and flips."""
    lengths = {epochs: runs for (name, epochs), runs in found.items() if name == data}

    def at_best(name: str) -> tuple[int, list[float]]:
        scores = {epochs: of(runs, "measures", name, "at_k") for epochs, runs in lengths.items()}
        epochs = max(scores, key=lambda e: float(np.mean(scores[e])))
        return epochs, scores[epochs]

    epochs, ours = at_best("contradiction")
    others = []
    for name in ("loss", "aum", "confidence", "margin"):
        length, theirs = at_best(name)
        words = f"{MEASURES[name]} after {length}, {np.mean(theirs):.1%}"
        others.append(f"{compare(difference(ours, theirs))} {words}")
    return (
        f"{data}, each at the length that suits it, which only who knows the flips can tell: the contradiction score "
        f"after {epochs} epochs finds {np.mean(ours):.1%}: {'; '.join(others)}."
    )


def compare(found: Interval) -> str:
    """A paired difference in words."""
    if not found.excludes_zero:
        return f"not told apart ({signed(found)}) from"
    return f"{'more' if found.centre > 0 else 'less'} ({signed(found)}) than"


def signed(found: Interval) -> str:
    return f"{100 * found.centre:+.1f} ± {100 * found.half_width:.1f} points"


def figure(found: Found) -> Figure:
    """The share found among the first k, by measure and length of training, one panel a data set."""
    names = list(dict.fromkeys(data for data, _ in found))
    drawing, axes = panels(len(names), 3.1, sharey=True)
    rows = {name: len(MEASURES) - place for place, name in enumerate(MEASURES)}
    for ax, data in zip(axes, names, strict=True):
        lengths = [epochs for name, epochs in found if name == data]
        for shift, epochs in enumerate(lengths):
            for name, row in rows.items():
                at = mean(of(found[data, epochs], "measures", name, "at_k"))
                ax.errorbar(
                    at.centre,
                    row + 0.12 - 0.24 * shift,
                    xerr=np.nan_to_num(at.half_width),
                    color=RANDOM if name == "random" else COLOURS[shift],
                    fmt="os"[shift % 2],
                    ms=4.5,
                    lw=1.4,
                )
        ax.set_yticks(list(rows.values()), [MEASURES[name] for name in rows], fontsize=8)
        ax.set_xlim(-0.03, 1.03)
        ax.set_xlabel("share of wrong labels found among the first k", fontsize=8)
        ax.set_title(data, fontsize=9, color=INK)
        ax.tick_params(axis="x", labelsize=7)
        ax.grid(axis="y", lw=0.4, alpha=0.4)
        ax.spines[["top", "right"]].set_visible(False)
        handles = [
            ax.plot([], [], color=COLOURS[i], marker="os"[i % 2], ls="", ms=4.5, label=f"{epochs} epochs")[0]
            for i, epochs in enumerate(lengths)
        ]
    drawing.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8, frameon=False)
    return drawing
