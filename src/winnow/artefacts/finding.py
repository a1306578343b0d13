"""Finding: one thing that is wrong with a data set, and the columns of many of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.errors import InputError

__all__ = ["COLUMNS", "FEWEST_JUDGED", "KINDS", "LEFT_OUT", "RANKED", "WHOLE", "Finding", "checked", "joined"]

RANKED = {"classification": "label", "multilabel": "label", "regression": "target", "unlabelled": "example"}
WHOLE = ("class", "column", "drift")
KINDS = (*dict.fromkeys(RANKED.values()), "ambiguous", "duplicate", "leak", "outlier", "value", "dropped", *WHOLE)
FEWEST_JUDGED = 10  # examples of a class; of a smaller one networks learn each by heart, so its labels are not judged
LEFT_OUT = ("label", "target", "duplicate", "leak", "value", "dropped")

COLUMNS = {
    "id": "ids",
    "kind": "kinds",
    "probability": "probabilities",
    "label": "labels",
    "suggestion": "suggestions",
    "suggestion_probability": "suggestion_probabilities",
    "evidence": "evidence",
    "subject": "subjects",
    "group": "groups",
    "other": "others",
    "flagged": "flagged",
    "verdict": "verdicts",
}


@dataclass(frozen=True)
class Finding:
    """One row.

    Parameters
    ----------
    kind
        One of `KINDS`.
    probability
        How sure it is, from 0 to 1.
    evidence
        Why, in words.
    id
        The example; "" if it is about no single one.
    subject
        The classes or columns it is about.
    label
        The given label, in words.
    suggestion, suggestion_probability
        The likely right class, and its probability.
    group
        The group of near-duplicates; -1 if none.
    other
        The id of its partner, as text: the representative of its group, or the test example that it leaks into.
    flagged
        Whether `Issues.clean` leaves the example out.
    verdict
        What a person said: "confirmed", "refused", or nothing.
    """

    kind: str
    probability: float
    evidence: str
    id: Any = ""
    subject: str = ""
    label: str = ""
    suggestion: str = ""
    suggestion_probability: float = math.nan
    group: int = -1
    other: str = ""
    flagged: bool = False
    verdict: str = ""


def joined(ranking: Mapping[str, Any], findings: Sequence[Finding], kind: str) -> dict[str, NDArray[Any]]:
    """The columns of a ranking, and below it those of single findings, by field of `Issues`.

    Parameters
    ----------
    ranking
        Columns by name; those that are missing are filled as in `Finding`, and the kind is `kind`.
    findings
        The rows below.
    kind
        The kind of the ranking.
    """
    unknown = sorted(set(ranking) - set(COLUMNS))
    if unknown:
        raise InputError(f"ranking of issues has no column {unknown[0]!r}; its columns are {', '.join(COLUMNS)}.")
    rows = len(ranking["id"]) if ranking else 0
    usual = asdict(Finding(kind, 0.0, ""))
    columns = {"ids": _joined_ids(ranking.get("id", ()), findings)}
    for name, of in COLUMNS.items():
        if name != "id":
            first = np.asarray(ranking.get(name, np.full(rows, usual[name])), dtype=object)
            columns[of] = np.concatenate([first, np.array([getattr(one, name) for one in findings], dtype=object)])
    return columns


def _joined_ids(first: Any, findings: Sequence[Finding]) -> NDArray[Any]:
    head = np.asarray(first)
    own = np.asarray([one.id for one in findings if one.kind not in WHOLE])
    whole = (head if head.size else own).dtype.kind in "iu"
    if head.size and own.size and (own.dtype.kind in "iu") != whole:
        raise InputError(f"ids of the findings must be like {head[0]!r}; got {own[0]!r}.")
    nobody: Any = -1 if whole else ""
    tail = [nobody if one.kind in WHOLE else one.id for one in findings]
    return np.concatenate([head, tail]) if head.size and tail else np.asarray(tail) if tail else head


def checked(name: str, given: Any, rows: int) -> NDArray[Any]:
    """A checked, read-only column. Words are objects: a vector of fixed width is as wide as the longest of them."""
    try:
        if name == "id":
            found = np.asarray(given)
            found = found.astype(np.int64 if found.dtype.kind in "iu" else np.str_)
        elif name in ("probability", "suggestion_probability"):
            found = np.array(given, dtype=np.float64)
        elif name == "group":
            found = np.array(given, dtype=np.int64)
        elif name == "flagged":
            found = np.array(given, dtype=bool)
        else:
            found = np.array(given, dtype=np.str_ if name in ("kind", "verdict") else object)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} of issues cannot be read: {error}.") from None
    if found.shape != (rows,):
        raise InputError(f"{name} of issues must have {rows} values, one per finding; got shape {found.shape}.")
    if found.dtype == object and not all(issubclass(one, str) for one in set(map(type, found.tolist()))):
        raise InputError(f"{name} of issues must be text.")
    if name in ("probability", "suggestion_probability"):
        known = found if name == "probability" else found[~np.isnan(found)]
        bad = ~((known >= 0) & (known <= 1))
        if bad.any():
            raise InputError(f"{name} of issues must be in [0, 1]; got {known[bad][0]:g}.")
    return checks.frozen(found, copy=False)
