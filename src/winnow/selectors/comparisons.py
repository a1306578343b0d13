"""How many comparisons between examples a selector may make; above that, it says so instead of starting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import registry
from ..core.errors import NotDefinedError
from .pool import Pool

__all__ = ["MOST", "check_comparisons"]

MOST = 10**12  # about a day on one core with embeddings of some hundred numbers


def check_comparisons(method: registry.Method, parameters: Mapping[str, Any], pool: Pool, size: int) -> None:
    """Raise if a selector would compare examples more than `MOST` times.

    Parameters
    ----------
    method
        The selector; its registered cost says how its work grows.
    parameters
        Its parameters.
    pool
        What it chooses from.
    size
        How many it keeps.
    """
    growth = method.cost_of(parameters).time
    if growth == "n kept":
        count, what = pool.n * size // max(1, int(parameters.get("shards") or 1)), "examples x kept"
    elif growth == "n^2":
        count, what = pool.n**2, "examples x examples"
    elif growth == "class^2" and pool.labels is not None:
        count, what = int(np.square(np.bincount(pool.labels).astype(np.float64)).sum()), "pairs within a class"
    else:
        return
    if count > MOST:
        shards = ", pass shards=," if "shards" in method.parameters else ""
        raise NotDefinedError(
            f"selector {method.name!r} would make {count:.0e} comparisons ({what}), more than the {MOST:.0e} it is "
            f"meant for; choose a smaller pool first{shards} or use rank, strata, beta, tilted or random, which read "
            "every example a few times."
        )
