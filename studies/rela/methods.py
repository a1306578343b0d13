"""Table 3: does training from a prior's targets first beat the method alone, for each of the eight methods?

The part `claim` is the same for BYOL and SimSiam on two data sets. CIFAR-10 has a prior trained on ImageNet,
Fashion-MNIST one trained on CIFAR-10: neither saw a label of the data at hand. For every method: itself, and
accelerated with the switch of Algorithm 1 scaled to the steps. Beside them in every table: stage 1 to the end, the same
with targets dealt out at random (which teaches the student to tell images apart, but nothing of what is in them), the
untrained student. Compared at equal steps and at equal seconds: there the arm that took longer has the accuracy it had
when the other ended, read off between two stops; once with the making of the targets counted, once without, for targets
are made once and serve every training after.
The prior's image size and the heads' training were chosen on held-out training images; the heads after a first seed had
been seen, as docs/studies/rela.md says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from winnow.artefacts.intervals import Interval, difference, mean

from ..parts import COLOURS, FULL, RANDOM, SOFT, Asked, Part, interval, panels, written
from .labels_tables import CALLED as CALLED_DATA
from .readings import at_seconds, mean_or_never, seconds_to
from .trainings import CALLED, ELSEWHERE, OWN, QUICK, Arm, Sizes, curve, prior_read, untrained

EIGHT = ("byol", "simsiam", "simclr", "barlow_twins", "vicreg", "moco", "dino", "swav")
CLAIMED = ("byol", "simsiam")
NAMES = {
    "byol": "BYOL",
    "simsiam": "SimSiam",
    "simclr": "SimCLR",
    "barlow_twins": "Barlow Twins",
    "vicreg": "VICReg",
    "moco": "MoCo",
    "dino": "DINO",
    "swav": "SwAV",
}
Found = Mapping[str, Any]


def run(asked: Asked) -> Part:
    """All eight on the first data set."""
    return part(replace(asked, data=asked.data[:1]), "methods", EIGHT)


def part(asked: Asked, name: str, methods: Sequence[str]) -> Part:
    """Train what is missing of some methods, seed by seed, and compare."""
    sizes = QUICK if asked.quick else Sizes()
    found: dict[str, list[dict[str, Any]]] = {data: [{} for _ in range(asked.seeds)] for data in asked.data}
    for repeat in range(asked.seeds):
        for data in asked.data:
            found[data][repeat] = one(asked, data, sizes, repeat, methods)
    settings = (
        f"{' and '.join(named(data) for data in asked.data)}: {sizes.images:,} images a seed, a student of four "
        f"convolutions and {8 * sizes.width} features, {sizes.steps} steps of AdamW at .001, batches of {sizes.batch}; "
        f"linear probe on the same images, {sizes.test:,} test images; priors: "
        + ", ".join(f"{CALLED[prior_of(asked, data)]} on {named(data)}" for data in asked.data)
        + f"; {asked.seeds} seeds of images, weights, batches and views, all arms of one paired. Accuracies in %, "
        "seconds of one thread."
    )
    lines = []
    for data in asked.data:
        own = prior_read(asked.shelf.beside("trainings"), data, sizes, prior_of(asked, data))
        lines += [*table(data, found[data], sizes), beside(CALLED[prior_of(asked, data)], own), ""]
    said = [line for data in asked.data for line in verdict(data, found[data], sizes)]
    claim = (
        "Claim: a method that first learns the targets of a prior model reaches, in the same steps and the same time, "
        "a better representation than the method alone."
    )
    figure = drawing(found) if name == "claim" else pairs(found)
    return Part(name, settings, lines, [claim, *said], figure)


def prior_of(asked: Asked, data: str) -> str:
    """The prior from elsewhere, or the student's own weights where there is none (quick runs need no files)."""
    return OWN if asked.quick else ELSEWHERE.get(data, OWN)


def one(asked: Asked, data: str, sizes: Sizes, repeat: int, methods: Sequence[str]) -> dict[str, Any]:
    """The arms of one seed for some methods, and what stands beside them all."""
    shelf, prior = asked.shelf.beside("trainings"), prior_of(asked, data)
    made: dict[str, Any] = {
        "untrained": untrained(shelf, data, sizes, repeat),
        "stage 1": curve(shelf, data, sizes, repeat, Arm(None, prior)),
        "shuffled": curve(shelf, data, sizes, repeat, Arm(None, prior, shuffled=True)),
    }
    for method in methods if not asked.quick else CLAIMED:
        made[method] = curve(shelf, data, sizes, repeat, Arm(method))
        made[f"{method}+"] = curve(shelf, data, sizes, repeat, Arm(method, prior))
    return made


def present(found: Sequence[Found]) -> list[str]:
    """The methods that every seed has, in the table's order."""
    return [method for method in EIGHT if all(f"{method}+" in one for one in found)]


def named(data: str) -> str:
    """A data set as people write it."""
    return CALLED_DATA.get(data, data)


def ends(found: Sequence[Found], arm: str) -> NDArray[np.float64]:
    """Accuracies in the end, a seed each."""
    return np.array([one[arm]["accuracies"][-1] for one in found])


def gains(found: Sequence[Found], method: str) -> dict[str, Interval]:
    """Accelerated minus plain, paired by seed: at equal steps, at equal seconds, and with the targets counted."""
    out = {"steps": difference(ends(found, f"{method}+"), ends(found, method))}
    for name, counted in (("seconds", 0.0), ("with targets", 1.0)):
        pairs = np.array([at_the_shorter(one, method, counted * one[f"{method}+"]["targets"]) for one in found])
        out[name] = difference(pairs[:, 0], pairs[:, 1])
    return out


def at_the_shorter(one: Found, method: str, waited: float) -> tuple[float, float]:
    """Accuracies of the accelerated arm, which begins after `waited` seconds, and the plain one when the first ends."""
    plus, plain = one[f"{method}+"], one[method]
    end = min(waited + plus["seconds"][-1], plain["seconds"][-1])
    return at_seconds(plus, end - waited, one["untrained"]), at_seconds(plain, end, one["untrained"])


def cost(one: Found, method: str, counted: float) -> float:
    """Seconds of the accelerated arm until it is as good as the plain one in the end, as a share of the plain one's."""
    plus, plain = one[f"{method}+"], one[method]
    needed = seconds_to(plus, plain["accuracies"][-1], one["untrained"]) + counted * plus["targets"]
    return float(needed / plain["seconds"][-1])


def table(data: str, found: Sequence[Found], sizes: Sizes) -> list[str]:
    """One line a method, and what stands beside them."""
    lines = [
        f"**{named(data)}**, {sizes.steps} steps",
        "",
        "| | alone | accelerated | gain, equal steps | gain, equal seconds | with the targets' making | seconds alone "
        "| accelerated | switch |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for method in present(found):
        gain = gains(found, method)
        took = [np.mean([one[arm]["seconds"][-1] for one in found]) for arm in (method, f"{method}+")]
        switches = [one[f"{method}+"]["switched_at"] for one in found]
        share = "never" if None in switches else f"{np.mean(switches) / sizes.steps:.0%}"
        lines.append(
            f"| {NAMES[method]} | {interval(ends(found, method), 1)} | {interval(ends(found, f'{method}+'), 1)} | "
            + " | ".join(f"{gain[name].centre:+.1f} ± {gain[name].half_width:.1f}" for name in gain)
            + f" | {took[0]:.0f} | {took[1]:.0f} | {share} |"
        )
    for name, arm in (("stage 1 only", "stage 1"), ("stage 1 only, targets shuffled", "shuffled")):
        took = np.mean([one[arm]["seconds"][-1] for one in found])
        lines.append(f"| {name} | | {interval(ends(found, arm), 1)} | | | | | {took:.0f} | |")
    lines.append(f"| untrained student | {interval([one['untrained'] for one in found], 1)} | | | | | | | |")
    cost = np.mean([one["stage 1"]["targets"] for one in found])
    return [*lines, "", f"Making the targets took {cost:.0f} s a seed.", ""]


def beside(prior: str, accuracy: float) -> str:
    """What the prior itself is worth, which a student is measured against in the end."""
    return f"A probe on the prior itself, {prior}, with the images of the first seed: {accuracy:.1f} %."


def verdict(data: str, found: Sequence[Found], sizes: Sizes) -> list[str]:
    """What the numbers say, method by method."""
    words: dict[str, list[str]] = {"wins": [], "loses": [], "is not told apart": []}
    lines = []
    for method in present(found):
        gain = gains(found, method)
        words[judged(gain["steps"])].append(NAMES[method])
        if method in CLAIMED:
            whole = all(gain[name].centre - gain[name].half_width > 0 for name in gain)
            lines.append(
                f"{named(data)}, {NAMES[method]}: {written(gain['steps'], 1)} points at equal steps, "
                f"{written(gain['seconds'], 1)} at equal seconds, {written(gain['with targets'], 1)} with the targets "
                f"counted: the claim {'holds' if whole else 'does not hold on all three'}."
            )
            alone, counted = ([cost(one, method, share) for one in found] for share in (0.0, 1.0))
            lines.append(
                f"{named(data)}, {NAMES[method]}: the accelerated arm is where the method alone ends after "
                f"{mean_or_never(alone, '.0%')} of its seconds; with the making of the targets counted, after "
                f"{mean_or_never(counted, '.0%')}."
            )
    told = "; ".join(f"{word}: {', '.join(names)}" for word, names in words.items() if names)
    lines.append(f"{named(data)}, all methods at equal steps, the accelerated arm {told}.")
    for method in present(found):
        if method in CLAIMED:
            after = difference(ends(found, "stage 1"), ends(found, f"{method}+"))
            lines.append(
                f"{named(data)}, {NAMES[method]}: staying in stage 1 instead of switching is worth {written(after, 1)} "
                "points."
            )
    control = difference(ends(found, "stage 1"), ends(found, "shuffled"))
    lines.append(
        f"{named(data)}, stage 1 only: true targets are worth {written(control, 1)} points over shuffled ones."
    )
    return lines


def judged(gain: Interval) -> str:
    """By its interval."""
    if gain.centre - gain.half_width > 0:
        return "wins"
    return "loses" if gain.centre + gain.half_width < 0 else "is not told apart"


def pairs(found: Mapping[str, Sequence[Found]]) -> Figure:
    """Each method alone and accelerated, one line each, with their intervals."""
    figure, axes = panels(len(found), 3.2)
    for panel, (data, seeds) in zip(axes, found.items(), strict=True):
        shown = present(seeds)[::-1]
        for height, method in enumerate(shown):
            for arm, colour in ((method, COLOURS[1]), (f"{method}+", COLOURS[0])):
                at = mean(ends(seeds, arm))
                panel.errorbar(
                    at.centre, height, xerr=at.half_width, fmt="o", color=colour, markersize=5, elinewidth=0.8
                )
        for arm, colour, line in (("stage 1", FULL, "-"), ("shuffled", RANDOM, ":")):
            panel.axvline(ends(seeds, arm).mean(), color=colour, linestyle=line, linewidth=1)
        panel.set_yticks(range(len(shown)), [NAMES[method] for method in shown])
        panel.set_title(named(data), fontsize=9, loc="left", color=SOFT)
        panel.set_xlabel("accuracy of a linear probe, %")
    looks = {"alone": (COLOURS[1], "o", ""), "accelerated": (COLOURS[0], "o", "")}
    looks |= {"stage 1 only": (FULL, "", "-"), "targets shuffled": (RANDOM, "", ":")}
    handles = [Line2D([], [], color=c, marker=m, linestyle=line, label=name) for name, (c, m, line) in looks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=7, frameon=False)
    return figure


def drawing(found: Mapping[str, Sequence[Found]]) -> Figure:
    """Probe accuracy against seconds for the two claimed methods."""
    figure, axes = panels(len(found), 3.4)
    looks = {
        "byol": ("BYOL", COLOURS[0], "--"),
        "byol+": ("BYOL, accelerated", COLOURS[0], "-"),
        "simsiam": ("SimSiam", COLOURS[1], "--"),
        "simsiam+": ("SimSiam, accelerated", COLOURS[1], "-"),
        "stage 1": ("stage 1 only", FULL, "-"),
        "shuffled": ("targets shuffled", RANDOM, ":"),
    }
    for panel, (data, seeds) in zip(axes, found.items(), strict=True):
        start = np.mean([one["untrained"] for one in seeds])
        for arm, (name, colour, line) in looks.items():
            if not all(arm in one for one in seeds):
                continue
            x = np.mean([one[arm]["seconds"] for one in seeds], axis=0)
            y = np.mean([one[arm]["accuracies"] for one in seeds], axis=0)
            panel.plot([0, *x], [start, *y], line, color=colour, marker="o", markersize=3, label=name)
        panel.set_title(named(data), fontsize=9, loc="left", color=SOFT)
        panel.set_xlabel("seconds of training, one thread")
    axes[0].set_ylabel("accuracy of a linear probe, %")
    axes[-1].legend(frameon=False, fontsize=7, loc="lower right", handlelength=3.2)
    return figure
