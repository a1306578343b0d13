"""The share of soft targets in the loss, from how much is kept and how good the teacher is.

Trainings on few examples gain most from soft targets, and those on all examples little, so the share is 1 - kept
fraction. A teacher that is hardly better than chance has little to pass on: with q the held-out accuracy, 0 at chance
and 1 without an error, the share is multiplied by min(1, 2 q).
"""

from __future__ import annotations

from ..core import checks

__all__ = ["mixing_weight"]


def mixing_weight(keep: float, teacher_accuracy: float, classes: int) -> float:
    """Compute the weight of soft targets: about 1 - keep, less if the teacher is weak.

    Parameters
    ----------
    keep
        Fraction of the examples that the training keeps.
    teacher_accuracy
        Share of examples that the teacher gets right, on examples it was not trained on; R squared of a regression.
    classes
        Number of classes; 0 for a regression.

    Returns
    -------
    float
        The weight, between 0 and 1.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> mixing_weight(0.3, teacher_accuracy=0.85, classes=10)
    0.7
    >>> mixing_weight(0.5, teacher_accuracy=0.325, classes=10)  # a quarter of the way from chance
    0.25
    >>> mixing_weight(0.5, teacher_accuracy=0.1, classes=10)
    0.0
    """
    owner = "mixing_weight"
    kept = checks.fraction("keep", owner, keep)
    right = checks.number("teacher_accuracy", owner, teacher_accuracy, high=1)
    count = checks.integer("classes", owner, classes, low=0)
    chance = 1 / count if count > 1 else 0.0
    above = max(0.0, (right - chance) / (1 - chance))
    return (1 - kept) * min(1.0, 2 * above)
