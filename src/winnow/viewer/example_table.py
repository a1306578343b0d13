"""One row per example, and what a run says about it in columns: scores, membership, issues, predictions.

Rows are in the order of the source; a row number names an example in every address of the server. Orders are sorted
when they are first needed and kept, so that a page of a million rows is a slice.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source, Subset
from ..artefacts.finding import RANKED, WHOLE
from ..core.errors import InputError, UnknownNameError
from .run_contents import RunContents
from .signal_file import SignalFile

__all__ = ["ExampleTable", "label_text"]

Mask = NDArray[np.bool_]
Rows = NDArray[np.int32]
RECORDED = {
    "losses": "loss, last epoch",
    "probabilities": "probability of the label, last epoch",
    "correct": "share of the epochs with a right answer",
}
WRONG = "probability that it is wrong"
AT_ONCE = 20_000_000  # predictions in memory


class ExampleTable:
    """The examples of a run.

    Parameters
    ----------
    source
        The data.
    run
        What the run holds.
    """

    def __init__(self, source: Source, run: RunContents) -> None:
        self.source, self.run, self.n = source, run, len(source)
        self.reading = threading.Lock()  # readers of files need not be safe for threads
        self._sorting = threading.Lock()
        self._orders: dict[str, Rows] = {}
        self._known: dict[str, int] = {}
        self._places: dict[int, tuple[NDArray[np.int64], Mask]] = {}
        self.members: dict[str, Mask] = {name: self.mask_of(one) for name, one in run.subsets.items()}
        self.columns: dict[str, NDArray[np.float32]] = {
            one.name: self.lined_up(one.ids, one.values) for one in run.scores
        }
        if run.issues is not None:
            rows = run.issues.kinds == RANKED[run.issues.task]
            self.columns[WRONG] = self.lined_up(run.issues.ids[rows], run.issues.probabilities[rows])
            with suppress(InputError):  # every example is flagged
                self.members.setdefault("clean subset", self.mask_of(run.issues.clean()))
        self._add_recorded()

    def _add_recorded(self) -> None:
        """Columns from the recorded trainings: the mean over their files and seeds."""
        for name, said in RECORDED.items():
            total, count = np.zeros(self.n, dtype=np.float32), np.zeros(self.n, dtype=np.float32)
            for file in self.run.signals:
                if file.origin(name) is not None:
                    place, known = self.places(file.ids)
                    total[place] += file.over_epochs(name, last=name != "correct")[known]
                    count[place] += 1
            if count.any():
                self.columns[said] = np.where(count > 0, total / np.maximum(count, 1), np.float32(np.nan))

    def places(self, ids: NDArray[Any]) -> tuple[NDArray[np.int64], Mask]:
        """Row numbers of ids, and which of the ids the source has."""
        order, own = self.source.order, self.source.ids
        if (ids.dtype.kind in "iu") != (own.dtype.kind in "iu"):
            return np.zeros(0, dtype=np.int64), np.zeros(ids.size, dtype=bool)
        if ids.size == own.size and np.array_equal(ids, own):
            return np.arange(self.n), np.ones(self.n, dtype=bool)
        ranked = own[order]
        place = np.minimum(np.searchsorted(ranked, ids), self.n - 1)
        known = ranked[place] == ids
        return order[place[known]], known

    def row_of_id(self, id: Any) -> int | None:
        """The row of an id given as text; None if the source has no such example."""
        text, numbers = str(id), self.source.ids.dtype.kind in "iu"
        if not text or (numbers and not (text.removeprefix("-").isdecimal() and len(text) < 19)):
            return None
        place, _ = self.places(np.array([int(text) if numbers else text]))
        return int(place[0]) if place.size else None

    def lined_up(self, ids: NDArray[Any], values: NDArray[Any]) -> NDArray[np.float32]:
        """One number per row; NaN where there is none."""
        found = np.full(self.n, np.nan, dtype=np.float32)
        place, known = self.places(ids)
        found[place] = values[known]
        return found

    def mask_of(self, subset: Subset) -> Mask:
        """Which rows are in a subset."""
        found = np.zeros(self.n, dtype=bool)
        found[self.places(subset.ids)[0]] = True
        return found

    def add_subset(self, name: str, subset: Subset) -> None:
        """Add the members of a subset that was found later."""
        self.members[name] = self.mask_of(subset)
        self._orders.pop(f"member:{name}", None)

    @cached_property
    def observed(self) -> Mask:
        """Which rows the run is about: the others were held out, or dropped by marks."""
        order = [] if self.run.order is None else [self.run.order]
        several: list[Any] = [*self.run.signals, *self.run.scores, *order]
        ids = [one.ids for one in several[:1]]
        if self.run.issues is not None:
            ids.append(self.run.issues.ids)
        if not ids:
            return np.ones(self.n, dtype=bool)
        found = np.zeros(self.n, dtype=bool)
        for one in ids:
            found[self.places(one)[0]] = True
        return found

    @cached_property
    def labels(self) -> NDArray[np.int32] | None:
        """Class numbers; None if examples have no single class."""
        return self.source.labels.astype(np.int32) if self.classified and self.source.labels is not None else None

    @property
    def classified(self) -> bool:
        """Whether each example has one class."""
        return self.source.task == "classification"

    @cached_property
    def predicted(self) -> NDArray[np.int32] | None:
        """The class that the networks of the run give, out of fold if they were trained so; -1 where unknown."""
        if not self.classified:
            return None
        name = next((one for one in ("oof", "predictions") if any(one in f.arrays for f in self.run.signals)), None)
        if name is None:
            return None
        files = [one for one in self.run.signals if name in one.arrays]
        held = [
            (one, *self.places(one.ids)) for one in files if list(one.about["classes"]) == list(self.source.classes)
        ]
        found, best = np.full(self.n, -1, dtype=np.int32), np.zeros(self.n, dtype=np.float32)
        width, classes = max(1, AT_ONCE // self.n), len(self.source.classes)
        for first in range(0, classes, width):  # a few classes at a time, so that a thousand of them need no memory
            total = np.zeros((self.n, min(width, classes - first)), dtype=np.float32)
            for file, place, known in held:
                total[place] += file.of_classes(name, first, min(first + width, classes)).mean(axis=0)[known]
            largest = total.max(axis=1)
            better = largest > best
            found[better], best[better] = first + total[better].argmax(axis=1), largest[better]
        return found

    @cached_property
    def found(self) -> Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The issues of each kind: row numbers of the examples, and rows of the Issues."""
        issues = self.run.issues
        if issues is None:
            return {}
        made = {}
        for kind in issues.counts():
            if kind in WHOLE:
                continue
            at = np.flatnonzero(issues.found & (issues.kinds == kind))
            place, known = self.places(issues.ids[at])
            made[kind] = (place, at[known])
        return made

    @cached_property
    def suggestions(self) -> Mapping[int, str]:
        """What the label issues suggest, in words, by row."""
        issues = self.run.issues
        place, at = self.found.get(RANKED[self.source.task], ((), ()))
        if issues is None:
            return {}
        pairs = zip(np.asarray(place).tolist(), np.asarray(at, dtype=np.int64).tolist(), strict=True)
        return {row: str(issues.suggestions[one]) for row, one in pairs if issues.suggestions[one]}

    def issue_mask(self, kind: str) -> Mask:
        """Which rows have an issue of a kind, or any."""
        mask = np.zeros(self.n, dtype=bool)
        for one, (place, _) in self.found.items():
            if kind in ("any", one):
                mask[place] = True
        return mask

    @property
    def sort_keys(self) -> list[str]:
        """What rows can be sorted by."""
        fixed = ["position", *(["class"] if self.classified else [])]
        fixed += ["prediction"] if self.predicted is not None else []
        fixed += [f"member:{name}" for name in self.members] + (["issue"] if self.found else [])
        return [*fixed, *self.columns]

    def order(self, key: str) -> Rows:
        """Row numbers sorted by a column, ascending; rows without a value are last.

        Members of a subset come after the others, and issues that are more likely after those that are less.
        """
        if key not in self._orders:
            with self._sorting:
                if key not in self._orders:
                    self._orders[key] = np.argsort(self._values(key), kind="stable").astype(np.int32)
        return self._orders[key]

    def known(self, key: str) -> int:
        """How many rows have a value of a column."""
        if key not in self.columns:
            return self.n
        if key not in self._known:
            self._known[key] = self.n - int(np.count_nonzero(np.isnan(self.columns[key])))
        return self._known[key]

    def _values(self, key: str) -> NDArray[Any]:
        if key in self.columns:
            return self.columns[key]
        if key == "class" and self.labels is not None:
            return self.labels
        if key == "prediction" and self.predicted is not None:
            return self.predicted
        if key.startswith("member:") and key[7:] in self.members:
            return self.members[key[7:]]
        if key == "issue":
            sure = np.zeros(self.n, dtype=np.float32)
            for place, at in self.found.values():
                np.maximum.at(sure, place, self.run.issues.probabilities[at].astype(np.float32))  # type: ignore[union-attr]
            return sure
        if key == "position":
            return np.arange(self.n, dtype=np.int32)
        raise UnknownNameError.of("column", key, self.sort_keys)

    def percentile(self, name: str, row: int) -> float | None:
        """The share of the examples with a value that is not larger, in per cent."""
        value, values = self.columns[name][row], self.columns[name]
        if np.isnan(value):
            return None
        return 100.0 * np.count_nonzero(values <= value) / self.known(name)

    def warm(self) -> None:
        """Sort every column once, before anybody asks."""
        for key in self.sort_keys:
            self.order(key)

    def curve_files(self, row: int) -> list[tuple[SignalFile, int]]:
        """The files that recorded the training of an example, and its place in each."""
        found = []
        for number, file in enumerate(self.run.signals):
            if number not in self._places:
                place, known = self.places(file.ids)
                back = np.full(self.n, -1, dtype=np.int64)
                back[place] = np.flatnonzero(known)
                self._places[number] = (back, known)
            if (here := int(self._places[number][0][row])) >= 0:
                found.append((file, here))
        return found


def label_text(source: Source, row: int) -> str | None:
    """The label of an example in words; None if it has none."""
    from ..artefacts.label_sets import label_words

    if source.labels is None:
        return None
    label = source.labels[row]
    if source.task == "multilabel":
        return label_words(label, source.classes)
    if source.task == "classification":
        return source.classes[int(label)]
    return ", ".join(f"{value:.4g}" for value in np.atleast_1d(label).tolist())
