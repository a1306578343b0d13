"""Errors that a user can fix, each also the builtin error one would expect.

Everything winnow raises on purpose is a `WinnowError`; the command line turns it into one line on stderr and exit code
2. Any other exception is a bug in winnow. A message is one sentence that names the parameter, its owner, what is
allowed and what was given; `winnow.core.checks` writes most of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "DataError",
    "DivergedError",
    "InputError",
    "MissingDependencyError",
    "NotDefinedError",
    "NotFoundError",
    "RunInUseError",
    "StoreError",
    "UnknownNameError",
    "WinnowError",
]

MOST_LISTED = 50  # known names in a message; of more, only the first ones are listed
SOME_LISTED = 20


class WinnowError(Exception):
    """Base of every error that a user can fix."""

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())  # a value that is named may span lines


class InputError(WinnowError, ValueError):
    """A parameter or an array is not what the function accepts."""


class DataError(WinnowError, ValueError):
    """Data was found but cannot be used: unreadable files, mixed shapes, missing values."""


class NotFoundError(WinnowError, FileNotFoundError):
    """A path or a built-in data set does not exist; the message says where winnow looked."""


class UnknownNameError(WinnowError, LookupError):
    """A name is not registered; the message suggests the nearest known one."""

    @classmethod
    def of(cls, kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
        """Build the standard sentence for an unknown `name` of a `kind`."""
        names = sorted(filter(None, known))
        near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        hint = f" (nearest: {near[0]!r})" if near else ""
        if len(names) > MOST_LISTED:
            names = [*names[:SOME_LISTED], f"and {len(names) - SOME_LISTED} more"]
        listed = f"known: {', '.join(names)}" if names else "none is known here"
        return cls(f"unknown {kind} {name!r}{hint}; {listed}.")


class NotDefinedError(WinnowError, TypeError):
    """The method is not defined for this task or these signals; the message says why."""


class DivergedError(WinnowError, ArithmeticError):
    """Training produced NaN or infinite values; the message says when, and what to change."""


class MissingDependencyError(WinnowError, ImportError):
    """An optional package is needed; the message says which extra installs it."""

    @classmethod
    def of(cls, library: str, extra: str, purpose: str) -> MissingDependencyError:
        """Build the standard sentence for a missing `library`."""
        return cls(f"{purpose} needs {library}; install it with: pip install 'winnow-data[{extra}]'")


class StoreError(WinnowError, OSError):
    """A saved artefact or run directory is damaged, not winnow's, or made with other settings."""


class RunInUseError(WinnowError, RuntimeError):
    """Another process is working in this run directory."""


def reason(error: Exception) -> str:
    """Return the first sentence of an error's text, on one line, without its full stop.

    >>> reason(ValueError("magic bytes not found.\\n Either the file is corrupted or it is not parquet."))
    'magic bytes not found'
    """
    text = "; ".join(map(str, error.args)) if len(error.args) > 1 and not isinstance(error, OSError) else str(error)
    first = " ".join(text.split()).split(". ")[0].rstrip(". ")
    return first or type(error).__name__
