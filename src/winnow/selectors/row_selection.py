"""Selection over any number of rows: quotas around a selector that has a key per row.

The same choice as `balance.combine` makes with everything in memory: first every class's floor from that class alone,
all classes at once, then the rest from all that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.quotas import floors
from .row_blocks import Rows
from .row_turn import Chosen, Turn, group_counts

__all__ = ["MANY", "choose_rows"]

MANY = 1 << 20  # examples from which a selection in memory goes row by row too


def choose_rows(
    function: Callable[..., Chosen],
    rows: Rows,
    size: int,
    balance: float,
    names: tuple[str, ...],
    *,
    seed: int,
    parameters: Mapping[str, Any],
) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Choose rows under quotas.

    Parameters
    ----------
    function
        The `rows` of a registered selector.
    rows
        What to choose from.
    size
        How many to keep.
    balance
        Each class keeps at least this share of its equal part; 0 sets no quotas.
    names
        Names of the classes.
    seed
        Seed of the selector.
    parameters
        Parameters of the selector.

    Returns
    -------
    tuple
        A flag per row, and the certificate.
    """
    keep = size / rows.n
    if balance == 0:
        chosen, (about,) = function(Turn(rows, np.array([rows.n]), np.array([size]), keep, seed), **parameters)
        return chosen, about
    counts = group_counts(rows, len(names))
    floor = floors(counts, size, balance)
    chosen, certificates = np.zeros(rows.n, dtype=bool), {}
    if floor.any():
        chosen, found = function(Turn(rows, counts, floor, keep, seed, by_class=True), **parameters)
        certificates = {name: one for name, one, part in zip(names, found, floor, strict=True) if part and one}
    left = size - int(floor.sum())
    if left:
        free = np.array([rows.n - int(floor.sum())])
        rest, (about,) = function(Turn(rows, free, np.array([left]), keep, seed, taken=chosen), **parameters)
        chosen |= rest
        certificates |= {"rest": about} if about else {}
    return chosen, {
        "balance": balance,
        "groups": "classes",
        "floors": dict(zip(names, floor.tolist(), strict=True)),
        "parts": certificates,
    }
