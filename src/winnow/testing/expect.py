"""Expect an error, for suites that do not use pytest."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["refused"]


def refused(call: Callable[[], object], kind: type[Exception], pattern: str) -> None:
    """Check that a call raises an error of this kind whose message matches the pattern."""
    try:
        call()
    except kind as error:
        said = str(error)
    else:
        raise AssertionError(f"no error was raised; expected {kind.__name__} matching {pattern!r}")
    assert re.search(pattern, said), f"the message {said!r} does not match {pattern!r}"
