"""The metric of each task, and how it is written: as a share with differences in points, or as a plain number."""

from __future__ import annotations

__all__ = ["BESIDE", "METRICS", "in_points", "metric_in_words", "metric_of"]

METRICS = ("accuracy", "map", "r2")
BESIDE = {"map": ("micro F1", "macro F1")}  # what is measured beside a metric, on the same predictions
_OF_TASK = {"classification": "accuracy", "multilabel": "map", "regression": "r2"}


def metric_of(task: str) -> str:
    """The metric of a task: accuracy, mean average precision (`map`), or R2.

    >>> metric_of("multilabel")
    'map'
    """
    return _OF_TASK[task]


def metric_in_words(metric: str) -> str:
    """The name of a metric in a sentence."""
    return "mean average precision" if metric == "map" else metric


def in_points(metric: str) -> bool:
    """Whether a metric is a share, written in per cent, with differences in points."""
    return metric in ("accuracy", "map")
