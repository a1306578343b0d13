"""The pruning part's table, verdict and figure, from the kept numbers of its cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from winnow.artefacts.intervals import Interval, difference, mean

from ..comparing import better, claimed, signed, unchanged
from ..parts import COLOURS, INK, RANDOM, SOFT, panels, written

Cells = dict[tuple[str, str], list[dict[str, Any]]]  # by data set and situation, one entry a repeat

TICKS = (-50, -20, -5, -2, -1, 0, 1, 2, 5, 20)
ARMS = (  # the order of tables; the shelf keeps none
    "paper's rule, lpNTK",
    "paper's rule, pNTK",
    "cover",
    "cover, half",
    "drawn with cover's class counts",
    "head thinned, paper's rule",
    "head thinned, cover",
    "head only 1%",
    "head only 1%, cosine",
    "head only 5%",
    "head only 5%, cosine",
)
TOLD = {
    "repeated": "of the distinct examples kept",
    "imbalanced": "of the small classes' examples kept",
    "mislabelled": "of the kept labels wrong",
}


@dataclass(frozen=True)
class Row:
    """One subset over the repeats; accuracies and differences in points, paired by repeat.

    Attributes
    ----------
    data, situation, arm
        Which.
    share, kept
        Of the examples, and how many, on average.
    accuracy, random, full
        Its own, and less that of random of its size and of everything.
    selection, training
        Seconds to find it and of one training on everything.
    telling
        What its marks say, and would of a random one.
    """

    data: str
    situation: str
    arm: str
    share: float
    kept: float
    accuracy: Interval
    random: Interval
    full: Interval
    selection: float
    training: float
    telling: tuple[float, float] | None


def rows(cells: Cells) -> list[Row]:
    """A row for each subset, data set after data set."""
    out = []
    for data in dict.fromkeys(data for data, _ in cells):
        for (of, situation), found in cells.items():
            if of == data:
                out += [_row(data, situation, arm, found) for arm in ARMS if arm in found[0]["arms"]]
    return out


def _row(data: str, situation: str, arm: str, found: Sequence[Mapping[str, Any]]) -> Row:
    ours = points(found, arm)
    kept = np.array([cell["arms"][arm]["kept"] for cell in found])
    telling = [cell["arms"][arm]["telling"] for cell in found]
    return Row(
        data,
        situation,
        arm,
        float((kept / [cell["examples"] for cell in found]).mean()),
        float(kept.mean()),
        mean(ours),
        difference(ours, points(found, arm, "random")),
        difference(ours, 100 * np.array([cell["full"] for cell in found])),
        float(np.mean([cell["arms"][arm]["selection_s"] for cell in found])),
        float(np.mean([cell["full_s"] for cell in found])),
        None if telling[0] is None else tuple(np.mean(telling, axis=0).tolist()),
    )


def points(found: Sequence[Mapping[str, Any]], arm: str, what: str = "accuracy") -> NDArray[np.float64]:
    """Accuracies of an arm in per cent, a number a repeat."""
    return 100 * np.array([cell["arms"][arm][what] for cell in found])


def table(found: Sequence[Row]) -> list[str]:
    """One line a subset."""
    lines = [
        "Test accuracy in %, and paired differences in points: mean over repeats ± half the 95 % t interval. ▲ and ▼: "
        "the interval leaves zero out, as one in twenty does by chance.",
        "",
        "| data | training set | kept | accuracy | against random | against everything | selection, s | trainings |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found:
        spent = f"{row.selection:.0f} | {row.selection / row.training:.1f}"
        lines.append(
            f"| {row.data}, {row.situation} | {row.arm} | {row.kept:.0f} ({row.share:.0%}) | "
            f"{written(row.accuracy, 2)} | {signed(row.random)} | {signed(row.full)} | {spent} |"
        )
    return [
        *lines,
        "",
        "Selection is the network, its kernel and the rule; in the last column as a multiple of one training on "
        "everything, with which every subset here shares the number of steps, so that none of it is won back.",
    ]


def verdict(found: Sequence[Row], cells: Cells) -> list[str]:
    """The paper's claims, and what became of them on each data set; then where `cover` beats random."""
    drawn = {(row.data, row.arm): row for row in found if row.situation == "as drawn"}
    sets = list(dict.fromkeys(row.data for row in found))
    claims = {
        "Paper: without the examples that its rule calls redundant, accuracy is as with all (99.30 and 99.31 %).": [
            _redundancy(drawn[data, "paper's rule, lpNTK"]) for data in sets
        ],
        "Paper: the same rule by pNTK, which knows no labels, leaves a lower accuracy than by lpNTK.": [
            _labels_matter(data, drawn, cells[data, "as drawn"]) for data in sets
        ],
        "Paper: without redundant examples and a tenth of the head, a fifth of all, accuracy is slightly higher.": [
            _thinning(drawn[data, f"head thinned, {rule}"]) for data in sets for rule in ("paper's rule", "cover")
        ],
        "Paper: at 1 % and at 5 %, examples of the head alone beat random ones.": [
            f"{row.data}, {row.arm}: {signed(row.random)} points against random, {claimed(row.random)}."
            for row in drawn.values()
            if row.arm.startswith("head only")
        ],
    }
    lines = [f"- {claim} {' '.join(said)}" for claim, said in claims.items()]
    return [*lines, *(f"- {line}" for line in _where_cover_helps(found))]


def _redundancy(row: Row) -> str:
    return (
        f"{row.data}: it removes {1 - row.share:.1%}; {signed(row.full)} points against everything, "
        f"{unchanged(row.full)}; {signed(row.random)} against random of the same size, {better(row.random)}."
    )


def _labels_matter(data: str, drawn: Mapping[tuple[str, str], Row], found: Sequence[Mapping[str, Any]]) -> str:
    """As claimed, and with each kernel's random taken off, since the two keep different numbers."""
    arms = [f"paper's rule, {kind}" for kind in ("lpNTK", "pNTK")]
    ours, theirs = (points(found, arm) for arm in arms)
    above, below = (points(found, arm) - points(found, arm, "random") for arm in arms)
    plain, fair = difference(ours, theirs), difference(above, below)
    kept = [drawn[data, arm].kept for arm in arms]
    return (
        f"{data}: lpNTK {signed(plain)} points above pNTK, {claimed(plain)}; but they keep {kept[0]:.0f} and "
        f"{kept[1]:.0f} examples, and with random of its own size taken off each, the difference is {signed(fair)}."
    )


def _thinning(row: Row) -> str:
    return (
        f"{row.data}, {row.arm}, {row.share:.0%} kept: {signed(row.full)} points against everything, "
        f"{claimed(row.full)}; {signed(row.random)} against random, {better(row.random)}."
    )


def _where_cover_helps(found: Sequence[Row]) -> list[str]:
    """Where `cover` is better than random, where worse, where neither; and what it kept."""
    covered = [row for row in found if row.arm.startswith("cover")]
    names = {id(row): f"{row.data}, {row.situation}, {row.share:.0%} kept" for row in covered}
    better_at = [f"{names[id(r)]} ({signed(r.random)})" for r in covered if r.random.excludes_zero and r.random.low > 0]
    worse_at = [f"{names[id(r)]} ({signed(r.random)})" for r in covered if r.random.excludes_zero and r.random.high < 0]
    open_at = [names[id(r)] for r in covered if not r.random.excludes_zero]
    lines = [
        f"`cover` beats random of the same size at: {'; '.join(better_at) or 'none'}. Worse than random at: "
        f"{'; '.join(worse_at) or 'none'}. Not told apart at: {'; '.join(open_at) or 'none'}."
    ]
    for situation, words in TOLD.items():
        said = [
            f"{r.data}, {r.share:.0%} kept: {r.telling[0]:.0%} {words} (random {r.telling[1]:.0%})"
            for r in covered
            if r.situation == situation and r.telling is not None
        ]
        if said:
            lines.append(f"What `cover` keeps, {situation}: {'; '.join(said)}.")
    drawn = [row for row in found if row.arm.startswith("drawn with")]
    if drawn:
        said = [f"{row.data} {signed(row.random)} points against random" for row in drawn]
        lines.append(f"A draw with the class counts of `cover`, no kernel needed: {'; '.join(said)}.")
    return lines


def figure(found: Sequence[Row]) -> Figure:
    """Difference to random of the same size for every subset, data sets side by side."""
    sets = list(dict.fromkeys(row.data for row in found))
    names = list(dict.fromkeys((row.situation, row.arm) for row in found))
    situations = list(dict.fromkeys(situation for situation, _ in names))
    # A gap before each situation, for its name.
    places = {name: i + 1.2 * situations.index(name[0]) for i, name in enumerate(names)}
    drawing, axes = panels(len(sets), 1.2 + 0.24 * max(places.values()), sharey=True, sharex=True)
    for axis, data in zip(axes, sets, strict=True):
        axis.axvline(0, color=RANDOM, linewidth=1)
        for row in found:
            if row.data == data:
                colour = COLOURS[situations.index(row.situation)]
                at = places[row.situation, row.arm]
                axis.errorbar(
                    row.random.centre, at, xerr=row.random.half_width, color=colour, marker="o", markersize=4, capsize=2
                )
        # Straight up to two points, where subsets are told apart, then by powers: some fall by tens of points.
        axis.set_xscale("symlog", linthresh=2, linscale=0.9)
        low = min((r.random.centre - np.nan_to_num(r.random.half_width) for r in found), default=0.0)
        high = max((r.random.centre + np.nan_to_num(r.random.half_width) for r in found), default=0.0)
        axis.set_xlim(min(1.2 * low, -1), max(1.2 * high, 1))
        shown = [tick for tick in TICKS if 1.2 * low <= tick <= max(1.2 * high, 1)]
        axis.set_xticks(shown, [f"{tick:+g}" if tick else "0" for tick in shown])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_title(data, fontsize=10, color=INK, loc="left")
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(labelsize=8, colors=SOFT)
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="y", color="#dcdfe3", linewidth=0.5)
    axes[0].set_yticks(list(places.values()), [arm for _, arm in names], color=INK)
    axes[0].set_ylim(max(places.values()) + 0.7, -1.5)
    for situation in situations:
        top = min(place for (of, _), place in places.items() if of == situation)
        axes[0].text(
            -0.02, top - 0.95, situation, transform=axes[0].get_yaxis_transform(), ha="right", va="center",
            fontsize=8.5, fontweight="bold", color=COLOURS[situations.index(situation)],
        )  # fmt: skip
    drawing.supxlabel("accuracy above random of the same size, points", fontsize=9, color=INK)
    return drawing
