"""Table 2: do one prior's targets serve students of other architectures?

The paper makes targets once and trains ResNet-18, MobileNet-V2, EfficientNet-B0 and a small ViT on them with BYOL at
its 10 % budget. Here the same targets, those of EfficientNet-Lite0 from ImageNet, serve the student of four
convolutions, LeNet-5 (two convolutions, no batch norm) and a network of two fully connected layers, on CIFAR-10, with
BYOL at the 10 % budget of the part `budgets`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from winnow.artefacts.intervals import Interval, difference

from ..comparing import claimed, signed
from ..parts import Asked, Part, interval
from .labels_tables import CALLED as CALLED_DATA
from .trainings import CALLED, CONVOLUTIONS, OWN, QUICK, Arm, Sizes, curve, untrained

DATA, METHOD, PRIOR = "cifar10", "byol", "efficientnet"
STEPS = 80  # the 10 % budget of the part `budgets`
STUDENTS = {CONVOLUTIONS: "four convolutions", "lenet5": "LeNet-5", "mlp": "fully connected"}
Found = Mapping[str, Mapping[str, float]]


def run(asked: Asked) -> Part:
    """Train every student alone, from the targets, and from the targets only."""
    sizes = QUICK if asked.quick else Sizes().planned(STEPS)
    data, prior = (asked.data[0], OWN) if asked.quick else (DATA, PRIOR)
    found = [
        {name: one(asked, data, replace(sizes, student=name), repeat, prior) for name in STUDENTS}
        for repeat in range(asked.seeds)
    ]
    settings = (
        f"{CALLED_DATA.get(data, data)}: {sizes.images:,} images a seed, BYOL, {sizes.steps} steps of batches of "
        f"{sizes.batch}; targets from {CALLED[prior]}; linear probe, {sizes.test:,} test images; {asked.seeds} seeds, "
        "all arms of one paired. Accuracies in %."
    )
    return Part("architectures", settings, table(found), verdict(found, sizes.steps))


def one(asked: Asked, data: str, sizes: Sizes, repeat: int, prior: str) -> dict[str, float]:
    """End accuracies of one seed and student."""
    shelf = asked.shelf.beside("trainings")
    arms = {"alone": Arm(METHOD), "accelerated": Arm(METHOD, prior), "stage 1": Arm(None, prior)}
    arms["shuffled"] = Arm(None, prior, shuffled=True)
    made: dict[str, Any] = {"untrained": untrained(shelf, data, sizes, repeat)}
    return made | {name: curve(shelf, data, sizes, repeat, arm)["accuracies"][-1] for name, arm in arms.items()}


def values(found: Sequence[Found], student: str, arm: str) -> list[float]:
    """One accuracy per seed."""
    return [one[student][arm] for one in found]


def gap(found: Sequence[Found], student: str, arm: str, other: str) -> Interval:
    """The paired difference of two arms, in points."""
    return difference(np.array(values(found, student, arm)), np.array(values(found, student, other)))


def table(found: Sequence[Found]) -> list[str]:
    """One row per student."""
    arms = ("untrained", "alone", "accelerated", "stage 1", "shuffled")
    heads = ("untrained", "BYOL alone", "accelerated", "stage 1 only", "stage 1 only, targets shuffled")
    lines = ["| student | " + " | ".join(heads) + " | gain |", "|---" * (len(heads) + 2) + "|"]
    for student, name in STUDENTS.items():
        cells = [interval(values(found, student, arm), 1) for arm in arms]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {signed(gap(found, student, 'accelerated', 'alone'))} |")
    return lines


def verdict(found: Sequence[Found], steps: int) -> list[str]:
    """Student by student."""
    lines = [f"Claim: the targets of one prior help students of every architecture; here in {steps} steps of BYOL."]
    for student, name in STUDENTS.items():
        gains = [gap(found, student, arm, "alone") for arm in ("accelerated", "stage 1")]
        content = gap(found, student, "stage 1", "shuffled")
        lines.append(
            f"{name}: accelerated against BYOL alone {signed(gains[0])} points, {claimed(gains[0])}; stage 1 only "
            f"{signed(gains[1])}, {claimed(gains[1])}; true targets against shuffled ones {signed(content)}."
        )
    return lines
