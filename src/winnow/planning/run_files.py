"""The files of a run of `prune`: how many bytes they take, from how many examples and trainings there are."""

from __future__ import annotations

import math

from ..artefacts import Source
from ..artefacts.top_classes import MANY, TOP
from ..core import registry
from ..pruning.resolved_request import Request
from .workload import Counts

__all__ = ["file_bytes"]

HEADER, ARRAY = 330, 125  # bytes of a signals file, and of each of its arrays, besides the numbers
TABLE, RECORD = 1500, 250  # bytes of a table, besides the numbers, and of a step record
ORIGIN = 2750  # bytes of provenance in a table, for each thing it was made from: signals, scores, soft targets
ABOUT = 1000  # bytes of what a run says about itself, and about the jobs that `winnow do` can take
DICTIONARY = 1 << 20  # bytes at which a parquet column's dictionary is full
COLUMN = 250  # bytes that a further column of a table takes, besides the numbers
NETWORK = 900  # bytes of a network that is kept for data to come, besides its weights
RESULT, PER_CLASS = 130, 21  # bytes of the result of a training of the veto, and of each class in it
HALVES = 1 << 16  # different numbers in half precision


def file_bytes(source: Source, request: Request, counts: Counts, tried: int) -> dict[str, float]:
    """Bytes of the files of a run, by what they hold.

    Parameters
    ----------
    source, request, counts
        What is pruned, how, and the workload.
    tried
        Trainings of the veto.
    """
    n = counts.n
    files = counts.passes + counts.members
    header = HEADER + ARRAY * len(counts.layouts(counts.entries))
    classes = len("".join(source.classes)) + 6 * len(source.classes)  # as text within text: escaped quotes, a comma
    width = counts.text if source.ids.dtype.kind == "i" else counts.text + 3  # a length before each text
    labels = _column(n, counts.label, len(source.classes) or n) if counts.label else 0.0
    scores = _column(n, width, n) + _column(n, 8, n) + labels + TABLE + ORIGIN
    origins = ORIGIN * (counts.scored + (files > 0))
    nested = registry.get("selector", request.plan.selector).nested
    return {
        "signals": counts.signals + files * (n * (counts.text + counts.label) + header + classes + 4 * counts.epochs),
        "scores": scores if counts.scored else 0.0,
        "subset": _column(counts.kept, width, counts.kept) + TABLE + origins + classes,
        "order": _column(n, width, n) + TABLE + origins if nested else 0.0,
        "soft targets": _soft(source, counts.kept) + classes if request.soft else 0.0,
        "networks": counts.watched * (4 * counts.parameters + NETWORK),
        "digests": _digests(source, counts, width),
        "veto": tried * (RESULT + PER_CLASS * len(source.classes) + RECORD),
        "records": (files + counts.scored + nested + 1) * RECORD + ABOUT,
    }


def _digests(source: Source, counts: Counts, width: float) -> float:
    """Bytes of the digests of all examples, which are kept if ids say nothing about the content."""
    if not counts.watched or source.origin.get("ids") == "content":
        return 0.0
    return _column(counts.n, width, counts.n) + _column(counts.n, 8, counts.n) + TABLE + RECORD


def _soft(source: Source, kept: int) -> float:
    """Bytes of the soft targets in a subset: in half precision; of many classes only the largest, with numbers."""
    many = len(source.classes)
    if not many:
        return source.outputs * (_column(kept, 4, kept) + COLUMN) + ORIGIN
    numbers = min(many, TOP) if many > MANY else many
    found = numbers * (_column(kept, 2, min(kept, HALVES)) + COLUMN)
    if many > MANY:
        found += numbers * (_column(kept, 4, min(kept, many)) + COLUMN)
    return found + ORIGIN


def _column(n: int, width: float, distinct: int) -> float:
    """Bytes of a parquet column: a dictionary and places in it, plain values once the dictionary is full."""
    place = math.ceil(math.log2(max(2, distinct))) / 8
    if distinct * width <= DICTIONARY:
        return distinct * width + n * place
    return n * width + DICTIONARY / width * place
