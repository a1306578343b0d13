"""What fits into a budget: the methods in order until the hours are spent, what is free always."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..artefacts.bench_record import LeftOut
from .entrants import Entrant

__all__ = ["expected_seconds", "fitting"]


def expected_seconds(
    steps: Mapping[float, int], seeds: int, soft: bool, seconds_per_step: float, workers: int
) -> float:
    """Seconds that the trainings of one method take at all fractions.

    Parameters
    ----------
    steps
        Optimiser steps of one training, by fraction.
    seeds
        Trainings per fraction.
    soft
        Whether each is done a second time with soft targets.
    seconds_per_step
        As observed.
    workers
        Trainings that run side by side.
    """
    return sum(steps.values()) * seeds * (2 if soft else 1) * seconds_per_step / max(1, workers)


def fitting(
    found: Sequence[Entrant], data: str, hours: float | None, spent: float, free: float, each: float
) -> tuple[list[Entrant], list[LeftOut]]:
    """Return the methods whose trainings fit, in order, and those that do not.

    Parameters
    ----------
    found
        All methods, in order of preference.
    data
        Name of the data set.
    hours
        The budget; None fits everything.
    spent
        Seconds spent before, on observing.
    free
        Seconds that everything that is free will take.
    each
        Seconds of one method.
    """
    if hours is None:
        return list(found), []
    room = hours * 3600 - spent - free
    count = max(0, int(room / each)) if each > 0 else len(found)
    why = (
        f"does not fit the budget of {hours:g} hours: {spent / 3600:.2g} were spent on observing, what is free takes "
        f"{free / 3600:.2g}, and each method {each / 3600:.2g}"
    )
    return list(found[:count]), [LeftOut(data, entrant.name, why) for entrant in found[count:]]
