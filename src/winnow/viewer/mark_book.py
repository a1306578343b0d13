"""The marks of a run: kept in memory, written to `marks.parquet` at once, with undo."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..artefacts.decisions import Decision, Decisions, decided_source, read_decisions
from ..artefacts.finding import RANKED
from ..core.errors import InputError
from ..core.remote import copied_back
from .example_table import ExampleTable, Mask

__all__ = ["FILE", "MarkBook"]

FILE = "marks.parquet"
MOST = 5000  # examples marked by one request
UNDONE = 200  # steps that can be undone


class MarkBook:
    """What a person said about the examples of a run.

    Parameters
    ----------
    table
        The examples.
    folder
        The run directory; a run at a URL gets a copy of the file at once.
    """

    def __init__(self, table: ExampleTable, folder: Path) -> None:
        self.source, self.path = table.source, folder / FILE
        self._lock = threading.Lock()
        self._undo: list[dict[int, Decision | None]] = []
        self.said: dict[int, Decision] = {}
        self.elsewhere: dict[Any, Decision] = {}  # marks of examples that the source does not have; they are kept
        self.version = 1
        if self.path.exists():
            for id, one in read_decisions(self.path).items():
                row = table.row_of_id(id)
                if row is not None:
                    self.said[row] = one
                else:
                    self.elsewhere[id] = one

    def of(self, row: int) -> Decision:
        """What was said about a row."""
        return self.said.get(row, Decision())

    def mark(self, rows: Sequence[int], change: Mapping[str, str | Sequence[str]]) -> int:
        """Change the marks of some rows and save; return how many are marked now.

        Parameters
        ----------
        rows
            Row numbers.
        change
            `verdict`, `correction` or `choice`: a word for all rows, or one for each; an empty word takes it back.
        """
        if not rows or len(rows) > MOST or not all(0 <= row < len(self.source) for row in rows):
            raise InputError(f"rows of a mark must be 1 to {MOST} row numbers of the run.")
        if not change or set(change) - {"verdict", "correction", "choice"}:
            raise InputError("a mark must set verdict, correction or choice.")
        words = {name: [said] * len(rows) if isinstance(said, str) else list(said) for name, said in change.items()}
        if any(len(said) != len(rows) for said in words.values()):
            raise InputError(f"a mark must have one word for all rows, or {len(rows)} for {len(rows)} rows.")
        with self._lock:
            before = {row: self.said.get(row) for row in rows}
            after = {
                row: _changed(self.of(row), {name: said[k] for name, said in words.items()})
                for k, row in enumerate(rows)
            }
            for correction, row in dict(zip(words.get("correction", ()), rows, strict=False)).items():
                self._check(row, correction)  # each word once
            self._set(after)
            self._undo = [*self._undo[-UNDONE + 1 :], before]
            return len(self.said)

    def _check(self, row: int, correction: str) -> None:
        """Raise if a label cannot be corrected to this."""
        if correction:
            said = {str(self.source.ids[row]): Decision("confirmed", correction)}
            decided_source(self.source.at(np.array([row])), said, "view")

    def undo(self) -> list[int]:
        """Take the last change back and save; return the rows it was about."""
        with self._lock:
            if not self._undo:
                return []
            before = self._undo.pop()
            self._set({row: one or Decision() for row, one in before.items()})
            return list(before)

    @property
    def steps(self) -> int:
        """How many changes can be undone."""
        return len(self._undo)

    def _set(self, after: dict[int, Decision]) -> None:
        made = {**self.said, **after}
        made = {row: one for row, one in made.items() if one != Decision()}
        ids = self.source.ids
        rows: dict[Any, Decision] = {ids[row].item(): one for row, one in made.items()}
        number = ids.dtype.kind in "iu"
        other = {int(id) if number else id: one for id, one in self.elsewhere.items()}
        Decisions.of({**other, **rows}, RANKED[self.source.task]).save(self.path)
        copied_back(self.path.parent, [self.path])
        self.said, self.version = made, self.version + 1

    def mask(self, word: str) -> Mask:
        """Which rows have a mark of this kind."""
        tests: dict[str, Callable[[Decision], bool]] = {
            "any": lambda one: True,
            "none": lambda one: True,
            "wrong": lambda one: one.verdict == "confirmed",
            "right": lambda one: one.verdict == "refused",
            "corrected": lambda one: bool(one.correction),
            "drop": lambda one: one.choice == "drop",
            "keep": lambda one: one.choice == "keep",
        }
        found = np.zeros(len(self.source), dtype=bool)
        found[[row for row, one in self.said.items() if tests[word](one)]] = True
        return ~found if word == "none" else found

    def counts(self) -> dict[str, int]:
        """How many marks there are of each kind."""
        said = self.said.values()
        return {
            "wrong": sum(one.verdict == "confirmed" for one in said),
            "corrected": sum(bool(one.correction) for one in said),
            "right": sum(one.verdict == "refused" for one in said),
            "drop": sum(one.choice == "drop" for one in said),
            "keep": sum(one.choice == "keep" for one in said),
        }


def _changed(one: Decision, change: dict[str, str]) -> Decision:
    """A decision with some words replaced: a correction confirms, and a label that is not wrong needs none."""
    words = {"verdict": one.verdict, "correction": one.correction, "choice": one.choice, **change}
    if change.get("correction"):
        words["verdict"] = "confirmed"
    if words["verdict"] != "confirmed":
        words["correction"] = ""
    return Decision(**words)
