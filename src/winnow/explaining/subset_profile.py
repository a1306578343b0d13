"""What is inside a subset: classes, difficulty, issues, and what of it deserves a look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals, Source, Subset
from ..artefacts.audit import BETTER, WORSE, ClassShare, InsideIssue, Measure, counted
from ..artefacts.quotas import class_balance
from ..artefacts.source import positions_of
from ..checking.duplicates import duplicates
from ..core import registry
from ..scores.score import score
from .doubted_labels import DoubtedLabels

__all__ = ["class_shares", "inside_issues", "kept_by_difficulty", "worth_a_look"]

SHOWN = 24  # issues that the page shows
TILTED = 0.25  # a class whose share of the weight is off by this much of itself is mentioned


def class_shares(
    data: Source, kept: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[tuple[ClassShare, ...], tuple[float, float] | None]:
    """Each class in the data and in the subset, and the class balance of subset and data.

    Parameters
    ----------
    data
        The source.
    kept, weights
        Positions of the subset and their weights.
    """
    if data.task != "classification" or data.labels is None:
        return (), None
    labels, many = np.asarray(data.labels), data.outputs
    names = data.classes or tuple(map(str, range(many)))
    have, held = np.bincount(labels, minlength=many), np.bincount(labels[kept], minlength=many)
    mass = np.bincount(labels[kept], weights, minlength=many) / weights.sum()
    shares = tuple(
        ClassShare(str(names[k]), int(have[k]), int(held[k]), float(have[k] / len(data)), float(mass[k]))
        for k in range(many)
    )
    return shares, (class_balance(labels[kept], many), class_balance(labels, many))


def inside_issues(
    data: Source, kept: NDArray[np.int64], seen: Signals | None, seed: int
) -> tuple[tuple[InsideIssue, ...], dict[str, int]]:
    """The most likely label issues and duplicates among the kept examples, and how many of each kind there are."""
    part = data.at(np.sort(kept))
    copies = [one for one in duplicates(part, seed=seed).findings(part) if one.flagged]
    found = {"duplicate": [InsideIssue("duplicate", c.id, c.label, c.probability, c.evidence) for c in copies]}
    doubts = None if seen is None or data.task != "classification" else DoubtedLabels.of(seen, part.ids)
    if doubts is not None:
        names = [str(data.classes[k]) for k in np.asarray(part.labels)]
        found["label"] = [
            InsideIssue(
                "label",
                part.ids[i].item(),
                names[i],
                float(doubts.probability[i]),
                f"labelled {names[i]}, looks like {data.classes[doubts.likely[i]]}",
            )
            for i in doubts.wrong.tolist()
        ]
    shown: list[InsideIssue] = []
    for kind in sorted(found, reverse=True):
        shown += sorted(found[kind], key=lambda one: -one.probability)[: SHOWN // 2]
    return tuple(shown), {kind: len(issues) for kind, issues in found.items()}


def kept_by_difficulty(seen: Signals | None, chosen: Subset) -> tuple[float, ...]:
    """The share kept of each tenth by difficulty; nothing if the difficulty is not known."""
    if seen is None or not all(name in seen for name in registry.get("score", "difficulty").needs):
        return ()
    found = score("difficulty", seen)
    held = np.zeros(len(found.ids), dtype=bool)
    held[positions_of(found.ids, chosen.ids, "signals")] = True
    order = np.lexsort((found.ids, found.values))
    return tuple(float(part.mean()) for part in np.array_split(held[order], 10))


def worth_a_look(
    measures: Sequence[Measure],
    shares: Sequence[ClassShare],
    deciles: Sequence[float],
    found: Mapping[str, int],
    size: int,
) -> list[str]:
    """What deserves a look, one sentence each."""
    notes = []
    for standing in (WORSE, BETTER):
        names = [one.name for one in measures if one.standing == standing]
        if names:
            notes.append(f"Clearly {standing} subsets of this size in: {', '.join(names)}.")
    empty = [one.name for one in shares if one.examples and not one.kept]
    if empty:
        notes.append(f"No example of {', '.join(empty)} is kept.")
    tilted = [one.name for one in shares if one.kept and abs(one.weight - one.share) > TILTED * one.share]
    if tilted:
        notes.append(f"The share of {', '.join(tilted)} differs from the data by more than {TILTED:.0%} of itself.")
    if deciles and max(deciles) > 2 * (min(deciles) + 0.01):
        hard = np.mean(deciles[5:]) > np.mean(deciles[:5])
        notes.append(f"It prefers {'hard' if hard else 'easy'} examples: see the difficulty profile.")
    for kind, count in found.items():
        if count:
            notes.append(f"It holds {counted(kind, count)}: {count / size:.1%} of it.")
    return notes
