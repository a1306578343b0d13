"""Table: rows with the same keys, to print and to process."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.errors import MissingDependencyError

if TYPE_CHECKING:
    import pandas

__all__ = ["Table", "data_frame"]


@dataclass(frozen=True, repr=False)
class Table(Sequence[Mapping[str, Any]]):
    """Rows with the same keys, which print as an aligned table.

    Parameters
    ----------
    rows
        The rows.
    short
        Makes the table that is printed in place of this one, if it has too many columns to read.
    """

    rows: tuple[Mapping[str, Any], ...]
    short: Callable[[], Table] | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and formatted cells, without empty columns."""
        keys = [key for key in (self.rows[0] if self.rows else {}) if any(_text(row.get(key)) for row in self.rows)]
        return keys, [[_text(row.get(key)) for key in keys] for row in self.rows]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.short is not None:
            return str(self.short())
        keys, cells = self._cells()
        widths = [max(len(key), *(len(row[i]) for row in cells)) if cells else len(key) for i, key in enumerate(keys)]
        lines = ["  ".join(key.ljust(w) for key, w in zip(keys, widths, strict=True)).rstrip()]
        lines += ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells]
        return "\n".join(lines)

    def markdown(self) -> str:
        """The table in Markdown."""
        keys, cells = self._cells()
        lines = ["| " + " | ".join(keys) + " |", "|" + "---|" * len(keys)]
        return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in cells])

    def _repr_html_(self) -> str:
        if self.short is not None:
            return self.short()._repr_html_()
        keys, cells = self._cells()
        head = "".join(f"<th>{html.escape(key)}</th>" for key in keys)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of unformatted values."""
        return data_frame(list(self.rows))


def data_frame(content: Any) -> pandas.DataFrame:
    """A data frame from columns by name, or from rows that map names to values."""
    try:
        import pandas
    except ImportError:
        raise MissingDependencyError("to_pandas needs pandas; install it with: pip install pandas") from None
    return pandas.DataFrame(content)


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
