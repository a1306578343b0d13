"""Label sets: several labels per example, as rows of 0 and 1, one column per label.

`label_set_numbers` numbers the sets so that examples can be split evenly: the columns are compared from the rarest
label to the most common one, so that examples with the same rare labels are neighbours in the order of these numbers.
Taking turns along that order spreads the rarest label exactly, and the others nearly so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError

__all__ = ["check_label_rows", "label_set_numbers", "label_words"]

NOTHING = "no label"


def check_label_rows(labels: NDArray[Any], count: int, owner: str) -> None:
    """Raise unless there is a row of 0 and 1 per example, with a column for each of `count` labels."""
    if labels.ndim != 2 or labels.shape[1] != count or count < 1:
        raise InputError(f"labels of {owner} must have a column for each of its {count} labels; got {labels.shape}.")
    if labels.dtype.kind not in "biuf" or not ((labels == 0) | (labels == 1)).all():
        raise InputError(f"labels of {owner} must be 0 or 1 for multilabel; got other values ({labels.dtype}).")


def label_set_numbers(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Number the label set of each example, so that sets with the same rare labels have neighbouring numbers.

    Parameters
    ----------
    labels
        Rows of 0 and 1.

    Examples
    --------
    >>> label_set_numbers(np.array([[1, 0], [1, 1], [0, 0], [1, 0]])).tolist()  # the second label is the rarer one
    [1, 2, 0, 1]
    """
    held = np.asarray(labels) != 0
    rarest_first = held[:, np.argsort(held.sum(axis=0), kind="stable")]
    packed = np.packbits(rarest_first, axis=1)
    return np.unique(packed, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def label_words(row: NDArray[Any], names: Sequence[str]) -> str:
    """The labels of one example in words.

    >>> label_words(np.array([1, 0, 1]), ("cat", "dog", "tree"))
    'cat, tree'
    """
    return ", ".join(name for name, held in zip(names, row.tolist(), strict=True) if held) or NOTHING
