"""A subset as it is found: with what it was chosen by, and stored as a step of its run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..artefacts import Scores, Signals, Subset
from ..artefacts.soft_labels import SoftLabels
from ..core import registry
from ..core.code_digest import coded
from ..core.run import Run
from ..core.work_clock import begin, seconds_since
from .resolved_request import Request

__all__ = ["HELD_OUT", "FoundSubset", "codes_of", "kept_subset"]

HELD_OUT = 0.2  # share held out if the source has no test or validation set


@dataclass(frozen=True)
class FoundSubset:
    """A subset, and what it was chosen by."""

    subset: Subset
    scores: Scores | None
    signals: Signals | None
    soft: SoftLabels | None  # of all examples, for whatever the subset is compared with
    draw: Callable[[int], Subset] | None  # other draws by the same method; None if it was found by a search
    clean: Subset | None = None  # all but the examples whose labels are likely wrong; None if nothing is known of them


def codes_of(request: Request) -> list[str]:
    """Digests of the code of the methods that choose."""
    return registry.codes(("score", request.plan.score), ("selector", request.plan.selector))


def kept_subset(run: Run, make: Callable[[], Subset], before: float, key: object) -> Subset:
    """The subset as a step of the run; its seconds include those spent on it before, such as on soft targets."""
    key = coded(make, key)
    found = run.get("select/subset", Subset, key=key)
    if found is not None:
        return found
    start = begin()
    made = make()
    return run.put("select/subset", made, before + seconds_since(start), key=key, file="subset.parquet")
