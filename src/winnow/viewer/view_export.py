"""The examples of a view as a file: a Subset, or a table of everything that is known about them."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Subset
from ..artefacts.decisions import Decision
from ..artefacts.provenance import record
from .example_table import ExampleTable, Rows, label_text
from .mark_book import MarkBook
from .run_contents import CHOSEN

__all__ = ["EXPORTS", "exported"]

EXPORTS = {"subset": "subset.parquet", "csv": "view.csv", "parquet": "view.parquet"}  # file names per format


def exported(table: ExampleTable, rows: Rows, marks: MarkBook, kind: str, shown: Mapping[str, Any]) -> bytes:
    """The content of the file.

    Parameters
    ----------
    table
        The examples.
    rows
        Row numbers in the order of the view.
    marks
        What a person said.
    kind
        A key of `EXPORTS`. A Subset is sorted by id; the tables keep the order of the view.
    shown
        The filter, for the provenance of a Subset.
    """
    if kind == "subset":
        return _subset(table, rows, shown)
    import pyarrow.csv
    import pyarrow.parquet

    made, target = _columns(table, rows, marks), io.BytesIO()
    if kind == "csv":
        pyarrow.csv.write_csv(made, target)
    else:
        pyarrow.parquet.write_table(made, target)
    return target.getvalue()


def _subset(table: ExampleTable, rows: Rows, shown: Mapping[str, Any]) -> bytes:
    about = record("view", {"filter": dict(shown)}, {"run": next(table.run.provenances(), {})})
    certificate = {"method": "view", "size": int(rows.size)}
    made = Subset(table.source.ids[rows], _weights(table)[rows], certificate, about)
    with tempfile.TemporaryDirectory() as folder:
        return Path(made.save(Path(folder) / EXPORTS["subset"])).read_bytes()


def _weights(table: ExampleTable) -> NDArray[np.float64]:
    """The weights of the subset of the run; 1 for whatever is not in it."""
    found, subset = np.ones(table.n), table.run.subsets.get(CHOSEN)
    if subset is not None:
        place, known = table.places(subset.ids)
        found[place] = subset.weights[known]
    return found


def _columns(table: ExampleTable, rows: Rows, marks: MarkBook) -> Any:
    """An Arrow table: id, labels, marks, membership, issues and scores. `--marks` reads its first columns."""
    import pyarrow as pa

    source, nothing = table.source, Decision()
    said = [marks.said.get(row, nothing) for row in rows.tolist()]
    made = {
        "id": pa.array(source.ids[rows]),
        "label": pa.array([label_text(source, row) or "" for row in rows.tolist()], type=pa.string()),
        "verdict": pa.array([one.verdict for one in said], type=pa.string()),
        "correction": pa.array([one.correction for one in said], type=pa.string()),
        "decision": pa.array([one.choice for one in said], type=pa.string()),
    }
    if table.predicted is not None:
        names = np.array([*source.classes, ""], dtype=object)
        made["prediction"] = pa.array(names[table.predicted[rows]].tolist(), type=pa.string())
    made |= {f"in {name}": pa.array(mask[rows]) for name, mask in table.members.items()}
    made |= {f"issue {kind}": pa.array(table.issue_mask(kind)[rows]) for kind in table.found}
    made |= {name: pa.array(values[rows], from_pandas=True) for name, values in table.columns.items()}
    return pa.table(made)
