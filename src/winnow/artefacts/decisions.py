"""Decisions: what a person said about single examples while looking at them, the content of `marks.parquet`.

One row per example: a verdict on its label (as in `verdicts`), the label it should have, and whether it is dropped or
always kept. The viewer writes the file; `read_decisions` reads it back, and everything else that counts as marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.layouts import Parquet
from ..core.serialiser import Saved
from .source import Source
from .verdicts import CHOICES, OF_LABELS, VERDICTS, read_rows

__all__ = ["Decision", "Decisions", "decided_source", "read_decisions"]

COLUMNS = {"id": "ids", "kind": "kinds", "verdict": "verdicts", "correction": "corrections", "decision": "choices"}


@dataclass(frozen=True)
class Decision:
    """What a person said about one example.

    Parameters
    ----------
    verdict
        On its label: "confirmed" (it is wrong), "refused" (it is right), or nothing.
    correction
        The label it should have, in words; only with a confirmed verdict.
    choice
        "drop", "keep" (always), or nothing.
    """

    verdict: str = ""
    correction: str = ""
    choice: str = ""

    def __post_init__(self) -> None:
        checks.choice("verdict", "a mark", self.verdict, VERDICTS)
        checks.choice("decision", "a mark", self.choice, CHOICES)
        if self.correction and self.verdict != "confirmed":
            raise InputError("correction of a mark needs the verdict 'confirmed'.")

    @property
    def leaves_out(self) -> bool:
        """Whether the example must not be kept: dropped, or its label is wrong and nobody said what it should be."""
        return self.choice == "drop" or (self.choice != "keep" and self.verdict == "confirmed" and not self.correction)


@dataclass(frozen=True, eq=False)
class Decisions(Saved, kind="marks", layout=Parquet(COLUMNS)):
    """All marks of a run, one row per marked example."""

    ids: NDArray[Any]
    kinds: NDArray[Any]
    verdicts: NDArray[Any]
    corrections: NDArray[Any]
    choices: NDArray[Any]

    def __post_init__(self) -> None:
        for name in COLUMNS.values():
            values = np.asarray(getattr(self, name))
            if name != "ids":
                values = np.array(values.tolist(), dtype=object)
            if values.shape != (len(self.ids),):
                raise InputError(f"{name} of marks must have {len(self.ids)} values; got shape {values.shape}.")
            object.__setattr__(self, name, checks.frozen(values, copy=False))

    @classmethod
    def of(cls, said: Mapping[Any, Decision], kind: str = "label") -> Decisions:
        """The file for decisions by id, about findings of this kind; sorted, so that equal marks are equal files."""
        rows = sorted(said.items())
        columns = [(id, kind, one.verdict, one.correction, one.choice) for id, one in rows]
        ids, *rest = zip(*columns, strict=True) if columns else ((),) * len(COLUMNS)
        return cls(np.array(ids if ids else [], dtype=None if ids else np.str_), *map(np.asarray, rest))

    def __len__(self) -> int:
        return int(self.ids.size)


def read_decisions(marks: Any) -> dict[str, Decision]:
    """What was decided about each example, by id as text.

    Parameters
    ----------
    marks
        As in `verdicts.read_marks`; None is nothing.

    Examples
    --------
    >>> read_decisions({"a": True})
    {'a': Decision(verdict='confirmed', correction='', choice='')}
    """
    found: dict[str, Decision] = {}
    for row in read_rows(marks):
        about_label = row.kind in OF_LABELS
        said = Decision(row.verdict if about_label else "", row.correction if about_label else "", row.choice)
        before = found.setdefault(row.id, said)
        if before != said and said != Decision():
            if before != Decision():
                raise InputError(f"marks must say one thing about each example; {row.id} is marked in two ways.")
            found[row.id] = said
    return {id: one for id, one in found.items() if one != Decision()}


def decided_source(source: Source, said: Mapping[str, Decision], owner: str) -> Source:
    """The source without what is left out, and with corrected labels.

    Parameters
    ----------
    source
        The data.
    said
        Decisions by id as text; ids of other data are ignored, unless all are.
    owner
        Who asks, for messages.
    """
    if not said:
        return source
    names = source.ids.astype(np.str_).tolist()
    known = [(place, said[name]) for place, name in enumerate(names) if name in said]
    if not known:
        raise InputError(f"marks of {owner} name no example of source {source.name!r}.")
    gone = {place for place, one in known if one.leaves_out}
    fixed = {place: one.correction for place, one in known if one.correction and place not in gone}
    made = source
    if fixed:
        made = source.with_labels(_labels(source, fixed, owner), source.task, source.classes)
    if gone:
        left = np.delete(np.arange(len(source)), sorted(gone))
        if not left.size:
            raise InputError(f"marks of {owner} leave nothing of source {source.name!r}.")
        made = made.at(left)
    return made


def _labels(source: Source, fixed: Mapping[int, str], owner: str) -> NDArray[Any]:
    """The labels with corrections, by position."""
    labels = np.array(source.labels)
    number = {name: place for place, name in enumerate(source.classes)}
    for place, word in fixed.items():
        if source.task == "classification" and word in number:
            labels[place] = number[word]
        elif source.task == "multilabel" and not (words := set(_split(word))) - set(number):
            labels[place] = [name in words for name in source.classes]
        elif source.task == "regression" and labels.ndim == 1 and _is_number(word):
            labels[place] = float(word)
        else:
            what = "a number" if source.task == "regression" else f"among the classes of {source.name!r}"
            raise InputError(f"a corrected label in marks of {owner} must be {what}; got {word!r}.")
    return labels


def _split(word: str) -> Iterable[str]:
    return (part.strip() for part in word.split(",") if part.strip())


def _is_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False
