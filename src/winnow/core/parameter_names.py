"""What a message calls a parameter: `keep of prune` in Python, `--keep` on the command line.

A sentence about a parameter asks here for its name, so that it is right at whichever door the mistake was made. The
command line says once, for the length of a command, which options stand for which parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["argument", "called", "of", "word"]

_names: ContextVar[Mapping[tuple[str, str], str]] = ContextVar("parameter names", default={})  # noqa: B039


@contextmanager
def called(names: Mapping[tuple[str, str], str]) -> Iterator[None]:
    """Inside the block, call these parameters, given as (owner, name), by other words."""
    token = _names.set({**_names.get(), **names})
    try:
        yield
    finally:
        _names.reset(token)


def of(name: str, owner: str) -> str:
    """A parameter with its owner.

    >>> of("keep", "prune")
    'keep of prune'
    >>> with called({("prune", "keep"): "--keep"}):
    ...     of("keep", "prune")
    '--keep'
    """
    return _names.get().get((owner, name), f"{name} of {owner}")


def argument(name: str, owner: str, value: object = None) -> str:
    """A parameter as it is typed, with a value if that matters.

    >>> argument("keep", "prune"), argument("pilot", "plan", True)
    ('keep=', 'pilot=True')
    """
    return _names.get().get((owner, name), f"{name}={'' if value is None else repr(value)}")


def word(name: str, owner: str) -> str:
    """A parameter alone, where the sentence has named its owner."""
    return _names.get().get((owner, name), name)
