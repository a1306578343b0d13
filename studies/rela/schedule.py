"""Fig. 4b: how long should stage 1 last? Fixed shares of training against the adaptive switch, for two priors.

The paper says that a strong prior wants a long stage 1 and a weak one a short one, and that the adaptive switch finds
what is right for each. Here BYOL on CIFAR-10 with EfficientNet-Lite0 (from ImageNet) and with the student's own initial
weights, at the 20 % budget. Share 0 is BYOL alone, share 1 stage 1 alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from winnow.artefacts.intervals import difference

from ..parts import COLOURS, Asked, Part, interval, panels
from .labels_tables import CALLED as CALLED_DATA
from .trainings import CALLED, OWN, QUICK, Arm, Sizes, curve

DATA, METHOD = "cifar10", "byol"
STEPS = 160  # the 20 % budget of the part `budgets`
SHARES = (0.0, 0.25, 0.75, 1.0)
FROM = ("efficientnet", OWN)
Found = Mapping[str, Mapping[str, Any]]


def run(asked: Asked) -> Part:
    """Train each share with each prior."""
    sizes = QUICK if asked.quick else Sizes().planned(STEPS)
    data = asked.data[0] if asked.quick else DATA
    known = (OWN,) if asked.quick else FROM
    found = [{prior: one(asked, data, sizes, repeat, prior) for prior in known} for repeat in range(asked.seeds)]
    settings = (
        f"{CALLED_DATA.get(data, data)}: {sizes.images:,} images a seed, a student of four convolutions and "
        f"{8 * sizes.width} features, BYOL, "
        f"{sizes.steps} steps in all; linear probe, {sizes.test:,} test images; {asked.seeds} seeds, all arms of one "
        "paired. Accuracies in %."
    )
    return Part("schedule", settings, table(found, known), verdict(found, known), drawing(found, known))


def one(asked: Asked, data: str, sizes: Sizes, repeat: int, prior: str) -> dict[str, Any]:
    """End accuracies of one seed: by share, for the adaptive switch with its own share, and for shuffled targets."""
    shelf = asked.shelf.beside("trainings")
    arms = {"0": Arm(METHOD), "1": Arm(None, prior), "shuffled": Arm(None, prior, shuffled=True)}
    for share in SHARES[1:-1]:
        arms[f"{share:g}"] = Arm(METHOD, prior, switch=round(share * sizes.steps))
    out: dict[str, Any] = {n: curve(shelf, data, sizes, repeat, arm)["accuracies"][-1] for n, arm in arms.items()}
    made = curve(shelf, data, sizes, repeat, Arm(METHOD, prior))
    out["adaptive"] = made["accuracies"][-1]
    out["share"] = 1.0 if made["switched_at"] is None else made["switched_at"] / sizes.steps
    return out


def values(found: Sequence[Found], prior: str, share: str) -> list[float]:
    """Of the seeds."""
    return [one[prior][share] for one in found]


def table(found: Sequence[Found], known: Sequence[str]) -> list[str]:
    """Accuracy by prior and share."""
    columns = ["adaptive", *(f"{share:g}" for share in SHARES), "shuffled"]
    lines = [
        "| stage 1 lasts | adaptive | 0%: BYOL alone | "
        + " | ".join(f"{share:.0%}" for share in SHARES[1:-1])
        + " | 100%: stage 1 only | 100%, targets shuffled |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for prior in known:
        cells = [interval(values(found, prior, name), 1) for name in columns]
        cells[0] += f" (switch at {np.mean(values(found, prior, 'share')):.0%})"
        lines.append(f"| {CALLED[prior]} | {' | '.join(cells)} |")
    return lines


def verdict(found: Sequence[Found], known: Sequence[str]) -> list[str]:
    """How far the adaptive switch is from the best fixed share, which is named after the fact."""
    lines = ["Claim: the adaptive switch suits strong and weak priors alike; no fixed share does."]
    held = []
    for prior in known:
        means = {share: np.mean(values(found, prior, f"{share:g}")) for share in SHARES}
        best = max(means, key=means.__getitem__)
        gap = difference(np.array(values(found, prior, f"{best:g}")), np.array(values(found, prior, "adaptive")))
        word = "not told apart from it"
        if gap.excludes_zero:
            word = "worse by its interval" if gap.centre > 0 else "better by its interval"
        held.append(not gap.excludes_zero or gap.centre < 0)
        lines.append(
            f"{CALLED[prior]}: the best fixed share is {best:.0%}; the adaptive switch is {word} "
            f"({gap.centre:+.1f} ± {gap.half_width:.1f} points for the fixed one, which was picked after the fact)."
        )
    one_for_all = [share for share in SHARES if all(as_good(found, prior, share) for prior in known)]
    lines.append(
        f"The adaptive switch suits every prior here: {'not contradicted' if all(held) else 'does not hold'}. "
        + (
            f"Fixed shares that are nowhere worse than it by their interval: "
            f"{', '.join(f'{share:.0%}' for share in one_for_all)}; so that no fixed share does: does not hold."
            if one_for_all
            else "Every fixed share is worse than it by its interval for some prior: that no fixed share does holds."
        )
    )
    return lines


def as_good(found: Sequence[Found], prior: str, share: float) -> bool:
    """Whether a fixed share is not worse than the adaptive switch by its interval."""
    gap = difference(np.array(values(found, prior, "adaptive")), np.array(values(found, prior, f"{share:g}")))
    return not (gap.excludes_zero and gap.centre > 0)


def drawing(found: Sequence[Found], known: Sequence[str]) -> Figure:
    """Accuracy against the share of stage 1; the adaptive switch at its own share."""
    figure, (axes,) = panels(1, 3.0)
    for prior, colour in zip(known, COLOURS, strict=False):
        means = [np.mean(values(found, prior, f"{share:g}")) for share in SHARES]
        axes.plot(SHARES, means, color=colour, marker="o", markersize=4, label=f"from {CALLED[prior]}")
        axes.plot(np.mean(values(found, prior, "share")), np.mean(values(found, prior, "adaptive")), "D", color=colour)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    axes.set_xlabel("share of training that is stage 1 (diamonds: the adaptive switch)")
    axes.set_ylabel("accuracy of a linear probe, %")
    return figure
