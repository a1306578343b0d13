"""Which rows a page shows, and in which order: a filter read from the address, and the rows that pass it."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from .example_table import ExampleTable, Mask, Rows
from .mark_book import MarkBook
from .what_if import WhatIf

__all__ = ["RowFilter", "Views", "inside"]

SHOWN = ("", "a", "b", "both", "only_a", "only_b", "neither", "enters", "leaves")
SPLITS = ("", "run", "other")
MARKS = ("", "any", "none", "wrong", "right", "corrected", "drop", "keep")
MOST_CORNERS = 400
MOST_TEXTS = 400_000  # texts that are searched; beyond this, ids and classes only
KEPT = 12  # views in memory
LASSOS = 4  # and lassos
BLOCK = 4096


@dataclass(frozen=True)
class RowFilter:
    """What to show. Every field is as in the address of a page."""

    sort: str = "position"
    descending: bool = False
    classes: tuple[int, ...] = ()
    predicted: tuple[int, ...] = ()
    member: str = ""  # NAME for members of a subset, !NAME for the others
    issue: str = ""
    mark: str = ""
    split: str = ""  # "run" or "other"
    disagree: bool = False  # prediction differs from the label
    ranges: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    search: str = ""
    lasso: tuple[tuple[float, float], ...] = ()
    show: str = ""  # of what-if

    @classmethod
    def read(cls, text: str) -> RowFilter:
        """A filter from JSON; raises one sentence for anything else."""
        try:
            given = json.loads(text or "{}")
            made = cls(
                sort=str(given.get("sort", "position")),
                descending=bool(given.get("descending", False)),
                classes=tuple(int(one) for one in given.get("classes", ())),
                predicted=tuple(int(one) for one in given.get("predicted", ())),
                member=str(given.get("member", "")),
                issue=str(given.get("issue", "")),
                mark=str(given.get("mark", "")),
                split=str(given.get("split", "")),
                disagree=bool(given.get("disagree", False)),
                ranges={
                    str(name): (_number(low), _number(high)) for name, (low, high) in given.get("ranges", {}).items()
                },
                search=str(given.get("search", ""))[:200],
                lasso=tuple((float(x), float(y)) for x, y in given.get("lasso", ())),
                show=str(given.get("show", "")),
            )
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            raise InputError("the filter of a view must be a JSON object as the page sends it.") from None
        made._check()
        return made

    def _check(self) -> None:
        """Raise for values that the page never sends."""
        known = self.show in SHOWN and self.mark in MARKS and self.split in SPLITS
        classes = all(0 <= one < 2**31 for one in (*self.classes, *self.predicted))
        finite = all(abs(value) < 1e6 for corner in self.lasso for value in corner)
        if not (known and classes and finite and len(self.lasso) <= MOST_CORNERS):
            raise InputError("the filter of a view has a value that the page never sends.")


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


class Views:
    """The rows of recent views, so that scrolling and paging read a slice; requests come from several threads."""

    def __init__(self, table: ExampleTable, points: NDArray[np.float32] | None, marks: MarkBook) -> None:
        self.table, self.points, self.marks = table, points, marks
        self._kept: OrderedDict[Any, Rows] = OrderedDict()
        self._lassos: OrderedDict[Any, Mask] = OrderedDict()
        self._lock = threading.Lock()
        self._words: dict[str, Any] = {}  # ids and texts in lower case, as Arrow holds them: it searches fast

    def rows(self, asked: RowFilter, what_if: WhatIf | None = None) -> Rows:
        """Row numbers in the order of the view."""
        said = repr(asked), None if what_if is None else what_if.key, self.marks.version if asked.mark else 0
        with self._lock:
            if said in self._kept:
                self._kept.move_to_end(said)
                return self._kept[said]
        order = self.table.order(asked.sort)
        if asked.descending:
            known = self.table.known(asked.sort)
            order = np.concatenate([order[:known][::-1], order[known:]])
        mask = self.mask(asked, what_if)
        found = order if mask is None else order[mask[order]]
        with self._lock:
            self._kept[said] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def mask(self, asked: RowFilter, what_if: WhatIf | None = None) -> Mask | None:
        """Which rows pass; None if all do."""
        table, parts = self.table, []
        if asked.classes and table.labels is not None:
            parts.append(np.isin(table.labels, asked.classes))
        if asked.predicted and table.predicted is not None:
            parts.append(np.isin(table.predicted, asked.predicted))
        if asked.member:
            name = asked.member.removeprefix("!")
            if name not in table.members:
                raise InputError(f"there is no subset {name!r} in this run.")
            parts.append(~table.members[name] if asked.member.startswith("!") else table.members[name])
        if asked.issue:
            parts.append(table.issue_mask(asked.issue))
        if asked.mark:
            parts.append(self.marks.mask(asked.mark))
        if asked.split:
            parts.append(table.observed if asked.split == "run" else ~table.observed)
        if asked.disagree and table.predicted is not None and table.labels is not None:
            parts.append((table.predicted != table.labels) & (table.predicted >= 0))
        for name, (low, high) in asked.ranges.items():
            if name not in table.columns:
                raise InputError(f"there is no score {name!r} in this run.")
            parts += [table.columns[name] >= low] if low is not None else []
            parts += [table.columns[name] <= high] if high is not None else []
        if asked.lasso and self.points is not None:
            parts.append(self._lassoed(asked.lasso))
        if asked.show and what_if is not None:
            parts.append(what_if.mask(asked.show))
        if asked.search:
            parts.append(self._matches(asked.search))
        return np.logical_and.reduce(parts) if parts else None

    def _lassoed(self, corners: tuple[tuple[float, float], ...]) -> Mask:
        with self._lock:
            found = self._lassos.get(corners)
        if found is None:
            assert self.points is not None
            found = inside(self.points, np.array(corners))
            with self._lock:
                self._lassos[corners] = found
                while len(self._lassos) > LASSOS:
                    self._lassos.popitem(last=False)
        return found

    def _matches(self, word: str) -> Mask:
        """Rows whose id, class or text holds a word, whatever its case."""
        table, source = self.table, self.table.source
        mask = self._holding("ids", word)
        if table.labels is not None:
            hits = [number for number, name in enumerate(source.classes) if word.casefold() in name.casefold()]
            mask |= np.isin(table.labels, hits)
        if source.kind == "text" and table.n <= MOST_TEXTS:
            mask |= self._holding("texts", word)
        return mask

    def _holding(self, kind: str, word: str) -> Mask:
        import pyarrow.compute as pc

        if kind not in self._words:
            self._words[kind] = self._ids() if kind == "ids" else self._texts()
        found = pc.match_substring(self._words[kind], word.lower())
        return np.array(found.to_numpy(zero_copy_only=False), dtype=bool)

    def _ids(self) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        ids = pa.array(self.table.source.ids)
        return pc.utf8_lower(ids if pa.types.is_string(ids.type) else ids.cast(pa.string()))

    def _texts(self) -> Any:
        """All texts, read once."""
        import pyarrow as pa

        read, parts = self.table.source.read_texts, []
        assert read is not None
        for start in range(0, self.table.n, BLOCK):
            where = np.arange(start, min(start + BLOCK, self.table.n))
            with self.table.reading:
                parts.append(pa.array([str(one).lower() for one in read(where)], type=pa.string()))
        return pa.chunked_array(parts, type=pa.string())


def inside(points: NDArray[np.float32], corners: NDArray[np.float64]) -> Mask:
    """Which points are within a polygon, by the number of edges to their right; points far outside are never tried."""
    mask = np.zeros(len(points), dtype=bool)
    if len(corners) < 3:
        return mask
    low, high = corners.min(axis=0), corners.max(axis=0)
    across, up = points[:, 0], points[:, 1]
    near = np.flatnonzero((across >= low[0]) & (across <= high[0]) & (up >= low[1]) & (up <= high[1]))
    x, y = across[near].astype(np.float64), up[near].astype(np.float64)
    odd = np.zeros(near.size, dtype=bool)
    for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y1 != y2:
            odd ^= ((y1 > y) != (y2 > y)) & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
    mask[near] = odd
    return mask
