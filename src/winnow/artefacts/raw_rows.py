"""Raw rows: the cells of a table as they were given, beside the numbers that a Source reads.

A table with strings, dates or missing values is encoded as rows of numbers. How is fitted on some rows, and a test set
must be encoded in the way of the training set. `winnow.sources.raw_table` holds such tables; this is what the rest of
the package may ask of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["RawRows"]


class RawRows(Protocol):
    """The raw rows of a table, and the encoding that turns them into numbers."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the raw columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numbers of an encoded row."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The raw column that each number of an encoded row comes from."""

    def kind(self, name: str) -> str:
        """What a raw column is: `number`, `date`, `category`, `string` (with many values) or `vector`."""

    @property
    def record(self) -> dict[str, Any]:
        """The encoding, column by column, for provenance. JSON-like."""

    @property
    def digest(self) -> str:
        """Fingerprint of the encoding."""

    @property
    def keys(self) -> NDArray[np.uint64]:
        """One number per row, a hash of its raw cells."""

    @property
    def read(self) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
        """Reads encoded rows."""

    def at(self, where: NDArray[np.int64]) -> RawRows:
        """Return the rows at these positions, with the same encoding."""

    def refitted(self) -> RawRows:
        """Return the same rows with the encoding fitted to them, unless it is that of other data."""

    def encoded_as(self, other: RawRows) -> RawRows:
        """Return the same rows in the encoding of another table."""

    def with_numbers(self, names: tuple[str, ...], values: NDArray[np.float32], owner: str) -> RawRows:
        """Return rows of plain numbers in this encoding."""

    def plain(self, names: tuple[str, ...]) -> NDArray[np.float32]:
        """Return columns that are all numbers without an encoding, or raise."""

    def cells(self, positions: NDArray[np.int64]) -> dict[str, Any]:
        """Return the raw cells by column, for a data frame."""

    def joined(self, other: RawRows) -> RawRows:
        """Return these rows and then those of a table in the same encoding."""

    def codes(self) -> dict[str, NDArray[np.float64]]:
        """Return every column as numbers that are equal where cells are: quantities as they are, ranks otherwise."""

    def quantities(self) -> dict[str, NDArray[np.float64]]:
        """Return the columns of numbers, NaN where a value is missing."""

    def missing(self) -> dict[str, NDArray[np.bool_]]:
        """Return where the values of each column are missing."""
