"""How a notebook shows artefacts: a one-line description above a short table."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .table import Table

__all__ = ["MOST_ROWS", "Shown", "ShownAsText", "class_table", "fact_table", "label_columns"]

MOST_ROWS = 20  # classes shown; a data set may have thousands of them


class Shown:
    """Base class of artefacts that a notebook shows as a table."""

    def _view(self) -> Table:
        """The table below the description."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self._view()._repr_html_()}"


class ShownAsText:
    """Base class of artefacts that a notebook shows as printed text."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def class_table(labels: NDArray[Any] | None, classes: Sequence[str], values: NDArray[Any] | None = None) -> Table:
    """Examples per class with the spread of `values`; a single row if there are no classes."""
    if labels is None or not len(classes):
        held = np.zeros(0) if values is None else values
        return Table(({"class": "all", "examples": len(held), **_spread(held)},))
    several = labels.ndim == 2  # rows of 0 and 1: an example may have several labels
    groups = [
        (name, labels[:, number] == 1 if several else labels == number)
        for number, name in enumerate(classes[:MOST_ROWS])
    ]
    if several and len(classes) > MOST_ROWS:
        groups.append((f"and {len(classes) - MOST_ROWS} more", labels[:, MOST_ROWS:].any(axis=1)))
    elif len(classes) > MOST_ROWS:
        groups.append((f"and {len(classes) - MOST_ROWS} more", labels >= MOST_ROWS))
    rows = []
    for name, inside in groups:
        spread = {} if values is None else _spread(values[inside])
        rows.append({"label" if several else "class": name, "examples": int(np.count_nonzero(inside)), **spread})
    return Table(tuple(rows))


def fact_table(facts: Mapping[str, Any]) -> Table:
    """One row per fact; anything but numbers and text is left out."""
    shown = {name: value for name, value in facts.items() if isinstance(value, str | int | float)}
    return Table(tuple({"": name.replace("_", " "), "value": value} for name, value in shown.items()))


def label_columns(labels: NDArray[Any] | None, classes: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The label columns of a data frame: class names, lists of them, or one column per regression target."""
    if labels is None:
        return {}
    if len(classes) and labels.ndim == 2:
        lists = np.empty(len(labels), dtype=object)
        for place, row in enumerate(labels):
            lists[place] = [name for name, held in zip(classes, row.tolist(), strict=True) if held]
        return {"label": lists}
    if len(classes):
        return {"label": np.array(classes)[labels]}
    if labels.ndim == 1:
        return {"label": labels}
    return {f"label_{k}": column for k, column in enumerate(labels.reshape(len(labels), -1).T)}


def _spread(values: NDArray[Any]) -> dict[str, float]:
    points = np.percentile(values, (0, 50, 100)) if values.size else np.full(3, np.nan)
    mean = float(values.mean()) if values.size else math.nan
    return {"mean": mean, "lowest": float(points[0]), "median": float(points[1]), "highest": float(points[2])}
