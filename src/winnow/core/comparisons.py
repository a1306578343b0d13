"""How many comparisons between examples a score or selector may make; above that, it says so instead of starting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import NotDefinedError
from .registration import Method

__all__ = ["MOST", "check_comparisons"]

MOST = 10**12  # about a day on one core with embeddings of some hundred numbers


def check_comparisons(
    owner: str,
    method: Method,
    parameters: Mapping[str, Any],
    n: int,
    labels: NDArray[Any] | None,
    size: int | None = None,
) -> None:
    """Raise if a method would compare examples more than `MOST` times.

    Parameters
    ----------
    owner
        What it is, for messages.
    method
        The score or selector; its registered cost says how its work grows.
    parameters
        Its parameters.
    n
        How many examples it looks at.
    labels
        Their classes, if they have any.
    size
        How many a selector keeps.
    """
    growth = method.cost_of(parameters).time
    if growth == "n kept" and size is not None:
        count, what = n * size // max(1, int(parameters.get("shards") or 1)), "examples x kept"
    elif growth == "n^2":
        count, what = n**2, "examples x examples"
    elif growth == "class^2" and labels is not None and labels.ndim == 1 and labels.dtype.kind in "iu":
        count, what = int(np.square(np.bincount(labels).astype(np.float64)).sum()), "pairs within a class"
    else:
        return
    if count <= MOST:
        return
    fits = f"{math.floor(n * math.sqrt(MOST / count)):,}"
    shards = ", pass shards=," if "shards" in method.parameters else ""
    advice = (
        f"choose at most {fits} examples first, for example with the selector 'random'{shards} or use rank, strata, "
        "beta, tilted or random, which read every example a few times"
        if size is not None
        else f"score at most {fits} examples, for example of a subset by the selector 'random'"
    )
    raise NotDefinedError(
        f"{owner} would make {count:.0e} comparisons ({what}), more than the {MOST:.0e} it is meant for; {advice}."
    )
