"""Everything a run says about one example, for the panel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.example_map import ExampleMap
from ..artefacts.explanation import Partner
from .example_content import column_names, contents, has_pictures
from .example_table import ExampleTable, label_text
from .mark_book import MarkBook
from .run_contents import CHOSEN
from .suggested_label import suggested_label

__all__ = ["example_panel"]

NEAR = 8
MOST_CURVES = 8


def example_panel(table: ExampleTable, row: int, marks: MarkBook, drawn: ExampleMap | None) -> dict[str, Any]:
    """One example.

    Parameters
    ----------
    table
        The examples.
    row
        Its row number.
    marks
        What a person said.
    drawn
        The map, whose rows neighbours are found in; None if there is none.
    """
    source, said = table.source, marks.of(row)
    predicted = None if table.predicted is None else int(table.predicted[row])
    return {
        "row": row,
        "id": str(source.ids[row]),
        "label": label_text(source, row),
        "predicted": None if predicted is None or predicted < 0 else source.classes[predicted],
        "suggestion": suggested_label(table, row),
        "picture": has_pictures(source),
        "columns": column_names(source) if source.kind == "table" else [],
        **contents(table, np.array([row]), short=False)[0],
        "observed": bool(table.observed[row]),
        "curves": list(_curves(table, row)),
        "scores": _scores(table, row),
        "members": {name: bool(mask[row]) for name, mask in table.members.items()},
        "issues": list(_issues(table, row)),
        "near": [] if drawn is None else _near(table, row, drawn),
        "near_said": "" if drawn is None else drawn.features,
        "relations": _relations(table, row),
        "soft": _soft(table, row),
        "mark": {"verdict": said.verdict, "correction": said.correction, "choice": said.choice},
    }


def _curves(table: ExampleTable, row: int) -> Iterator[dict[str, Any]]:
    count = 0
    for file, place in table.curve_files(row):
        for curve in file.curves(place):
            if count < MOST_CURVES and len(curve) > 2:
                count += 1
                yield curve


def _scores(table: ExampleTable, row: int) -> list[dict[str, Any]]:
    return [
        {"name": name, "value": float(values[row]), "percentile": table.percentile(name, row)}
        for name, values in table.columns.items()
        if not np.isnan(values[row])
    ]


def _issues(table: ExampleTable, row: int) -> Iterator[dict[str, Any]]:
    issues = table.run.issues
    for kind, (place, at) in table.found.items():
        for one in at[place == row].tolist():
            assert issues is not None
            yield {
                "kind": kind,
                "probability": float(issues.probabilities[one]),
                "evidence": str(issues.evidence[one]),
                "suggestion": str(issues.suggestions[one]),
                "other": str(issues.others[one]),
                "other_row": None if issues.others[one] in ("", None) else table.row_of_id(issues.others[one]),
            }


def _near(table: ExampleTable, row: int, drawn: ExampleMap) -> list[dict[str, Any]]:
    """The nearest examples by the rows of the map, which are in the order of the table."""
    rows = drawn.rows
    gaps = np.linalg.norm(rows - rows[row], axis=1) if len(rows) < 50_000 else _distances(rows, row)
    gaps[row] = np.inf
    count = min(NEAR, len(rows) - 1)
    best = np.argpartition(gaps, count - 1)[:count] if count else np.zeros(0, dtype=np.int64)
    best = best[np.argsort(gaps[best], kind="stable")]
    return [_named(table, int(one), distance=float(gaps[one])) for one in best]


def _distances(rows: NDArray[np.float32], row: int) -> NDArray[Any]:
    """Distances by one product of matrix and vector, which takes no second copy of the rows."""
    squares = np.einsum("ij,ij->i", rows, rows)
    return np.asarray(np.sqrt(np.maximum(squares - 2 * (rows @ rows[row]) + squares[row], 0)))


def _named(table: ExampleTable, row: int, **more: Any) -> dict[str, Any]:
    return {"row": row, "id": str(table.source.ids[row]), "label": label_text(table.source, row), **more}


def _relations(table: ExampleTable, row: int) -> dict[str, Any] | None:
    """What the example is learned together with and against, by lpNTK, if the run says so."""
    id = str(table.source.ids[row])
    found = [one.standing for one in table.run.examples if str(one.id) == id]
    found += [one for all_of in table.run.explanations for one in all_of.standings if str(one.id) == id]
    if not found:
        return None
    first = found[0]
    return {"together": list(_partners(table, first.same_way)), "against": list(_partners(table, first.against))}


def _partners(table: ExampleTable, partners: Iterable[Partner]) -> Iterator[dict[str, Any]]:
    for one in partners:
        yield {
            "row": table.row_of_id(one.id),
            "id": str(one.id),
            "label": one.label,
            "cosine": one.cosine,
            "projection": one.projection,
        }


def _soft(table: ExampleTable, row: int) -> list[dict[str, Any]]:
    """The soft target of the example in the subset of the run, the largest parts first."""
    subset = table.run.subsets.get(CHOSEN)
    if subset is None or subset.targets is None:
        return []
    id = table.source.ids[row]
    place = int(np.searchsorted(subset.ids, id))
    if place >= len(subset) or subset.ids[place] != id:
        return []
    values = np.asarray(subset.targets.at(id), dtype=np.float64).reshape(-1)
    names = subset.targets.classes or tuple(f"output {number}" for number in range(values.size))
    largest = np.argsort(-values, kind="stable")[:6]
    return [{"name": names[k], "value": float(values[k])} for k in largest if values[k] > 0.005 or not table.classified]
