"""Decorators for functions that numba compiles when they are first called.

Importing numba takes about as long as a small prune, so decorating a function does not import it. What was compiled is
kept on disk; where it is not there yet, the progress bar says what the user is waiting for.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TypeVar

from .progress import task

__all__ = ["compiled", "inlined", "summing"]

F = TypeVar("F", bound=Callable[..., object])

_lock = threading.RLock()  # a function is compiled together with the functions it calls


class _Deferred:
    """Stands for a function until numba has compiled it."""

    def __init__(self, function: Callable[..., object], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher()(*arguments)

    def dispatcher(self) -> Callable[..., object]:
        """Return numba's version of the function; its module gets those of all others, which compiled code needs."""
        with _lock:
            if "_dispatcher" not in self.__dict__:
                _announce()
                self._dispatcher: Callable[..., object] = self._jitted()
                names = self._function.__globals__
                names.update({k: v.dispatcher() for k, v in list(names.items()) if isinstance(v, _Deferred)})
            return self._dispatcher

    def _jitted(self) -> Callable[..., object]:
        from numba import njit

        try:
            made = njit(cache=True, **self._options)(self._function)
        except (OSError, RuntimeError):  # no folder for compiled code can be written: it is compiled in each process
            made = njit(**self._options)(self._function)
        found: Callable[..., object] = made
        return found


@functools.cache
def _announce() -> None:
    """Show a bar whenever numba compiles a function that is not in its cache."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]  # numba has no types
        depth, shown = 0, ExitStack()

        def on_start(self, event: object) -> None:
            if self.depth == 0:
                self.shown.enter_context(task("compiling, once per installation"))
            self.depth += 1

        def on_end(self, event: object) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.shown.close()

    event.register("numba:compile", Listener())


def _deferred(**options: Any) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        return _Deferred(function, options)  # type: ignore[return-value]

    return decorate


compiled = _deferred(nogil=True)
inlined = _deferred(inline="always")
# allows sums to be split over vector lanes, and assumes nothing about infinities
summing = _deferred(nogil=True, fastmath={"reassoc", "contract"})
