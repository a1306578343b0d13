"""Planted signals: easy and hard examples whose training is simulated, so that every score has a known direction.

Each example has a hidden hardness h. Easy examples (h below 0.35) are learned within a few epochs, end with a large
margin, lie near the centre of their class, and are classified correctly even by models that were not trained on them.
Hard examples (h above 0.65) are learned late, flip until the end, lie far from the centre, and are classified correctly
mostly by models trained on them. The lpNTK features of easy examples lie close to that of their class, those of hard
examples far from it. Seeds share only the hardness, so halves of the seeds must agree. Signals of other packages make
up their own arrays (`make_up`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..artefacts.labelled_logits import DYNAMICS, LabelledLogits, first_averaged
from ..artefacts.task_labels import Task
from ..core import registry

__all__ = ["Planted", "as_task", "planted", "shuffled"]


@dataclass(frozen=True)
class Planted:
    """Signals, and which of their examples are hard."""

    signals: Signals
    hard: NDArray[np.bool_]


def _logits(
    rng: np.random.Generator, labels: NDArray[np.int64], hardness: NDArray[np.float64], classes: int, epochs: int
) -> NDArray[np.float64]:
    """Simulate the logits of one seed: epochs x n x classes."""
    n = labels.size
    rival = (labels + 1 + rng.integers(classes - 1, size=n)) % classes
    learned_at = 1 + 25 * hardness**2
    out = rng.normal(-2.0, 0.3, size=(epochs, n, classes))
    for row in range(epochs):
        progress = 1 / (1 + np.exp(-(row + 1 - learned_at) / 1.5))
        noise = rng.normal(size=n) * (0.2 + 2.0 * hardness**2)
        out[row, np.arange(n), rival] = 0.0
        out[row, np.arange(n), labels] = -hardness + (7 - 5.5 * hardness) * progress + noise
    return out


def _losses(logits: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cross-entropy of each example: epochs x n."""
    top = logits.max(axis=-1)
    total = np.log(np.exp(logits - top[..., None]).sum(axis=-1)) + top
    return np.asarray(total - np.take_along_axis(logits, labels[None, :, None], axis=-1)[..., 0])


def _follow_from(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the dynamics and predictions that follow from the logits, as a Recorder would have kept them."""
    epochs = logits.shape[1]
    labelled = [[LabelledLogits(part, labels) for part in seed] for seed in logits]
    late = range(first_averaged(epochs) - 1, epochs)
    found = {name: np.array([[part.array(name) for part in seed] for seed in labelled]) for name in DYNAMICS[1:]}
    found["predictions"] = np.array([np.mean([seed[row].predictions for row in late], axis=0) for seed in labelled])
    return {name: values.astype(registry.layout_of(name).dtype) for name, values in found.items()}


def planted(
    n: int = 150,
    classes: int = 3,
    seeds: int = 4,
    epochs: int = 30,
    seed: int = 0,
    models: int = 60,
    counts: tuple[int, ...] | None = None,
) -> Planted:
    """Make classification signals with every registered array; the ids are unsorted text."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes if counts is None else np.repeat(np.arange(len(counts)), counts)
    n, classes = labels.size, int(labels.max()) + 1
    hard = np.arange(n) // classes % 2 == 1
    hardness = np.where(hard, rng.uniform(0.65, 1.0, n), rng.uniform(0.0, 0.35, n))
    logits = np.stack([_logits(rng, labels, hardness, classes, epochs) for _ in range(seeds)]).astype(np.float32)
    losses = np.stack([_losses(part.astype(np.float64), labels) for part in logits]).astype(np.float32)
    centres = 3 * np.eye(max(classes, 8))[:classes]
    points = centres[labels] + rng.normal(size=(n, centres.shape[1])) * (0.05 + 0.8 * hardness**2)[:, None]
    gradients = rng.normal(size=(seeds, n, 6)) * (0.2 + hardness)[None, :, None]
    member = rng.random((models, n)) < 0.7
    apart = np.random.default_rng([seed, 1]).normal(size=(seeds, n, 12)) * (0.02 + 0.6 * hardness**2)[None, :, None]
    chance = np.where(member, 0.99, 1 - 0.9 * hardness)
    ids = np.array([f"x{number:05d}" for number in rng.permutation(n)])
    arrays: dict[str, NDArray[Any]] = {
        "logits": logits,
        "losses": losses,
        "embeddings": points.astype(np.float32),
        "gradients": gradients.astype(np.float32),
        "gradient_norms": np.sqrt(np.square(gradients).sum(axis=2)).astype(np.float32),
        "lpntk": (np.eye(max(classes, 12))[labels, :12] + apart).astype(np.float32),
        "ensemble_member": member.astype(np.uint8),
        "ensemble_correct": (rng.random((models, n)) < chance).astype(np.uint8),
    }
    arrays |= _follow_from(logits, labels)
    sizes = {"seeds": seeds, "models": models, "epochs": epochs, "examples": n, "classes": classes}
    sizes |= {"embedding": points.shape[1], "projection": 12}
    for entry in registry.listing("signal"):
        if not entry.arrays.keys() <= arrays.keys() and "classification" in entry.tasks:
            arrays = {**entry.made_up(sizes, labels, hardness, np.random.default_rng([seed, 2])), **arrays}
    return Planted(
        Signals(
            ids=ids,
            task="classification",
            labels=labels,
            classes=tuple(f"c{k}" for k in range(classes)),
            epochs=tuple(range(1, epochs + 1)),
            planned_epochs=epochs,
            provenance={"step": "planted", "seed": seed},
            arrays=arrays,
        ),
        hard,
    )


def as_task(made: Signals, task: Task) -> Signals:
    """Return the same examples as signals of another task, with the arrays defined for that task."""
    if task == "classification":
        return made
    if task == "multilabel":
        return _with_label_sets(made)
    kept = {name for entry in registry.listing("signal") if task in entry.tasks for name in entry.arrays}
    classified = {"logits", "predictions", *DYNAMICS[1:]}  # of these, logits and predictions need no labels
    kept = kept | {"logits", "predictions"} if task == "unlabelled" else kept - classified
    labels = None if task == "unlabelled" else made.arrays["embeddings"][:, 0].astype(np.float64)
    return replace(
        made,
        task=task,
        labels=labels,
        classes=(),
        arrays={name: values for name, values in made.arrays.items() if name in kept},
    )


def _with_label_sets(made: Signals) -> Signals:
    """Return the same examples with several labels each: their class and, for every other, the next one.

    All labels of an example are as far on their right side as its class is ahead of the others.
    """
    count = len(made.classes)
    own = np.eye(count, dtype=np.uint8)[np.asarray(made.labels)]
    rows = np.where((np.arange(len(made)) % 2 == 0)[:, None], own | np.roll(own, 1, axis=1), own)
    logits = made.arrays["logits"].astype(np.float64)
    ahead = np.array([[LabelledLogits(part, made.labels).margins for part in seed] for seed in logits])
    sides = np.where(rows != 0, 1.0, -1.0) * np.linspace(0.7, 1.3, count)
    signed = (ahead[..., None] * sides).astype(np.float32)
    kept = {name for entry in registry.listing("signal") if "multilabel" in entry.tasks for name in entry.arrays}
    arrays = {name: values for name, values in made.arrays.items() if name in kept and name not in DYNAMICS}
    found = replace(made, task="multilabel", labels=rows, arrays={**arrays, "logits": signed})
    held = {name: found.array(name) for name in DYNAMICS}
    held["predictions"] = replace(found, arrays={"logits": signed}).array("predictions")
    held |= {"oof": held["predictions"]} if "oof" in arrays else {}
    return replace(found, arrays={**found.arrays, **held})


def shuffled(signals: Signals, seed: int = 1) -> Signals:
    """Return the same signals in another order."""
    return signals.at(np.random.default_rng(seed).permutation(len(signals)))
