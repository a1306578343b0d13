"""Expecting a refusal, for suites that do without pytest."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["refused"]


def refused(call: Callable[[], object], kind: type[Exception], pattern: str) -> None:
    """Check that a call is refused with an error of this kind whose sentence matches the pattern."""
    try:
        call()
    except kind as error:
        said = str(error)
    else:
        raise AssertionError(f"nothing was refused where {kind.__name__} matching {pattern!r} was expected")
    assert re.search(pattern, said), f"the refusal {said!r} does not match {pattern!r}"
