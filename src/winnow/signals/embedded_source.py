"""A source seen through embeddings: the same ids, labels and classes, one row of numbers per example.

Whatever trains on a source can so train a head on embeddings: `observe(source, "linear", embeddings=found)`. Rows are
standardised like those of any table, by the examples that are trained on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts import Signals, Source
from ..core import checks
from ..core.errors import InputError
from ..core.files import fingerprint

__all__ = ["embedded_source", "table_of"]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Reads rows in memory."""

    values: NDArray[np.float32]

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.values[positions]


def embedded_source(source: Source, embeddings: Signals | ArrayLike, owner: str = "embedded_source") -> Source:
    """Return a source whose examples are rows of embeddings.

    Parameters
    ----------
    source
        The examples, with their ids and labels.
    embeddings
        Signals with `embeddings` of all of them, as `wn.embed` and `wn.observe` give, matched by id; or an array with
        one row per example, in the order of the source.
    owner
        The calling public function, named in errors.

    Returns
    -------
    Source
        A table with the ids, labels and classes of the source.

    Raises
    ------
    InputError
        If an example has no embedding, or one that is not finite.
    NotDefinedError
        If the signals hold no embeddings.

    Examples
    --------
    >>> import winnow as wn
    >>> digits = wn.open("digits", limit=100)
    >>> embedded_source(digits, wn.embed(digits, "lenet5")).shape
    (84,)
    """
    if isinstance(embeddings, Signals):
        missing = np.isin(source.ids, embeddings.ids, invert=True)
        if missing.any():
            raise InputError(
                f"embeddings of {owner} must hold every example of source {source.name!r}; {int(missing.sum())} are "
                f"missing, the first is {source.ids[missing][0]!r}."
            )
        given: Any = embeddings.take(source.ids).array("embeddings", owner)
    else:
        given = embeddings
    found = checks.array("embeddings", owner, given, rows=len(source), dtype=np.float32).reshape(len(source), -1)
    seal = fingerprint(np.ascontiguousarray(found[source.order]).tobytes())
    return table_of(source, _Rows(found), found.shape[1], f"embeddings {seal}")


def table_of(source: Source, read: Callable[[NDArray[np.int64]], NDArray[Any]], width: int, seal: str) -> Source:
    """Return the same examples as rows of `width` numbers that `read` gives; `seal` says what they are."""
    how: dict[str, Any] = {"read": read, "shape": (width,), "kind": "table", "columns": (), "raw": None}
    return replace(source, **how, make_ids=source.ids, seal=f"{source.fingerprint} through {seal}")
