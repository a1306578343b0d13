"""The label that an example should likely have, in the words that a correction takes."""

from __future__ import annotations

import numpy as np

from ..artefacts.label_sets import label_words
from .example_table import ExampleTable

__all__ = ["suggested_label"]


def suggested_label(table: ExampleTable, row: int) -> str:
    """What the label issue of an example suggests, otherwise what the networks say; empty if that is the given label.

    Parameters
    ----------
    table
        The examples.
    row
        Row number.
    """
    source = table.source
    if source.labels is None or source.task == "regression":
        return ""
    said = table.suggestions.get(row, "")
    if source.task == "multilabel":
        return _changed_set(table, row, said)
    if said not in source.classes and table.predicted is not None and table.predicted[row] >= 0:
        said = source.classes[int(table.predicted[row])]
    return said if said in source.classes and said != source.classes[int(source.labels[row])] else ""


def _changed_set(table: ExampleTable, row: int, said: str) -> str:
    """The labels of an example after changes in words such as "add cat, remove dog"."""
    assert table.source.labels is not None
    names, labels = table.source.classes, np.array(table.source.labels[row], dtype=bool)
    before = labels.copy()
    for change in said.split(", ") if said else ():
        word, _, name = change.partition(" ")
        if name in names:
            labels[names.index(name)] = word == "add"
    return "" if np.array_equal(labels, before) or not labels.any() else label_words(labels, names)
