"""The `lpntk` array of Signals (seeds x n x p) as rows that stand for a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["joined_seeds", "with_length"]


def joined_seeds(array: NDArray[Any]) -> NDArray[Any]:
    """Rows whose products are the mean over seeds of the seeds' kernels: the features side by side.

    Examples
    --------
    >>> import numpy as np
    >>> rows = joined_seeds(np.array([[[2.0], [1.0]], [[4.0], [0.0]]]))
    >>> np.round(rows @ rows.T, 9).tolist()
    [[10.0, 1.0], [1.0, 0.5]]
    """
    seeds, n, _ = array.shape
    side_by_side = np.moveaxis(array, 0, 1).reshape(n, -1)
    return with_length(side_by_side / np.asarray(np.sqrt(seeds), dtype=array.dtype))


def with_length(rows: NDArray[Any]) -> NDArray[Any]:
    """The same rows where all have a length; otherwise with a column more, in which those of zeros are alike.

    A kernel needs a positive diagonal. Examples without a gradient teach nothing: they are copies of each other,
    unrelated to all others, and shorter than any.
    """
    nothing = ~rows.any(axis=1)
    if not nothing.any():
        return rows
    some = rows[~nothing].astype(np.float64)
    shortest = float(np.sqrt(np.square(some).sum(axis=1).min())) if some.size else 1.0
    column = np.where(nothing, shortest / 2, 0.0).astype(rows.dtype)
    return np.concatenate([rows, column[:, None]], axis=1)
