"""Issues: what is wrong with a data set, one row per finding.

A row is about one example or, for the kinds of `WHOLE`, about classes or columns. Every example has one row of the
kind that its task ranks (`RANKED`): `label` if there are classes, `target` in regression, `example` if there are no
labels. The ranking is therefore whole, though few of its rows are flagged.

Findings are columns, not objects, because a data set may have millions of examples. `Finding` is one row, for those
kinds that are few.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.errors import InputError, UnknownNameError
from ..core.files import atomic
from ..core.layouts import Parquet
from ..core.seeds import drawn_first, uniforms
from ..core.serialiser import Saved
from . import issues_text as words
from .example_ids import positions_of
from .finding import COLUMNS, KINDS, LEFT_OUT, RANKED, WHOLE, Finding, checked, joined
from .intervals import Interval
from .notebook_view import Shown
from .provenance import Provenance, record
from .subset import Subset
from .table import Table, data_frame
from .task_labels import TASKS, Task
from .verdicts import VERDICTS, read_marks

if TYPE_CHECKING:
    import pandas

__all__ = ["KINDS", "LEFT_OUT", "LIKELY", "RANKED", "WHOLE", "Finding", "Issues"]

LIKELY = 0.5  # probability from which on `clean` leaves out a flagged label


@dataclass(frozen=True, eq=False, repr=False)
class Issues(Shown, Saved, kind="issues", layout=Parquet(COLUMNS, spared=("unjudged",))):
    """What is wrong with a data set, one row per finding.

    Parameters
    ----------
    ids, kinds, probabilities, labels, suggestions, suggestion_probabilities, evidence, subjects, groups, others
        The columns, as in `Finding`. If ids are whole numbers, a finding about no single example has the id -1.
    flagged, verdicts
        What `clean` leaves out, and what a person said.
    source
        Name of the data set.
    task
        `classification`, `multilabel`, `regression` or `unlabelled`; decides the kind that has a row for every example.
    classes
        Names of the classes.
    noise_rate
        The estimated share of wrong labels.
    confusion
        Estimated probability of the given class (column) for the true class (row).
    provenance
        Where they came from.
    unjudged
        Why the labels cannot be judged, in a sentence; empty if they were, or were not looked at.

    Raises
    ------
    InputError
        If columns differ in length, a probability is not in [0, 1], an example has no row of the ranking or more than
        one, or a finding names an unknown example.
    UnknownNameError
        If there is no such kind, task or verdict.

    Examples
    --------
    >>> import winnow as wn
    >>> ranking = {"id": ["a", "b", "c"], "probability": [0.9, 0.1, 0.2], "flagged": [True, False, False]}
    >>> twin = Finding("duplicate", 1.0, "the same pixels as b", id="c", other="b", group=0, flagged=True)
    >>> found = wn.Issues.of_findings([twin], ranking=ranking, source="toy", task="classification")
    >>> found
    Issues('toy': 3 examples; 1 label, 1 duplicate)
    >>> found.clean().ids.tolist()
    ['b']
    >>> wn.Issues.load(found.save("issues.parquet")).counts()
    {'label': 1, 'duplicate': 1}
    """

    ids: NDArray[Any]
    kinds: NDArray[Any]
    probabilities: NDArray[np.float64]
    labels: NDArray[Any]
    suggestions: NDArray[Any]
    suggestion_probabilities: NDArray[np.float64]
    evidence: NDArray[Any]
    subjects: NDArray[Any]
    groups: NDArray[np.int64]
    others: NDArray[Any]
    flagged: NDArray[np.bool_]
    verdicts: NDArray[Any]
    source: str
    task: Task
    classes: tuple[str, ...] = ()
    noise_rate: Interval | None = None
    confusion: NDArray[np.float64] | None = None
    provenance: Provenance = field(default_factory=dict)
    unjudged: str = ""

    def __post_init__(self) -> None:
        checks.choice("task", "issues", self.task, TASKS)
        for name, of in COLUMNS.items():
            object.__setattr__(self, of, checked(name, getattr(self, of), len(self.ids)))
        for column, allowed in (("kind", KINDS), ("verdict", VERDICTS)):
            odd = set(getattr(self, COLUMNS[column]).tolist()) - set(allowed)
            if odd:
                raise UnknownNameError.of(f"{column} of issues", min(odd), filter(None, allowed))
        every = checks.ids(f"the {RANKED[self.task]} rows of issues", self.ids[self._ranked])
        single = ~np.isin(self.kinds, WHOLE)
        positions_of(every, self.ids[single], f"issues of {self.source!r}")
        object.__setattr__(self, "classes", tuple(self.classes))
        if self.confusion is not None:
            k = len(self.classes)
            matrix = checks.array("confusion", "issues", self.confusion, ndim=2, rows=k, dtype=np.float64)
            if matrix.shape != (k, k) or (matrix < 0).any():
                raise InputError(f"confusion of issues must be {k} x {k} probabilities; got shape {matrix.shape}.")
            object.__setattr__(self, "confusion", checks.frozen(matrix))

    @classmethod
    def of_findings(
        cls,
        findings: Iterable[Finding],
        *,
        source: str,
        task: Task,
        classes: Sequence[str] = (),
        ranking: Mapping[str, Any] | None = None,
        noise_rate: Interval | None = None,
        confusion: ArrayLike | None = None,
        provenance: Provenance | None = None,
        unjudged: str = "",
    ) -> Issues:
        """Issues from single findings and, for the kind with a row for every example, from columns.

        Parameters
        ----------
        findings
            The few.
        source, task, classes, noise_rate, confusion, provenance, unjudged
            As in `Issues`.
        ranking
            Columns of the rows for every example: `id`, `probability`, and any other of a `Finding`. If not given,
            those rows are among the findings.

        Returns
        -------
        Issues
            The ranking first, then the findings in their order.

        Raises
        ------
        InputError
            As `Issues`, or if the ranking has an unknown column.
        """
        checks.choice("task", "issues", task, TASKS)
        columns = joined({} if ranking is None else ranking, list(findings), RANKED[task])
        matrix: Any = confusion
        return cls(
            **columns,
            source=source,
            task=task,
            classes=tuple(classes),
            noise_rate=noise_rate,
            confusion=matrix,
            provenance={} if provenance is None else provenance,
            unjudged=unjudged,
        )

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        found = ", ".join(f"{count} {kind}" for kind, count in self.counts().items())
        return f"Issues({self.source!r}: {self.examples} examples; {found or 'nothing found'})"

    @cached_property
    def _ranked(self) -> NDArray[np.bool_]:
        return np.asarray(self.kinds == RANKED[self.task])

    @cached_property
    def found(self) -> NDArray[np.bool_]:
        """Which rows are issues: not refused, and flagged if it is a kind with rows that are none."""
        plain = np.isin(self.kinds, (*LEFT_OUT, *RANKED.values()), invert=True)
        return np.asarray((self.verdicts != "refused") & (plain | self.flagged | (self.verdicts == "confirmed")))

    @property
    def examples(self) -> int:
        """How many examples were checked."""
        return int(np.count_nonzero(self._ranked))

    def counts(self) -> dict[str, int]:
        """How many issues there are of each kind, in the order of `KINDS`; kinds without any are left out."""
        held, number = np.unique(self.kinds[self.found], return_counts=True)
        of = dict(zip(held.tolist(), number.tolist(), strict=True))
        return {kind: of[kind] for kind in KINDS if kind in of}

    def order(self, kind: str | None = None, *, found: bool = False) -> NDArray[np.int64]:
        """Positions of the rows of a kind (all if not given), most sure first; only the issues if `found`.

        Findings about columns stay as they were found, the most serious first: each is nearly certain.
        """
        if kind is not None:
            checks.choice("kind", "issues", kind, KINDS)
        wanted = self.found.copy() if found else np.ones(len(self), dtype=bool)
        if kind is not None:
            wanted &= self.kinds == kind
        rows = np.flatnonzero(wanted)
        return rows if kind == "column" else rows[np.argsort(-self.probabilities[rows], kind="stable")]

    def of(self, kind: str) -> dict[str, NDArray[Any]]:
        """The columns of the rows of one kind by name, most sure first."""
        rows = self.order(kind)
        return {name: getattr(self, of)[rows] for name, of in COLUMNS.items()}

    def table(self, kind: str | None = None, limit: int = 20) -> Table:
        """The surest rows of one kind or, if not given, the surest issues of any."""
        checks.integer("limit", "Issues.table", limit, low=1)
        rows = self.order(kind, found=kind is None)[:limit]
        columns = {name: getattr(self, of)[rows].tolist() for name, of in COLUMNS.items() if name != "group"}
        columns["flagged"] = ["yes" if one else "" for one in columns["flagged"]]
        columns["id"] = ["" if kind in WHOLE else id for id, kind in zip(columns["id"], columns["kind"], strict=True)]
        return Table(tuple(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)))

    _view = table

    def summary(self) -> str:
        """What was found, in a few lines of plain words."""
        return words.summary(self)

    def clean(self, kinds: Sequence[str] = LEFT_OUT) -> Subset:
        """What to keep: everything except the flagged examples of these kinds.

        Labels are flagged for a person to look at, and left out only if they are more likely wrong than right. Refused
        findings leave nothing out, confirmed ones always do. Of a group of near-duplicates the representative
        stays or, if that is left out for another reason, one of the others. Outliers, ambiguous and hard examples
        stay, because most of them are right.

        Parameters
        ----------
        kinds
            Leave out flagged examples of these kinds.

        Returns
        -------
        Subset
            The kept examples. Its certificate says how many were left out for each kind.

        Raises
        ------
        UnknownNameError
            If there is no such kind, or it is not about single examples.
        InputError
            If nothing would be left.
        """
        every, out = self.ids[self._ranked], self._out(kinds)
        gone = _any(out.values(), every.size)
        if gone.all():
            raise InputError(f"Issues.clean would leave nothing of {self.source!r}: every example is flagged.")
        left_out = {kind: int(left.sum()) for kind, left in out.items() if left.any()}
        certificate = {"cleaned_of": left_out, "left_out": int(gone.sum()), "examples": self.examples}
        about = record("clean", {"kinds": list(kinds)}, {"issues": self.provenance})
        return Subset(every[~gone], certificate=certificate, provenance=about)

    def left_out(self, kinds: Sequence[str] = LEFT_OUT) -> int:
        """How many examples `clean` leaves out."""
        return int(_any(self._out(kinds).values(), self.examples).sum())

    def _out(self, kinds: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
        """Which examples, in the order of the ranking, are left out for each of these kinds."""
        for kind in kinds:
            checks.choice("kinds", "Issues.clean", kind, [one for one in KINDS if one not in WHOLE])
        every = self.ids[self._ranked]
        likely = (self.probabilities >= LIKELY) | (self.kinds != RANKED["classification"])
        marked = (self.flagged & likely & (self.verdicts != "refused")) | (self.verdicts == "confirmed")
        out = {kind: np.zeros(every.size, dtype=bool) for kind in KINDS if kind in kinds}
        for kind, left in out.items():
            left[positions_of(every, self.ids[marked & (self.kinds == kind)], "issues")] = True
        if "duplicate" in out:
            elsewhere = _any((left for kind, left in out.items() if kind != "duplicate"), every.size)
            self._spare_one_per_group(every, out["duplicate"], elsewhere)
        return out

    def _spare_one_per_group(
        self, every: NDArray[Any], duplicate: NDArray[np.bool_], elsewhere: NDArray[np.bool_]
    ) -> None:
        """Keep one near-duplicate of each group whose representative is left out for another reason."""
        rows = np.flatnonzero((self.kinds == "duplicate") & (self.others != "") & (self.groups >= 0))
        if not rows.size:
            return
        at = positions_of(every, self.ids[rows], "issues")
        partner = positions_of(every, self.others[rows].astype(every.dtype), "issues")
        free = duplicate[at] & ~elsewhere[at] & elsewhere[partner]
        _, first = np.unique(self.groups[rows][free], return_index=True)
        duplicate[at[free][first]] = False

    def to_mark(self, count: int = 60, *, seed: int = 0) -> NDArray[Any]:
        """Ids of examples to mark, so that the marks tell how many labels are wrong.

        One half is drawn from all examples that are not marked yet, the other where wrong and right are about equally
        likely. `check.html` shows them under "A sample to mark". With 60 marks or more, `wn.check(..., marks=)` knows
        the share of wrong labels better than any estimate from the data alone, and flags accordingly.

        Parameters
        ----------
        count
            How many examples.
        seed
            Seed of the draw. The draw is keyed by id, so other examples do not change who is drawn.

        Returns
        -------
        ids
            In random order; fewer if fewer are left.

        Raises
        ------
        InputError
            If the count is not positive.
        """
        checks.integer("count", "Issues.to_mark", count, low=1)
        rows = np.flatnonzero(self._ranked & (self.verdicts == ""))
        ids, sure = self.ids[rows], self.probabilities[rows]
        first = drawn_first(seed, "sample to mark", ids, count - count // 2)
        # the smallest -log(u) / weight: a draw without replacement with these weights
        waiting = -np.log(uniforms(seed, "doubtful to mark", ids)) / (np.sqrt(sure * (1 - sure)) + 1e-4)
        waiting[first] = np.inf
        doubtful = np.argsort(waiting, kind="stable")[: min(count, rows.size) - first.size]
        drawn = np.concatenate([first, doubtful])
        return np.asarray(ids[drawn[drawn_first(seed, "order to mark", ids[drawn])]])

    def marks(self, kind: str | None = None) -> dict[Any, str]:
        """A person's verdicts by id: on labels (targets, examples), or on findings of the kind given."""
        wanted = RANKED[self.task] if kind is None else checks.choice("kind", "Issues.marks", kind, KINDS)
        rows = (self.kinds == wanted) & (self.verdicts != "")
        return dict(zip(self.ids[rows].tolist(), self.verdicts[rows].tolist(), strict=True))

    def with_marks(self, marks: Any) -> Issues:
        """The same with a person's verdicts.

        Parameters
        ----------
        marks
            As in `wn.check`.
        """
        verdicts, names = self.verdicts.astype(object), self.ids.astype(np.str_)
        for kind in np.unique(self.kinds).tolist():
            said = read_marks(marks, kind)
            rows = np.flatnonzero((self.kinds == kind) & np.isin(names, list(said))) if said else ()
            for row in rows:
                verdicts[row] = said[names[row]]
        return replace(self, verdicts=verdicts)

    def to_pandas(self) -> pandas.DataFrame:
        """One row per finding."""
        return data_frame({name: getattr(self, of) for name, of in COLUMNS.items()})

    def to_csv(self, path: str | Path) -> Path:
        """Write all rows as CSV; return the path."""
        target = Path(path)
        columns = [getattr(self, of).tolist() for of in COLUMNS.values()]
        with atomic(target) as part, part.open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file)
            lines.writerow(COLUMNS)
            lines.writerows(zip(*columns, strict=True))
        return target


def _any(masks: Iterable[NDArray[np.bool_]], size: int) -> NDArray[np.bool_]:
    return np.asarray(np.logical_or.reduce([np.zeros(size, dtype=bool), *masks]))
