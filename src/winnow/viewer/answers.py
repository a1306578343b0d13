"""What the page asks for, as plain functions from parameters to values: no web framework in here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..artefacts import Source
from ..artefacts.example_map import ExampleMap
from ..core.errors import InputError
from .example_content import column_names, contents, has_pictures
from .example_panel import example_panel
from .example_table import ExampleTable, Rows, label_text
from .mark_book import MarkBook
from .recompute import Recomputation
from .row_filter import RowFilter, Views
from .run_contents import CHOSEN, RunContents
from .run_panel import forecast, run_panel
from .suggested_label import suggested_label
from .view_export import EXPORTS, exported
from .what_if import Choice, Orders, WhatIf

__all__ = ["Answers"]

MOST_ROWS = 400  # of one page
MISSING = 65_535
STEPS = 65_534


class Answers:
    """Everything that the page can ask about one run."""

    def __init__(self, run: RunContents, source: Source, drawn: ExampleMap | None) -> None:
        share_ids(source, [*run.signals, *run.scores, *([] if drawn is None else [drawn])])
        self.run, self.source, self.drawn = run, source, drawn
        self.table = ExampleTable(source, run)
        self.marks = MarkBook(self.table, run.path)
        self.views = Views(self.table, None if drawn is None else drawn.points, self.marks)
        seed = run.settings.get("seed", 0)
        self.orders = Orders(self.table, seed if isinstance(seed, int) else 0)
        self.recomputation = Recomputation(self.table)
        self._panel: dict[str, Any] | None = None

    def warm(self) -> None:
        """Compute what the first requests would have to wait for."""
        self.table.warm()
        for method in self.orders.methods():
            if "fixed" not in method:
                self.orders.places(method["name"])

    def about(self) -> dict[str, Any]:
        """What the page needs before it can draw anything."""
        table, source = self.table, self.source
        keep, balance = (self.run.settings.get(name) for name in ("keep", "balance"))
        return {
            "version": __version__,
            "name": source.name,
            "folder": self.run.name,
            "command": self.run.command,
            "n": table.n,
            "observed": self.orders.total,
            "kind": source.kind,
            "pictures": has_pictures(source),
            "columns": column_names(source)[:12] if source.kind == "table" else [],
            "task": source.task,
            "classes": list(source.classes),
            "counts": [] if table.labels is None else [group.stop - group.start for group in self.orders.groups],
            "sorts": table.sort_keys,
            "scores": [self._range(name) for name in table.columns],
            "members": {name: int(np.count_nonzero(mask)) for name, mask in table.members.items()},
            "issues": {kind: int(np.unique(place).size) for kind, (place, _) in table.found.items()},
            "predicted": table.predicted is not None,
            "map": None if self.drawn is None else self._map_said(self.drawn),
            "methods": self.orders.methods(),
            "recompute": self.recomputation.methods() if self.recomputation.possible else [],
            "keep": keep,
            "balance": balance,
            "exact": self.exact,
            "changed": self.changed,
            "marks": self.marks.counts(),
            "undo": self.marks.steps,
        }

    def _range(self, name: str) -> dict[str, Any]:
        order, known = self.table.order(name), self.table.known(name)
        values = self.table.columns[name]
        ends = (float(values[order[0]]), float(values[order[known - 1]])) if known else (0.0, 0.0)
        return {"name": name, "low": ends[0], "high": ends[1], "known": known}

    def _map_said(self, drawn: ExampleMap) -> str:
        shares = ", ".join(f"{100 * share:.0f} %" for share in drawn.explained)
        of = f"PCA of {drawn.features}" if drawn.method == "pca" else f"UMAP of {drawn.features}"
        return f"{of} ({shares} of the variance)" if shares else of

    @cached_property
    def exact(self) -> str:
        """Whether order and quotas give the subset of this run, in words; empty if they do or nothing is known."""
        run, subset = self.run, self.run.subsets.get(CHOSEN)
        if run.order is None or subset is None:
            return ""
        asked = Choice(CHOSEN, min(1.0, len(subset) / max(1, self.orders.total)), run.order.balance)
        missing = WhatIf(self.orders, asked, Choice(f"subset:{CHOSEN}")).counts()["only_a"]
        if not missing:
            return ""
        return (
            f"At its own fraction, the quick answer differs from the subset of this run in {missing} of {len(subset)} "
            f"examples, because {run.order.method} weighs each class by itself; recompute for the exact answer."
        )

    @cached_property
    def changed(self) -> str:
        """Whether the labels are still those of the run, in words; empty if they are or nothing is known."""
        files = [file for file in self.run.signals[:1] if file.labelled]
        if not files or self.source.labels is None:
            return ""
        place, known = self.table.places(files[0].ids)
        before, now = files[0].whole("labels")[known], self.source.labels[place]
        if before.shape != now.shape:
            return "The data have other labels than the run: they have changed since, or other data were given."
        other = int(np.count_nonzero((before != now).reshape(len(now), -1).any(axis=1)))
        if not other:
            return ""
        return f"{other} labels are not those that the run used: marks corrected them, or the data have changed since."

    def what_if(self, given: Mapping[str, str]) -> WhatIf | None:
        """The comparison that an address names, if it names one."""
        if "a" not in given or "b" not in given:
            return None
        return WhatIf(self.orders, Choice.read(given["a"]), Choice.read(given["b"]))

    def rows(self, given: Mapping[str, str]) -> dict[str, Any]:
        """A page of the grid."""
        start, count = _whole(given, "start", 0), min(_whole(given, "count", 60), MOST_ROWS)
        asked = RowFilter.read(given.get("filter", ""))
        found = self.views.rows(asked, self.what_if(given))
        part = found[start : start + count]
        more = contents(self.table, part, short=True)
        issues = self._issues_of(part)
        shown = asked.sort if asked.sort in self.table.columns else next(iter(self.table.columns), "")
        return {
            "total": int(found.size),
            "start": start,
            "score": shown,
            "rows": [
                self._row(row, shown, beside, issues.get(row, []))
                for row, beside in zip(part.tolist(), more, strict=True)
            ],
        }

    def brief(self, given: Mapping[str, str]) -> dict[str, Any]:
        """One row as the grid shows it, for whoever points at it in the map."""
        row = self.row_of(given.get("row", ""))
        beside = contents(self.table, np.array([row]), short=True)[0]
        score = next(iter(self.table.columns), "")
        return self._row(row, score, beside, self._issues_of(np.array([row], dtype=np.int32)).get(row, []))

    def _row(self, row: int, score: str, beside: dict[str, Any], issues: list[str]) -> dict[str, Any]:
        table, said = self.table, self.marks.of(row)
        predicted = -1 if table.predicted is None else int(table.predicted[row])
        value = float(table.columns[score][row]) if score else float("nan")
        return {
            "row": row,
            "id": str(self.source.ids[row]),
            "label": label_text(self.source, row),
            "predicted": self.source.classes[predicted] if predicted >= 0 else None,
            "suggestion": suggested_label(table, row),
            "score": None if value != value else value,
            "members": [name for name, mask in table.members.items() if mask[row]],
            "issues": issues,
            "mark": [said.verdict, said.correction, said.choice],
            **beside,
        }

    def _issues_of(self, part: Rows) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for kind, (place, _) in self.table.found.items():
            for row in (
                set(part.tolist()) & set(place.tolist()) if place.size < 5000 else part[np.isin(part, place)].tolist()
            ):
                found.setdefault(int(row), []).append(kind)
        return found

    def points(self) -> bytes:
        """The map: two numbers of 16 bits per example."""
        if self.drawn is None:
            raise InputError("this run has no map.")
        return ((self.drawn.points + 1) * (STEPS / 2)).round().astype("<u2").tobytes()

    def colours(self, by: str) -> tuple[bytes, str]:
        """What colours each point: numbers of 16 bits, and whether they are categories or values."""
        table = self.table
        if by == "class" and table.labels is not None:
            return _categories(table.labels), "categories"
        if by == "prediction" and table.predicted is not None:
            return _categories(table.predicted), "categories"
        if by == "issue":
            return _categories(table.issue_mask("any")), "categories"
        if by == "split":
            return _categories(table.observed), "categories"
        if by.startswith("member:") and by[7:] in table.members:
            return _categories(table.members[by[7:]]), "categories"
        if by not in table.columns:
            raise InputError(f"there is no column {by!r} to colour by.")
        place = np.full(table.n, MISSING, dtype="<u2")
        order, known = table.order(by), table.known(by)
        place[order[:known]] = np.linspace(0, STEPS, known).astype("<u2")  # by rank: every colour is used as often
        return place.tobytes(), "values"

    def mask(self, given: Mapping[str, str]) -> bytes:
        """Which examples pass the filter, one bit each."""
        found = self.views.mask(RowFilter.read(given.get("filter", "")), self.what_if(given))
        return np.packbits(np.ones(self.table.n, dtype=bool) if found is None else found).tobytes()

    def compared(self, given: Mapping[str, str]) -> dict[str, Any]:
        """How two choices differ, and what to expect of the second."""
        found = self.what_if(given)
        if found is None:
            raise InputError("a comparison needs two choices.")
        share = found.counts()["b"] / max(1, self.orders.total)
        return {**found.counts(), "forecast": forecast(self.run, share), "share": share}

    def example(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The panel of one example."""
        return example_panel(self.table, self.row_of(given.get("row", "")), self.marks, self.drawn)

    def row_of(self, text: str) -> int:
        """A row number, checked."""
        if not text.isascii() or not text.isdigit() or len(text) > 12 or not int(text) < self.table.n:
            raise InputError(f"row must be a number from 0 to {self.table.n - 1}.")
        return int(text)

    def panel(self) -> dict[str, Any]:
        """What is known about the run itself."""
        if self._panel is None:
            self._panel = run_panel(self.run)
        return self._panel

    def export(self, given: Mapping[str, str]) -> tuple[bytes, str]:
        """The view as a file in one of the formats of `view_export`, and the name of the file."""
        asked, kind = RowFilter.read(given.get("filter", "")), given.get("format", "subset")
        if kind not in EXPORTS:
            raise InputError(f"format must be one of {', '.join(EXPORTS)}.")
        found = self.views.rows(asked, self.what_if(given))
        if not found.size:
            raise InputError("the view is empty, so there is nothing to export.")
        shown = {name: value for name, value in asdict(asked).items() if value}
        return exported(self.table, found, self.marks, kind, shown), EXPORTS[kind]


def share_ids(source: Source, several: Iterable[Any]) -> None:
    """Let artefacts with the ids of the source hold the very same array: a million ids in words take 64 MB."""
    for one in several:
        if one.ids.shape == source.ids.shape and np.array_equal(one.ids, source.ids):
            object.__setattr__(one, "ids", source.ids)


def _categories(values: NDArray[Any]) -> bytes:
    found = values.astype(np.int64)
    return np.where(found < 0, MISSING, np.minimum(found, STEPS)).astype("<u2").tobytes()


def _whole(given: Mapping[str, str], name: str, usual: int) -> int:
    text = given.get(name, str(usual))
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise InputError(f"{name} must be a whole number.")
    return int(text)
