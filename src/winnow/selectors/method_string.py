"""Method names as users write them: a score, a selector, or `score+selector`.

`el2n` keeps the hardest by that score, `strata` runs that selector on its default score, `aum+strata` names both.
If a name is both a score and a selector (`random`), it means the selector.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..core import registry
from ..core.errors import InputError, UnknownNameError

__all__ = ["MethodParts", "method_names", "needs_of", "parse_method"]


class MethodParts(NamedTuple):
    """A parsed method name; `select(plan.selector, signals, score=plan.score, **plan.parameters)` runs it."""

    score: str | None
    selector: str
    parameters: Mapping[str, Any]


def parse_method(name: str) -> MethodParts:
    """Return the score (None if the selector uses none), selector and parameters of a method name.

    Parameters
    ----------
    name
        A score, a selector, or both joined by `+`.

    >>> parse_method("aum+strata").selector
    'strata'
    """
    scores, selectors = _by_name("score"), _by_name("selector")
    text = name if isinstance(name, str) else repr(name)
    first, plus, second = (part.strip() for part in text.partition("+"))
    if not plus:
        if first in selectors:
            return MethodParts(selectors[first].default_score, first, {})
        if first in scores:
            return MethodParts(first, "rank", {"policy": "hard"})
        raise UnknownNameError.of("method", name, {*scores, *selectors})
    if first not in scores:
        raise UnknownNameError.of(f"score in method {name!r}:", first, scores)
    if second not in selectors:
        raise UnknownNameError.of(f"selector in method {name!r}:", second, selectors)
    if "scores" not in selectors[second].needs:
        raise InputError(f"method {name!r} joins a score to selector {second!r}, which uses none; pass {second!r}.")
    return MethodParts(first, second, {"policy": "hard"} if second == "rank" else {})


def needs_of(name: str) -> frozenset[str]:
    """Arrays of Signals that a method needs, for `observe(want=...)`."""
    plan = parse_method(name)
    needs = registry.get("selector", plan.selector).needs - {"scores"}
    return needs if plan.score is None else needs | registry.get("score", plan.score).needs


def method_names() -> list[str]:
    """Return every single name that `parse_method` knows."""
    return sorted({*_by_name("score"), *_by_name("selector")})


def _by_name(kind: registry.Kind) -> dict[str, registry.Method]:
    return {method.name: method for method in registry.listing(kind)}
