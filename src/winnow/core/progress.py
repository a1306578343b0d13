"""Progress bars: silent in libraries and outside terminals, a rich bar on request.

`track` is the simple form; `task` is for work that reports its steps itself. Bars appear only inside `shown()` (the
command line opens it), only if stderr is a terminal, and only after two seconds of work.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["shown", "task", "track"]

T = TypeVar("T")
Advance = Callable[[int], None]

PATIENCE = 2.0  # seconds of work before a bar appears
_wanted: ContextVar[bool] = ContextVar("winnow_progress", default=False)


@contextmanager
def shown(enabled: bool = True) -> Iterator[None]:
    """Let bars appear within this block."""
    token = _wanted.set(enabled)
    try:
        yield
    finally:
        _wanted.reset(token)


@contextmanager
def task(label: str, total: int | None = None) -> Iterator[Advance]:
    """Show a bar for one piece of work; call the yielded function with the number of steps just finished."""
    if not _wanted.get() or not sys.stderr.isatty():
        yield _ignore
        return
    bar = _Bar(label, total)
    try:
        yield bar.advance
    finally:
        bar.close()


def track(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Iterate over `items` with a bar."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with task(label, total) as advance:
        for item in items:
            yield item
            advance(1)


def _ignore(steps: int) -> None:
    """Ignore progress when no bar is shown."""


class _Bar:
    """A rich bar that appears after `PATIENCE` seconds, whether or not there was any progress by then."""

    def __init__(self, label: str, total: int | None) -> None:
        self._label, self._total, self._done = label, total, 0
        self._over = False
        self._draw: Callable[[int], None] = _ignore
        self._close: Callable[[], None] = lambda: None
        self._guard = threading.RLock()  # the timer opens the bar from another thread
        self._timer = threading.Timer(PATIENCE, self._open)
        self._timer.daemon = True
        self._timer.start()

    def advance(self, steps: int) -> None:
        with self._guard:
            self._done += steps
            self._draw(self._done)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        with self._guard:
            if self._over or _live_bars:  # rich draws one live display at a time; an inner loop stays silent
                return
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                       TextColumn("left"), Remaining())  # fmt: skip
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            bar.start()
            number = bar.add_task(self._label, total=self._total, completed=self._done)
            _live_bars.append(bar)

            def close() -> None:
                bar.stop()
                _live_bars.remove(bar)

            self._close = close
            self._draw = lambda done: bar.update(number, completed=done)

    def close(self) -> None:
        self._timer.cancel()
        with self._guard:
            self._over = True
            self._close()


_live_bars: list[object] = []
