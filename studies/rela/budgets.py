"""Table 1 and Fig. 4c: BYOL on CIFAR-10 at 10, 20, 50 and 100 % of a budget, alone and from the targets of four priors.

A budget is a number of steps that the switch knows of beforehand. As in the paper's table, the accelerated arms take at
most half of it; the one whose whole budget the part `claim` trains stands here with it. The two ResNets were trained on
CIFAR-10 and have seen the labels of these very images: those arms are distillation, not self-supervision, and stand
here because the paper has such a prior. EfficientNet-Lite0 comes from ImageNet; the student's own initial weights come
from nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from winnow.artefacts.intervals import difference

from ..parts import COLOURS, FULL, INK, SOFT, Asked, Part, interval, panels
from .labels_tables import CALLED as CALLED_DATA
from .trainings import CALLED, OWN, QUICK, Arm, Sizes, curve, untrained

DATA, METHOD = "cifar10", "byol"
BUDGETS = (0.1, 0.2, 0.5, 1.0)
FROM = (OWN, "efficientnet", "resnet20", "resnet56")
SAW_LABELS = ("resnet20", "resnet56")
Found = Mapping[str, Mapping[float, Any]]


def run(asked: Asked) -> Part:
    """Train each budget with each prior."""
    sizes = QUICK if asked.quick else Sizes()
    data = asked.data[0] if asked.quick else DATA
    known = (OWN,) if asked.quick else FROM
    shares = BUDGETS[2:] if asked.quick else BUDGETS
    found = [one(asked, data, sizes, repeat, known, shares) for repeat in range(asked.seeds)]
    settings = (
        f"{CALLED_DATA.get(data, data)}: {sizes.images:,} images a seed, a student of four convolutions and "
        f"{8 * sizes.width} features, BYOL, "
        f"100 % = {sizes.steps} steps of batches of {sizes.batch} (the paper's: 39,000 of 128); linear probe, "
        f"{sizes.test:,} test images; {asked.seeds} seeds, all arms of one paired. Accuracies in %, seconds of "
        "one thread."
    )
    return Part("budgets", settings, table(found, known, shares), verdict(found, known, shares), drawing(found, sizes))


def one(
    asked: Asked, data: str, sizes: Sizes, repeat: int, known: Sequence[str], shares: Sequence[float]
) -> dict[str, Any]:
    """End accuracies of one seed, by arm and budget."""
    shelf = asked.shelf.beside("trainings")
    out: dict[str, Any] = {"untrained": untrained(shelf, data, sizes, repeat)}
    for share in shares:
        steps = round(share * sizes.steps)
        plan = sizes if share == 1 else sizes.planned(steps)
        arms = {"alone": Arm(METHOD)}
        elsewhere = known[min(1, len(known) - 1)]
        for prior in known if share < 1 else [elsewhere]:
            arms |= {prior: Arm(METHOD, prior), f"{prior}, stage 1": Arm(None, prior)}
        arms["shuffled"] = Arm(None, elsewhere, shuffled=True)
        for name, arm in arms.items():
            made = curve(shelf, data, plan, repeat, arm)
            out.setdefault(name, {})[share] = {
                "accuracy": made["accuracies"][-1],
                "seconds": made["seconds"][-1],
                "targets": made["targets"],
            }
    return out


def cell(found: Sequence[Found], arm: str, share: float, what: str = "accuracy") -> list[float]:
    """Accuracies, or seconds, of the seeds."""
    return [one[arm][share][what] for one in found]


def table(found: Sequence[Found], known: Sequence[str], shares: Sequence[float]) -> list[str]:
    """Accuracy by prior and budget."""
    lines = ["| | " + " | ".join(f"{share:.0%}" for share in shares) + " |", "|---" * (len(shares) + 1) + "|"]

    def row(name: str, arm: str) -> str:
        cells = [interval(cell(found, arm, share), 1) if share in found[0][arm] else "" for share in shares]
        return f"| {name} | {' | '.join(cells)} |"

    lines.append(row("BYOL alone", "alone"))
    for prior in known:
        note = ", which saw these labels" if prior in SAW_LABELS else ""
        lines.append(row(f"from {CALLED[prior]}{note}", prior))
        lines.append(row("the same, stage 1 only", f"{prior}, stage 1"))
    lines.append(row("stage 1 only, targets shuffled", "shuffled"))
    return [
        *lines,
        f"| untrained student | {interval([one['untrained'] for one in found], 1)} |" + " |" * (len(shares) - 1),
    ]


def verdict(found: Sequence[Found], known: Sequence[str], shares: Sequence[float]) -> list[str]:
    """By interval, prior by prior; and at which budget each reaches what BYOL alone has in the end."""
    lines = ["Claim: with targets from any prior, even an untrained one, BYOL needs a fraction of its budget."]
    full = cell(found, "alone", shares[-1])
    for prior in known:
        better = []
        known_at = [share for share in shares if share in found[0][prior]]
        for share in known_at:
            gain = difference(np.array(cell(found, prior, share)), np.array(cell(found, "alone", share)))
            if gain.centre - gain.half_width > 0:
                better.append(f"{share:.0%}")
        level = [share for share in known_at if np.mean(cell(found, prior, share)) >= np.mean(full)]
        lines.append(
            f"From {CALLED[prior]}: better than BYOL alone, outside the interval, at "
            f"{', '.join(better) if better else 'no budget'}; its mean reaches that of BYOL's whole budget at "
            f"{f'{level[0]:.0%}, {paid(found, prior, level[0], shares[-1])}' if level else 'no budget'}."
        )
    return lines


def paid(found: Sequence[Found], prior: str, share: float, whole: float) -> str:
    """What reaching that took, in words."""
    took, targets = (np.mean(cell(found, prior, share, what)) for what in ("seconds", "targets"))
    return (
        f"in {took:.0f} s of training after {targets:.0f} s for the targets, against "
        f"{np.mean(cell(found, 'alone', whole, 'seconds')):.0f} s"
    )


def drawing(found: Sequence[Found], sizes: Sizes) -> Figure:
    """Accuracy against steps."""
    figure, (axes,) = panels(1, 3.2)
    start = np.mean([one["untrained"] for one in found])
    axes.axhline(start, color=SOFT, linewidth=0.8, linestyle=":", label="untrained student")
    arms = [arm for arm in found[0] if arm not in ("untrained", "shuffled") and not arm.endswith("stage 1")]
    for number, arm in enumerate(arms):
        shares = list(found[0][arm])
        y = [np.mean(cell(found, arm, share)) for share in shares]
        colour = FULL if arm == "alone" else COLOURS[(number - 1) % len(COLOURS)]
        name = "BYOL alone" if arm == "alone" else f"from {CALLED[arm]}"
        axes.plot([s * sizes.steps for s in shares], y, color=colour, marker="o", markersize=4, label=name)
    axes.set_xlim(0, sizes.steps * 1.05)
    axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
    axes.set_xlabel("planned steps", color=INK)
    axes.set_ylabel("accuracy of a linear probe, %")
    return figure
