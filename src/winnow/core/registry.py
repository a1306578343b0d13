"""`@score` and `@selector`: how a method makes itself known.

The decorator records name, needs, paper and tasks; the command line's listing, the docs table, the report's
labels and the conformance suite all read this registry and nothing else. A new method is one file and one
import line in its package's `__init__`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from .errors import InputError, UnknownNameError

__all__ = ["Method", "get", "listing", "score", "selector"]

F = TypeVar("F", bound=Callable[..., Any])
Kind = Literal["score", "selector"]
_ROOMS: dict[Kind, str] = {"score": "winnow.scores", "selector": "winnow.selectors"}
_methods: dict[Kind, dict[str, Method]] = {"score": {}, "selector": {}}


@dataclass(frozen=True)
class Method:
    """A registered score or selector."""

    kind: Kind
    name: str
    function: Callable[..., Any]
    needs: frozenset[str]
    paper: str
    tasks: frozenset[str]
    default_score: str | None = None
    by_group: bool = False

    @property
    def summary(self) -> str:
        """First line of the function's docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    @property
    def parameters(self) -> dict[str, Any]:
        """Keyword parameters and their defaults."""
        signature = inspect.signature(self.function)
        return {
            name: parameter.default
            for name, parameter in signature.parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }

    def check_parameters(self, given: Iterable[str]) -> None:
        """Refuse a parameter the method does not have."""
        known = self.parameters
        for name in given:
            if name not in known:
                raise UnknownNameError.of(f"parameter of {self.kind} {self.name!r}:", name, known or ["(none)"])


def score(*, needs: Iterable[str], paper: str, tasks: Iterable[str] = ("classification",)) -> Callable[[F], F]:
    """Register a score: a pure function from Signals to one number an example, higher = harder.

    Parameters
    ----------
    needs
        Names of the arrays of Signals it reads.
    paper
        Who proposed it, for the listing.
    tasks
        The tasks for which it is defined.
    """

    def register(function: F) -> F:
        _add(Method("score", function.__name__, function, frozenset(needs), paper, frozenset(tasks)))
        return function

    return register


def selector(
    *,
    needs: Iterable[str],
    paper: str,
    default_score: str | None = None,
    tasks: Iterable[str] = ("classification", "regression", "unlabelled"),
    by_group: bool = False,
) -> Callable[[F], F]:
    """Register a selector: a function from a Pool and a size to a Choice.

    Parameters
    ----------
    needs
        `scores` and names of arrays of Signals it reads.
    paper
        Who proposed it, for the listing.
    default_score
        The score it is usually run on, for those that need one.
    tasks
        The tasks for which it is defined.
    by_group
        Whether its weights stand for everything it chose from, so that under quotas each class is chosen from once,
        with all that falls to it, and there is no pass over what is left.
    """

    def register(function: F) -> F:
        known = frozenset(needs), paper, frozenset(tasks), default_score, by_group
        _add(Method("selector", function.__name__, function, *known))
        return function

    return register


def get(kind: Kind, name: str) -> Method:
    """The method of that name; an unknown one is refused with the nearest known."""
    known = _known(kind)
    if not isinstance(name, str) or name not in known:
        raise UnknownNameError.of(kind, name, known)
    return known[name]


def listing(kind: Kind) -> list[Method]:
    """All registered methods of a kind, by name."""
    return [method for _, method in sorted(_known(kind).items())]


def _known(kind: Kind) -> dict[str, Method]:
    importlib.import_module(_ROOMS[kind])  # by name, not by import: the vocabulary depends on no room
    return _methods[kind]


def _add(method: Method) -> None:
    known = _methods[method.kind]
    if method.name in known and known[method.name].function.__module__ != method.function.__module__:
        raise InputError(f"a {method.kind} named {method.name!r} is registered already.")
    known[method.name] = method
