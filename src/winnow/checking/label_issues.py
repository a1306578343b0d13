"""Label issues: the probability that each label is wrong, what it should be, and what the evidence is.

`scores.mislabelled` gives the probability. Here it becomes rows with words: wrong labels are told from examples that
are merely hard and from those that two classes claim, a person's verdicts are taken in, and the share of wrong labels
gets an interval. Labels of classes that are too small to judge are not flagged, and none by networks that predict no
better than always naming the largest class. In regression, a target is suspected if it lies far from its out-of-fold
prediction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Interval, Signals, Source
from ..artefacts.finding import FEWEST_JUDGED
from ..artefacts.issues import Finding
from ..scores.mislabelled import LabelEvidence, label_evidence
from ..scores.target_evidence import target_evidence
from ..scores.wrong_share import better_than_chance, share_interval
from .flag_trial import supported_from
from .label_words import Judged, label_words
from .marked_labels import marked_labels

__all__ = [
    "LabelIssues",
    "flagged_from",
    "label_issues",
    "rate_of",
    "target_issues",
    "verdicts_of",
]

FLAGGED = 0.5  # probability from which on a target counts as wrong
UNJUDGED = (
    "The networks predict the labels no better than always naming the largest class, so labels cannot be judged with "
    "this network and data."
)
LEAST_FLAGGED = 0.3  # no label is flagged below this probability
SETTLING = 30  # verdicts from which on a person decides what is flagged, not the trial
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelIssues:
    """One row per example, and what follows for the whole.

    Parameters
    ----------
    ranking
        Columns of the rows for every example, as `Issues.of_findings` takes them.
    findings
        Examples that two classes claim.
    noise_rate
        The share of wrong labels.
    confusion
        Probability of each given class (column) for each true class (row).
    unjudged
        Why the labels cannot be judged, in a sentence; empty if they can.
    """

    ranking: Mapping[str, Any]
    findings: list[Finding]
    noise_rate: Interval | None
    confusion: Floats | None
    unjudged: str = ""


def label_issues(
    source: Source,
    signals: Signals,
    marks: Mapping[str, str] | None = None,
    conflicts: Mapping[int, float] | None = None,
) -> LabelIssues:
    """Judge every label.

    Parameters
    ----------
    source
        The examples, with class labels.
    signals
        What was observed: `oof` with the dynamics, or the dynamics and predictions of ordinary trainings.
    marks
        A person's verdicts by id as text: `confirmed` if the label is wrong, `refused` if it is right.
    conflicts
        How likely a label is wrong because near-duplicates have another one, by position.
    """
    seen = signals.take(source.ids)
    found = label_evidence(seen, trees=source.kind == "table")
    known = not found.out_of_fold or better_than_chance(found.classes, found.labels)
    copied = np.zeros(len(source), dtype=bool)
    sure = found.probability.copy()
    for at, least in (conflicts or {}).items():
        sure[at], copied[at] = max(sure[at], least), least >= sure[at]
    verdicts = verdicts_of(source, marks)
    marked = marked_labels(sure, verdicts)
    sure = marked.probability
    few = np.bincount(found.labels)[found.labels] < FEWEST_JUDGED
    doubt = np.where(~few & (known | copied), sure, 0.0)  # what may be flagged; `sure` ranks all
    border = flagged_from(doubt)
    if np.count_nonzero(verdicts != "") < SETTLING:
        border = supported_from(replace(found, probability=doubt), source.ids, border)
    flagged = np.where(verdicts == "", doubt >= border, verdicts == "confirmed")
    labels, names = found.labels, np.array(source.classes)
    found = replace(found, probability=sure, share=float(sure.mean()))
    judged = Judged(found, flagged, known, few, copied, verdicts)
    likely, ambiguous = found.suggestion, judged.ambiguous
    ranking = {
        "id": source.ids,
        "probability": sure,
        "label": names[labels],
        "suggestion": names[likely],
        "suggestion_probability": found.suggestion_probability,
        "evidence": label_words(judged, seen, names),
        "flagged": flagged,
        "verdict": verdicts.astype(str),
    }
    claimed = [
        Finding(
            "ambiguous",
            float(min(1.0, 2 * min(found.classes[at, labels[at]], found.classes[at, likely[at]]))),
            f"{names[labels[at]]} and {names[likely[at]]} are both likely",
            id=source.ids[at],
            label=str(names[labels[at]]),
            suggestion=str(names[likely[at]]),
            suggestion_probability=float(found.classes[at, likely[at]]),
        )
        for at in np.flatnonzero(ambiguous)
    ]
    if not known:
        return LabelIssues(ranking, claimed, None, None, UNJUDGED)
    return LabelIssues(
        ranking,
        claimed,
        rate_of(found.share, verdicts, found.out_of_fold, marked.bounds),
        _confusion(found, len(names)),
    )


def flagged_from(probability: Floats) -> float:
    """The probability from which on labels are flagged: the border that makes the expected F1 largest.

    Of the k most likely wrong labels, with S_k the sum of their probabilities, S_k are expected to be wrong, and S_n of
    all n: F1 is about 2 S_k / (k + S_n). Its best border is half of its largest value, so it is lower where errors are
    hard to tell. It is not below LEAST_FLAGGED: what is flagged is left out by `clean`, and where few labels are wrong
    most of the doubtful ones are right.
    """
    ordered = np.sort(probability)[::-1]
    found = np.cumsum(ordered)
    expected = 2 * found / (np.arange(1, ordered.size + 1) + found[-1] + 1e-12)
    return max(float(ordered[expected.argmax()]), LEAST_FLAGGED)


def target_issues(source: Source, signals: Signals, marks: Mapping[str, str] | None = None) -> LabelIssues:
    """Judge every target of a regression by its residual from the out-of-fold prediction (`target_evidence`)."""
    near = signals.take(source.ids)
    name = "oof" if "oof" in near else "predictions"
    truth = np.asarray(source.labels, dtype=np.float64).reshape(len(source), -1)
    known = target_evidence(truth, near.array(name).mean(axis=0, dtype=np.float64).reshape(truth.shape))
    sure = known.probability
    verdicts = verdicts_of(source, marks)
    sure = marked_labels(sure, verdicts).probability
    flagged = np.where(verdicts == "", sure >= FLAGGED, verdicts == "confirmed")
    by = "a network that was not trained on it" if name == "oof" else "the network trained on it"
    words = [
        f"{given:.4g} given, {expected:.4g} expected by {by}: {far:.1f} usual deviations apart"
        for given, expected, far in zip(truth[:, 0], known.expected[:, 0], known.far, strict=True)
    ]
    ranking = {
        "id": source.ids,
        "probability": sure,
        "label": np.array([f"{value:.6g}" for value in truth[:, 0]]),
        "evidence": np.array(words),
        "flagged": flagged,
        "verdict": verdicts.astype(str),
    }
    return LabelIssues(ranking, [], rate_of(float(flagged.mean()), verdicts, False), None)


def verdicts_of(source: Source, marks: Mapping[str, str] | None) -> NDArray[Any]:
    """What a person said of each example; nothing if not marked."""
    return np.array([(marks or {}).get(str(one), "") for one in source.ids.tolist()], dtype=object)


def rate_of(
    share: float, verdicts: NDArray[Any], out_of_fold: bool, bounds: tuple[float, float] | None = None
) -> Interval:
    """The share of wrong labels with its interval: by the marks of a person, or by its error on other data sets."""
    if bounds is not None:
        low, high = min(bounds[0], share), max(bounds[1], share)
        return Interval(share, low, high, 0, about="what the marks of a person leave open")
    low, high = share_interval(share, out_of_fold, float(np.mean(verdicts == "")))
    return Interval(share, low, high, 0, about="how far the estimate was off on other data sets")


def _confusion(found: LabelEvidence, count: int) -> Floats:
    """Probability of each given class for each true class, from the posterior of all examples."""
    posterior = found.posterior()
    joint = np.zeros((count, count))
    for given in range(count):
        joint[:, given] = posterior[found.labels == given].sum(axis=0)
    totals = joint.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(joint, totals, out=np.eye(count), where=totals > 0))
