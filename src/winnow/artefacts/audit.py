"""Audit: what is known about a subset that anyone chose with any tool, as plain values that can be saved and loaded.

`explaining.audit` makes it, `report.audit_page` shows it in a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from ..core.layouts import Json
from ..core.serialiser import Saved
from .notebook_view import ShownAsText
from .provenance import Provenance
from .table import data_frame

if TYPE_CHECKING:
    import pandas

__all__ = ["BETTER", "WORSE", "Audit", "ClassShare", "InsideIssue", "Measure", "counted", "ordinary"]

SURE = 0.99  # share of further random subsets that would be called like random


@dataclass(frozen=True)
class Measure:
    """One number of the subset, beside that of random subsets of the same size.

    Parameters
    ----------
    name, about
        Its name, and what it is, in a sentence.
    value
        Of the subset.
    random
        Of random subsets of the same size; empty if there are none to compare with.
    whole
        Of all data, where that is not 0 or 1 anyway.
    higher
        Whether higher is better.
    """

    name: str
    about: str
    value: float
    random: tuple[float, ...] = ()
    whole: float | None = None
    higher: bool = False

    @property
    def usual(self) -> float | None:
        """The mean over random subsets."""
        return float(np.mean(self.random)) if self.random else None

    @property
    def apart(self) -> float | None:
        """How many standard deviations better (above 0) or worse than random subsets it is; None if not known."""
        spread = float(np.std(self.random, ddof=1)) if len(self.random) > 1 else 0.0
        if not spread:
            return None
        return (self.value - float(np.mean(self.random))) / spread * (1 if self.higher else -1)

    @property
    def standing(self) -> str:
        """How it compares with random subsets: better or worse than 99 of 100 further ones would, or alike."""
        apart = self.apart
        if apart is None:
            return ""
        return "like random" if abs(apart) <= ordinary(len(self.random)) else BETTER if apart > 0 else WORSE


BETTER, WORSE = "better than random", "worse than random"


def ordinary(draws: int) -> float:
    """How many standard deviations from the mean of the draws 99 of 100 further draws are at most."""
    return float(stats.t.ppf((1 + SURE) / 2, draws - 1) * np.sqrt(1 + 1 / draws))


ISSUES = {
    "label": ("label that looks wrong", "labels that look wrong"),
    "duplicate": ("near-duplicate", "near-duplicates"),
}


def counted(kind: str, count: int) -> str:
    """A number of issues in words.

    >>> counted("duplicate", 1)
    '1 near-duplicate'
    """
    return f"{count:,} {ISSUES[kind][count != 1]}"


@dataclass(frozen=True)
class ClassShare:
    """A class: examples in the data and in the subset, and its shares of data and of the subset's weight."""

    name: str
    examples: int
    kept: int
    share: float
    weight: float


@dataclass(frozen=True)
class InsideIssue:
    """Something wrong with a kept example: `label` or `duplicate`, its probability, and the evidence."""

    kind: str
    id: Any
    label: str
    probability: float
    evidence: str


@dataclass(frozen=True)
class Audit(ShownAsText, Saved, kind="audit", layout=Json()):
    """What a subset is like, whoever chose it.

    Attributes
    ----------
    subset, source
        Where the subset came from, and the name of the data.
    examples, size
        How many examples there are, and how many the subset has.
    weighted, effective_size
        Whether weights differ, and (sum of weights)^2 / sum of squares.
    features
        What coverage and the head are measured on.
    measures
        Numbers beside those of random subsets.
    draws
        How many random subsets of the same size they are compared with.
    classes, class_balance
        Classes with their shares, and the class balance score of subset and data.
    deciles
        Share kept of each tenth of the data, from the easiest to the hardest; empty if difficulty is not known.
    found, issues
        How many issues of each kind are in the subset, and the most likely ones.
    notes
        What deserves a look, one sentence each.
    provenance
        Where the audit came from.
    """

    subset: str
    source: str
    examples: int
    size: int
    weighted: bool
    effective_size: float
    features: str
    measures: tuple[Measure, ...]
    draws: int
    classes: tuple[ClassShare, ...] = ()
    class_balance: tuple[float, float] | None = None
    deciles: tuple[float, ...] = ()
    found: Mapping[str, int] = field(default_factory=dict)
    issues: tuple[InsideIssue, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: Provenance = field(default_factory=dict)

    values = Saved.entries

    @property
    def certificate(self) -> dict[str, Any]:
        """The numbers alone, by name, with those of random subsets."""
        return {
            "size": self.size,
            "fraction": self.size / self.examples,
            "effective_size": self.effective_size,
            "class_balance": None if self.class_balance is None else self.class_balance[0],
            **{f"{kind} issues": count for kind, count in self.found.items()},
            **{one.name: {"value": one.value, "random": one.usual, "standing": one.standing} for one in self.measures},
        }

    def measure(self, name: str) -> Measure:
        """The measure of that name; KeyError if there is none."""
        return {one.name: one for one in self.measures}[name]

    def to_pandas(self) -> pandas.DataFrame:
        """The measures, one row each."""
        return data_frame([{**asdict(one), "random": one.usual, "standing": one.standing} for one in self.measures])

    def __str__(self) -> str:
        lines = [f"{self.subset}: {self.size:,} of {self.examples:,} examples of {self.source}"]
        width = max((len(one.name) for one in self.measures), default=0)
        for one in self.measures:
            beside = ""
            if one.random:
                beside = f"random {one.usual:.3g} ({min(one.random):.3g} to {max(one.random):.3g})"
            lines.append(f"  {one.name:{width}}  {one.value:<8.3g}  {beside:34}  {one.standing}".rstrip())
        if self.class_balance is not None:
            lines.append(f"  class balance {self.class_balance[0]:.3f} (data {self.class_balance[1]:.3f})")
        if self.found:
            lines.append("  inside: " + ", ".join(counted(kind, count) for kind, count in self.found.items()))
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])
