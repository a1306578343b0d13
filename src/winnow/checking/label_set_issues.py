"""Label issues with several labels per example: which are missing, which should not be there.

Each label is judged by itself (`scores.label_set_evidence`). An example has one row, with the probability that any of
its labels is wrong, and what should be changed: "add dog, remove cat". Labels that too few examples have, or have not,
are not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals, Source
from ..artefacts.finding import FEWEST_JUDGED
from ..artefacts.label_sets import label_words
from ..scores.label_set_evidence import LabelSetEvidence, label_set_evidence
from .label_issues import FLAGGED, LabelIssues, flagged_from, rate_of, verdicts_of
from .label_words import few_words
from .marked_labels import marked_labels

__all__ = ["label_set_issues"]


def label_set_issues(source: Source, signals: Signals, marks: Mapping[str, str] | None = None) -> LabelIssues:
    """Judge every label of every example.

    Parameters
    ----------
    source
        The examples, with several labels each.
    signals
        What was observed: `oof`, or the predictions of ordinary trainings.
    marks
        A person's verdicts by id as text: `confirmed` if any label is wrong, `refused` if all are right.
    """
    found = label_set_evidence(signals.take(source.ids))
    verdicts = verdicts_of(source, marks)
    sure = marked_labels(found.probability, verdicts).probability
    has = found.labels.sum(axis=0, dtype=np.int64)
    few = np.minimum(has, len(source) - has) < FEWEST_JUDGED
    judged = np.where(few, 0.0, found.wrong)
    doubt = marked_labels(1.0 - np.prod(1.0 - judged, axis=1), verdicts).probability  # what may be flagged
    flagged = np.where(verdicts == "", doubt >= flagged_from(doubt), verdicts == "confirmed")
    shown = np.where((flagged & (judged.max(axis=1) > 0))[:, None], judged, found.wrong)
    changes = [_changes(row) for row in shown]
    names = source.classes
    ranking = {
        "id": source.ids,
        "probability": sure,
        "label": np.array([label_words(row, names) for row in found.labels], dtype=object),
        "suggestion": np.array(
            [", ".join(_change(found, at, k, names) for k in which) for at, which in enumerate(changes)], dtype=object
        ),
        "suggestion_probability": np.minimum(found.wrong.max(axis=1), sure),
        "evidence": np.array([_words(found, at, which, names, few) for at, which in enumerate(changes)], dtype=object),
        "flagged": flagged,
        "verdict": verdicts.astype(str),
    }
    share = float(found.wrong.mean())
    return LabelIssues(ranking, [], rate_of(share, verdicts, found.out_of_fold), None)


def _changes(wrong: NDArray[np.float64]) -> list[int]:
    """The labels that are likely wrong, the surest first; the one most likely if none is."""
    order = np.argsort(-wrong, kind="stable")
    return [int(k) for place, k in enumerate(order) if place == 0 or wrong[k] >= FLAGGED]


def _change(found: LabelSetEvidence, at: int, label: int, names: tuple[str, ...]) -> str:
    return f"{'remove' if found.labels[at, label] else 'add'} {names[label]}"


def _words(found: LabelSetEvidence, at: int, which: list[int], names: tuple[str, ...], few: NDArray[np.bool_]) -> str:
    """The evidence in words."""
    if found.wrong[at, which[0]] < FLAGGED / 2:
        return "nothing speaks against the labels"
    if few[which[0]]:
        return few_words(int(found.labels[:, which[0]].sum()), names[which[0]])
    who = "networks that were not trained on it" if found.out_of_fold else "the network that was trained on it"
    said: list[Any] = [f"{names[k]} {found.chances[at, k]:.0%}" for k in which]
    return f"{who} give {', '.join(said)}"
