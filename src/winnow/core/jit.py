"""Functions that numba compiles, the first time one of them is called.

numba takes about as long to import as a small prune takes to run, so decorating a function does not import it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["compiled", "inlined", "summing"]

F = TypeVar("F", bound=Callable[..., object])

_lock = threading.RLock()  # a function is compiled together with those it calls


class _Deferred:
    """A function in place of the one that numba will make of it."""

    def __init__(self, function: Callable[..., object], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher()(*arguments)

    def dispatcher(self) -> Callable[..., object]:
        """What numba makes of the function. Its module gets theirs for all others, as numba calls only its own."""
        with _lock:
            if "_dispatcher" not in self.__dict__:
                from numba import njit

                self._dispatcher: Callable[..., object] = njit(cache=True, **self._options)(self._function)
                names = self._function.__globals__
                names.update({k: v.dispatcher() for k, v in list(names.items()) if isinstance(v, _Deferred)})
            return self._dispatcher


def _deferred(**options: Any) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        return _Deferred(function, options)  # type: ignore[return-value]

    return decorate


compiled = _deferred(nogil=True)
inlined = _deferred(inline="always")
# lets a sum be split over vector lanes, and assumes nothing about infinities
summing = _deferred(nogil=True, fastmath={"reassoc", "contract"})
