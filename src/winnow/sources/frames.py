"""Data frames: pandas, polars and arrow tables, all converted to arrow so that each is treated the same.

Neither pandas nor polars is imported here: users who pass a frame have already imported it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..artefacts.source import Source
from ..core.errors import DataError, InputError, reason
from . import column_layout, tables
from .arrays import raw_targets
from .assembly import Held, OpenRequest, Pieces, assemble
from .column_values import feature_names, holes, vector_widths
from .packed_texts import packed_texts
from .raw_table import HeldCells, raw_pieces
from .splits import without_splits
from .texts import text_pieces

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_table", "is_frame", "open_frame", "to_arrow"]


def open_frame(frame: Any, target: Any, asked: OpenRequest) -> Source:
    """Make a Source over a data frame, with the labels in a column or given separately."""
    name = asked.named(None, "frame")
    owner = f"source {name!r}"
    without_splits(asked.split, owner)
    table = to_arrow(frame, owner)
    named = isinstance(asked.labels, str) or (
        asked.label_columns and set(asked.label_columns) <= set(table.schema.names)
    )
    if asked.labels is not None and not named:
        if target is not None:
            raise InputError("labels of wn.open must be given once; got them in (X, y) and in labels=.")
        target = asked.labels
    return from_table(table, target, asked, name, {"adapter": "frame"})


def from_table(table: pa.Table, target: Any, asked: OpenRequest, name: str, origin: dict[str, Any]) -> Source:
    """Make a Source over an arrow table in memory."""
    owner = f"source {name!r}"
    if table.num_rows == 0:
        raise DataError(f"{owner} has no rows.")
    layout = column_layout.lay_out(table.schema, asked, owner, labelled=target is not None)
    origin = {"labels": "given" if target is not None else layout.targets, **origin}
    inputs = _inputs(table, layout, asked, owner, origin)
    ids = None
    if layout.identity is not None:
        tables.unique_ids(table.column(layout.identity), layout, owner)
        ids = tables.id_values(table.column(layout.identity))
    found = tables.target_pieces(layout, table.column, asked, owner)
    if target is not None:
        found["target"] = raw_targets(target, owner)
    return assemble(
        asked,
        name,
        Pieces(
            **inputs,
            **found,
            adapter=origin.pop("adapter"),
            count=table.num_rows,
            own_ids=ids,
            **tables.beside(layout, table.column),
            ids_from=f"column {layout.identity}",
            origin=origin,
        ),
    )


def _inputs(
    table: pa.Table, layout: column_layout.ColumnLayout, asked: OpenRequest, owner: str, origin: dict[str, Any]
) -> dict[str, Any]:
    """The inputs of a table: numbers, text or cells. `origin` gives up its `reader` and learns what was text."""
    reader = origin.pop("reader", None)
    spoken = column_layout.text_columns(table.schema, layout, asked, owner)
    if spoken:
        origin["text"] = list(spoken)
        if reader is None:
            read: Any = Held(tables.strings(table, spoken, owner))
        else:
            read = reader("strings", spoken, packed_texts(table, spoken, owner))
        return text_pieces(read, table.num_rows, owner, None if reader is None else read)
    features = layout.features
    if column_layout.must_be_encoded(table.schema, layout, asked, lambda name: holes(table.column(name))):
        cells = table.select(features)
        held = HeldCells(cells) if reader is None else reader("cells", features, cells)
        return raw_pieces(held, table.num_rows, features, owner, asked.fitted_encoding)
    values = tables.matrix(table, column_layout.numeric(table.schema, layout, owner), owner)
    read = Held(values) if reader is None else reader("matrix", features, values)
    widths = vector_widths(table.schema, features, lambda name: table.column(name).slice(0, 1))
    columns = feature_names(widths, features)
    return {"read": read, "shape": values.shape[1:], "kind": "table", "values": values, "columns": columns}


def to_arrow(frame: Any, owner: str) -> pa.Table:
    """Convert any kind of frame to an arrow table."""
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return frame
    try:
        if hasattr(frame, "collect"):  # a lazy polars frame
            frame = frame.collect()
        if hasattr(frame, "to_arrow"):
            return frame.to_arrow()
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        raise DataError(f"{owner} cannot be turned into columns: {reason(error)}.") from None


def is_frame(value: Any) -> bool:
    """Whether a frame library's object has columns; asks its class, because a lazy frame would compute them."""
    return hasattr(type(value), "columns")
