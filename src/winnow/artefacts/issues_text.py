"""What was found, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .issues import Issues

__all__ = ["headline", "noise_sentence", "said", "summary", "uncertain"]

# What each kind is called, one and several.
NAMES = {
    "label": ("label that is likely wrong", "labels that are likely wrong"),
    "target": ("target that is likely wrong", "targets that are likely wrong"),
    "example": ("example with a likely issue", "examples with a likely issue"),
    "ambiguous": ("ambiguous example (two plausible classes)", "ambiguous examples (two plausible classes)"),
    "duplicate": ("near-duplicate", "near-duplicates"),
    "leak": ("example that is also in the test set", "examples that are also in the test set"),
    "outlier": ("outlier", "outliers"),
    "value": ("corrupt or impossible value", "corrupt or impossible values"),
    "dropped": ("example that a person dropped", "examples that a person dropped"),
    "class": ("finding about classes", "findings about classes"),
    "column": ("finding about columns", "findings about columns"),
    "drift": ("difference between training and test data", "differences between training and test data"),
}
MOST_SUBJECTS = 3
MOST_COLUMNS = 5
UNCERTAIN = 0.05  # width of the interval of that share from which on marks are asked for
SMALLEST = 0.0005  # share of wrong labels that prints as 0.0 %


def said(kind: str, count: int) -> str:
    """So many findings of a kind.

    >>> said("outlier", 1), said("leak", 1200)
    ('1 outlier', '1,200 examples that are also in the test set')
    """
    return f"{count:,} {NAMES[kind][count != 1]}"


def headline(issues: Issues) -> str:
    """What was found, in one sentence."""
    found = issues.counts()
    if not found and issues.unjudged:
        return f"No other issue was found in the {issues.examples:,} examples of {issues.source}."
    if not found:
        return f"No issue was found in the {issues.examples:,} examples of {issues.source}."
    parts = [said(kind, count) for kind, count in found.items()]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{issues.examples:,} examples of {issues.source}: {listed}."


def noise_sentence(issues: Issues) -> str:
    """The estimated share of wrong labels, or why there is none; empty if labels were not looked at."""
    rate = issues.noise_rate
    if rate is None:
        return issues.unjudged
    ends = "" if np.isnan(rate.low) else f" ({rate.low * 100:.1f} to {rate.high * 100:.1f} %)"
    what = "targets" if issues.task == "regression" else "labels"
    if rate.high < SMALLEST:  # an interval of 0.0 to 0.0 % would promise more than was seen
        return f"None of the {what} stands out as wrong."
    return f"An estimated {rate.centre * 100:.1f} % of the {what} are wrong{ends}."


def summary(issues: Issues) -> str:
    """A summary of at most about 15 lines."""
    found = issues.counts()
    lines = [f"{issues.source}: {issues.examples:,} examples checked."]
    lines += filter(None, [noise_sentence(issues), _to_mark(issues)])
    if not found:
        return "\n".join([*lines, "No other issue was found." if issues.unjudged else "No issue was found."])
    lines += [f"  {said(kind, count)}{_example(issues, kind)}" for kind, count in found.items()]
    marked = int(np.count_nonzero(issues.verdicts != ""))
    if marked:
        confirmed = int(np.count_nonzero(issues.verdicts == "confirmed"))
        lines.append(f"A person confirmed {confirmed:,} and refused {marked - confirmed:,} of the findings.")
    left_out = issues.left_out()
    if left_out == issues.examples:
        return "\n".join([*lines, "Every example is flagged, so clean() refuses to choose."])
    return "\n".join([*lines, f"clean() keeps {issues.examples - left_out:,} examples and leaves out {left_out:,}."])


def uncertain(issues: Issues) -> bool:
    """Whether the share of wrong labels was estimated, and marks would tell more."""
    rate = issues.noise_rate
    return rate is not None and rate.high - rate.low >= UNCERTAIN


def _to_mark(issues: Issues) -> str:
    """How to know the share of wrong labels better, if it is uncertain and nobody has marked anything."""
    if not uncertain(issues) or (issues.verdicts != "").any():
        return ""
    return 'To know it better, mark those of issues.to_mark() ("A sample to mark" in check.html); check with marks=.'


def _example(issues: Issues, kind: str) -> str:
    """The surest of them, so that a reader sees what is meant."""
    rows = issues.order(kind, found=True)
    if kind == "column":
        return "".join(_columns(issues, rows))
    subjects = [issues.subjects[row] for row in rows[:MOST_SUBJECTS] if issues.subjects[row]]
    if subjects:
        return ": " + "; ".join(subjects)
    first = rows[0]
    word = "likely fix:" if issues.task == "multilabel" else "likely"
    likely = (
        f" labelled {issues.labels[first]}, {word} {issues.suggestions[first]}" if issues.suggestions[first] else ""
    )
    return f", for example {issues.ids[first]}{likely}"


def _columns(issues: Issues, rows: NDArray[np.int64]) -> Iterator[str]:
    """What was found of each column, a line per column."""
    about: dict[str, list[str]] = {}
    for row in rows.tolist():
        about.setdefault(issues.subjects[row], []).append(issues.evidence[row])
    for name in list(about)[:MOST_COLUMNS]:
        yield f"\n    {name}: {'; '.join(about[name])}"
    if len(about) > MOST_COLUMNS:
        more = len(about) - MOST_COLUMNS
        yield f"\n    and {more:,} more column{'s' if more > 1 else ''}"
