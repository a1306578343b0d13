"""How this process was called, for a run that other processes are to take part in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["command_words", "invoked"]

# Where the result goes, where work runs and how it is printed do not belong to what is asked.
APART = {"--out": 2, "--engine": 2, "--workers": 2, "--json": 1}
_words: ContextVar[tuple[str, ...] | None] = ContextVar("words", default=None)


@contextmanager
def invoked(words: Sequence[str]) -> Iterator[None]:
    """Remember the words of a command line within the block."""
    token = _words.set(_kept(words))
    try:
        yield
    finally:
        _words.reset(token)


def command_words() -> tuple[str, ...] | None:
    """Return the words of the command line without `--out`, `--engine`, `--workers` and `--json`; None in a script."""
    return _words.get()


def _kept(words: Sequence[str]) -> tuple[str, ...]:
    kept, skip = [], 0
    for word in words:
        name, equals, _ = word.partition("=")
        if skip:
            skip -= 1
        elif name in APART:
            skip = 0 if equals else APART[name] - 1
        else:
            kept.append(word)
    return tuple(kept)
