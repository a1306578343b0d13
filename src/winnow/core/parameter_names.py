"""Names of parameters in messages: `keep of prune` in Python, `--keep` on the command line.

A message asks here for the name of a parameter, so that it fits where the mistake was made. Each command registers,
while it runs, which options stand for which parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["argument", "called", "of", "word"]

_names: ContextVar[Mapping[tuple[str, str], str]] = ContextVar("parameter names", default={})  # noqa: B039


@contextmanager
def called(names: Mapping[tuple[str, str], str]) -> Iterator[None]:
    """Within the block, use these names for parameters, given as (owner, name)."""
    token = _names.set({**_names.get(), **names})
    try:
        yield
    finally:
        _names.reset(token)


def of(name: str, owner: str) -> str:
    """Return a parameter with its owner.

    >>> of("keep", "prune")
    'keep of prune'
    >>> with called({("prune", "keep"): "--keep"}):
    ...     of("keep", "prune")
    '--keep'
    """
    return _names.get().get((owner, name), f"{name} of {owner}")


def argument(name: str, owner: str, value: object = None) -> str:
    """Return a parameter as a user types it, with a value if one is given.

    >>> argument("keep", "prune"), argument("pilot", "plan", True)
    ('keep=', 'pilot=True')
    """
    return _names.get().get((owner, name), f"{name}={'' if value is None else repr(value)}")


def word(name: str, owner: str) -> str:
    """Return a parameter without its owner, for sentences that name the owner already."""
    return _names.get().get((owner, name), name)
