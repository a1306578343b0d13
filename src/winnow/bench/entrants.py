"""The entrants of a benchmark: every registered score and selector that is defined for the data, and `auto`.

A score enters as "keep the hardest by it", a selector on its default score, as `parse_method` reads their names.
Methods of other packages enter as winnow's own do. Entrants that need the same signals share one observation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..artefacts import Source
from ..artefacts.bench_record import LeftOut
from ..core import registry
from ..pruning.resolved_request import wanted_signals
from ..selectors.method_string import MethodParts, parse_method

__all__ = ["AUTO", "BASE", "Entrant", "entrants", "observations"]

AUTO = "auto"
BASE = ("dynamics", "embeddings", "predictions")  # recorded for soft targets and most methods, in one training
# random is an arm of every study, every score enters by rank, and labels that are likely wrong are no way to choose
NOT_ENTERED = ("random", "rank", "mislabelled")


@dataclass(frozen=True)
class Entrant:
    """A method that takes part."""

    name: str
    parts: MethodParts | None  # None for `auto`, which `prune` chooses
    signals: tuple[str, ...]

    @property
    def dear(self) -> tuple[str, ...]:
        """The signals that need an observation of their own."""
        return tuple(name for name in self.signals if name not in BASE)


def entrants(
    source: Source, methods: Sequence[str] | None = None, model: Any = "auto"
) -> tuple[list[Entrant], list[LeftOut]]:
    """Return the methods that take part, and those that are not defined for the data with the reason.

    Parameters
    ----------
    source
        The data.
    methods
        Names as `prune` takes them; all that are registered if not given.
    model
        The network that is asked for.
    """
    names = _all() if methods is None else list(dict.fromkeys(methods))
    found, left = [], []
    for name in names:
        if name == AUTO:
            found.append(Entrant(AUTO, None, BASE))
            continue
        parts = parse_method(name)
        why = _refusal(source, parts, model)
        if why is None:
            found.append(Entrant(name, parts, wanted_signals(parts.needs)))
        else:
            left.append(LeftOut(source.name, name, why))
    return found, left


def observations(found: Iterable[Entrant]) -> list[tuple[str, ...]]:
    """The observations that the entrants need: one for all cheap signals, and one for each dear signal."""
    dear = sorted({name for entrant in found for name in entrant.dear})
    return [BASE, *((name,) for name in dear)]


def _all() -> list[str]:
    """Every name once: `auto`, selectors, then scores that are not selectors too."""
    selectors = [method.name for method in registry.listing("selector")]
    scores = [method.name for method in registry.listing("score")]
    names = dict.fromkeys([AUTO, *selectors, *scores])
    return [name for name in names if name not in NOT_ENTERED]


def _refusal(source: Source, parts: MethodParts, model: Any) -> str | None:
    """Why a method cannot take part, or None."""
    for method in parts.methods.values():
        if source.task not in method.tasks:
            return f"{method.kind} {method.name!r} is defined for {' and '.join(sorted(method.tasks))}"
    for array in sorted(parts.needs):
        signal = registry.signal_of(array)
        if signal is None:
            return f"no registered signal gives {array!r}"
        if source.task not in signal.tasks:
            return f"signal {signal.name!r} is defined for {' and '.join(sorted(signal.tasks))}"
        if signal.examples and source.kind not in signal.examples:
            return f"signal {signal.name!r} is for {' and '.join(sorted(signal.examples))}"
        if signal.model and not str(model).startswith(signal.model):
            return f"signal {signal.name!r} is for models called {signal.model}NAME"
    return None
