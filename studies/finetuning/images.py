"""A subset chosen for, and evaluated with, a ResNet-20 that starts from weights of CIFAR-10, on Fashion-MNIST.

Two students see the same images: one that starts from the weights, and a linear head on the frozen network (a probe).
Each gets a subset chosen for it, and all arms of the study of the default (`winning`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import winnow as wn

from ..parts import Asked, Part
from ..winning.cells import Cell, cell_of, observed_and_pruned
from ..winning.data import Setting
from ..winning.publishing import table

NETWORK, WEIGHTS = "resnet20", "weights/cifar10-resnet20.safetensors"
KEEP = 0.3


def run(asked: Asked) -> Part:
    """Both students at one fraction."""
    images, exam, epochs = (200, 100, 1) if asked.quick else (3_000, 2_000, 3)
    source = wn.open("fashion-mnist", limit=images)
    test = wn.open("fashion-mnist", split="test", limit=exam)
    settings = [
        Setting("fine-tuned", students(source)["fine-tuned"], epochs, batch=64),
        Setting("probe", students(source)["probe"], 10 * epochs, batch=64),
    ]
    cells = [measured(setting, source, test, KEEP, asked) for setting in settings]
    return Part(
        "images",
        f"Fashion-MNIST, {images:,} training and {exam:,} test images; ResNet-20 with weights of CIFAR-10, "
        f"fine-tuned for {epochs} epochs, or its probe for {10 * epochs}; {asked.seeds} seeds.",
        table(cells),
        found(cells),
    )


def students(source: wn.Source) -> dict[str, Any]:
    """The two students that use the weights."""
    weights = Path(os.environ.get("WINNOW_DATA", ".")) / WEIGHTS
    tuned = wn.models.FineTune(NETWORK, weights)
    network = wn.models.build(tuned, classes=source.outputs, shape=source.shape, kind=source.kind)
    return {"fine-tuned": tuned, "probe": wn.models.Frozen(network, layer="penultimate")}


def measured(setting: Setting, source: wn.Source, test: wn.Source, keep: float, asked: Asked) -> Cell:
    """One student at one fraction, with one worker."""
    one = wn.Local(workers=1)
    signals, subset = observed_and_pruned(setting, source, keep, asked.out, one)
    place = asked.out / setting.name / f"{keep:g}"
    return cell_of(setting, source, test, signals, subset, keep, asked.seeds, place, asked.out, one)


def found(cells: Sequence[Cell]) -> list[str]:
    """What the cells say, one sentence per student."""
    lines = ["Is a subset that was chosen for a student better than what is free?"]
    for cell in cells:
        gap, added = cell.against_random[cell.auto], cell.auto_against_soft_random
        free = cell.auto_against_soft_everything
        fell = "" if cell.holds else " (the trial turned the candidate down, so auto is random + soft)"
        lines.append(
            f"{cell.data}: auto {said(gap)} points against random{fell}, {said(added)} against random with the same "
            f"soft targets, {said(free)} against everything for the same steps with them."
        )
    return lines


def said(gap: Any) -> str:
    """A difference in points with its interval."""
    return f"{100 * gap.centre:+.2f} ({100 * gap.low:+.2f} to {100 * gap.high:+.2f})"
