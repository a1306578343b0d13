"""Mixed cells as rows of numbers, by skrub's TableVectorizer. The only file that imports `skrub`.

Strings and categories with few different values become one column per value, others 30 columns from their letter
sequences; dates become their parts. Missing numbers and dates are filled with the median of the rows that the encoding
was fitted on, and a column says where they were missing. Vectors are used as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError, MissingDependencyError, reason
from ..core.files import fingerprint
from . import column_values
from .memory import Recent

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

__all__ = ["TableEncoder", "fit_encoder"]

FITS = 32  # fitted encodings kept per process
_fits = Recent(FITS)
WORDS = {"numeric": "number", "datetime": "date", "low_cardinality": "category", "high_cardinality": "string"}


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """A fitted encoding.

    Parameters
    ----------
    names
        Raw columns that skrub encodes.
    again
        Returns the rows that the encoding was fitted on. A worker process gets these instead of the fitted objects,
        and fits again if it ever needs to: most work on rows that are encoded already.
    fill
        What a missing number is filled with, one per column that skrub makes.
    holes
        Raw columns that get a column which says where they are missing.
    widths
        Raw columns of vectors, and how long each is.
    columns, parts
        Names of the numbers of an encoded row, and the raw column that each comes from.
    record
        The same as a record for people and provenance.
    """

    names: tuple[str, ...]
    again: Callable[[], Any]
    fill: NDArray[np.float32]
    holes: tuple[str, ...]
    widths: Mapping[str, int]
    columns: tuple[str, ...]
    parts: tuple[str, ...]
    record: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the encoding."""
        return fingerprint(self.record)

    @property
    def vectorizer(self) -> Any:
        """The fitted TableVectorizer, fitted once per process."""
        return _fits.get(
            self.digest, lambda: _fitted(_skrub("a table"), _frame(self.again(), self.names), "a table")[0]
        )

    def __call__(self, cells: pa.Table) -> NDArray[np.float32]:
        """Encode cells of the types that the encoding was fitted on."""
        made = [np.empty((cells.num_rows, 0), dtype=np.float32)]
        if cells.num_rows:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # categories that were not there before: the encoding is all zeros
                rows = self.vectorizer.transform(_frame(cells, self.names)).to_numpy(dtype=np.float32)
            made.append(np.where(np.isnan(rows), self.fill, rows))
        made += [column_values.absent(cells.column(name)).astype(np.float32)[:, None] for name in self.holes]
        made += [
            column_values.vectors(cells.column(name), name, "the data", width) for name, width in self.widths.items()
        ]
        if not cells.num_rows:
            return np.empty((0, len(self.columns)), dtype=np.float32)
        return np.concatenate(made, axis=1)


def fit_encoder(again: Callable[[], Any], owner: str, about: Mapping[str, Any]) -> TableEncoder:
    """Fit an encoding to cells.

    Parameters
    ----------
    again
        Returns the rows to fit to, now and later.
    owner
        Their owner, named in messages.
    about
        What the record says of the rows.
    """
    skrub = _skrub(owner)
    cells = again()
    flat = [field.name for field in cells.schema if column_values.is_vector(field.type)]
    widths = {name: column_values.vectors(cells.column(name), name, owner).shape[1] for name in flat}
    names = tuple(name for name in cells.column_names if name not in widths)
    vectorizer, rows = _fitted(skrub, _frame(cells, names), owner)
    made = vectorizer.output_to_input_
    kinds = {name: WORDS.get(kind, kind) for name, kind in vectorizer.column_to_kind_.items()}
    if not made and not widths:
        raise DataError(f"{owner} has no feature column with a value in it.")
    counts = {name: cells.column(name).null_count for name in names}
    holes = tuple(name for name in names if counts[name] and kinds.get(name) in ("number", "date"))
    said = tuple(f"{name} is missing" for name in holes)
    vectors = [(f"{name}[{place}]", name) for name, width in widths.items() for place in range(width)]
    fill = np.nan_to_num(_medians(rows)).astype(np.float32)
    encoder = TableEncoder(
        names,
        again,
        fill,
        holes,
        widths,
        (*made, *said, *(word for word, _ in vectors)),
        (*made.values(), *holes, *(name for _, name in vectors)),
    )
    columns = {name: _about(name, encoder, kinds.get(name, "left out"), counts[name]) for name in names}
    columns |= {name: {"kind": "vector", "features": width} for name, width in widths.items()}
    encoder.record.update(about, encoder=f"skrub {skrub.__version__} TableVectorizer", columns=columns)
    _fits.get(encoder.digest, lambda: vectorizer)
    return encoder


def _about(name: str, encoder: TableEncoder, kind: str, missing: int) -> dict[str, Any]:
    """Return what the record says of one raw column."""
    mine = [place for place, part in enumerate(encoder.parts) if part == name]
    found: dict[str, Any] = {"kind": kind, "features": [encoder.columns[place] for place in mine]}
    if missing:
        found["missing"] = missing
    if name in encoder.holes:
        found["filled_with"] = [float(encoder.fill[place]) for place in mine if place < encoder.fill.size]
    return found


def _skrub(owner: str) -> Any:
    try:
        import skrub
    except ImportError:
        purpose = f"reading {owner}, a table with strings, dates or missing values,"
        raise MissingDependencyError.of("skrub", "tables", purpose) from None
    return skrub


def _fitted(skrub: Any, frame: pandas.DataFrame, owner: str) -> tuple[Any, NDArray[np.float32]]:
    from threadpoolctl import threadpool_limits

    made = skrub.TableVectorizer(high_cardinality=skrub.StringEncoder(random_state=0))
    try:
        # one thread, so that the same rows give the same numbers however many cores there are
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            rows = made.fit_transform(frame)
    except ValueError as error:
        raise DataError(f"{owner} cannot be encoded: {reason(error)}.") from None
    return made, rows.to_numpy(dtype=np.float32)


def _medians(rows: NDArray[Any]) -> NDArray[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without values
        return np.asarray(np.nanmedian(rows, axis=0))


def _frame(cells: pa.Table, names: tuple[str, ...]) -> pandas.DataFrame:
    """Return cells as a data frame with the same types for every batch, also where all values are missing."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.types as kinds

    found: dict[str, Any] = {}
    for name in names:
        column = cells.column(name)
        if column.type == pa.float64():
            found[name] = column_values.floats(column)
        elif kinds.is_timestamp(column.type):
            whole = column_values.numbers(column.cast(pa.int64()).fill_null(np.iinfo(np.int64).min))
            found[name] = whole.view("datetime64[us]")  # whose smallest number means missing
        elif kinds.is_dictionary(column.type):
            found[name] = pd.Series(column.cast(pa.string()).to_pylist(), dtype="string").astype("category")
        else:
            found[name] = pd.Series(column.to_pylist(), dtype="string")
    return pd.DataFrame(found)
