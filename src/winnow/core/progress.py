"""Progress: silent in libraries; on request a rich bar on a terminal, and plain lines anywhere else.

`track` is the simple form; `task` is for work that reports its steps itself. Progress appears only inside `shown()`,
which the command line opens. On a terminal a bar appears after two seconds of work. Elsewhere, as in a pipe or under
nohup, each piece of work gets a line when it starts and one a minute while it goes on; one that starts within two
seconds of the last line gets its line after two seconds, if it still goes on.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from .units import GAP, seconds_text

__all__ = ["shown", "task", "track"]

T = TypeVar("T")
Advance = Callable[[int], None]

PATIENCE = 2.0  # seconds of work before a bar appears, and between the lines of short pieces of work
EVERY = 60.0  # seconds between two lines of one piece of work
NOTHING, BARS, ALL = "nothing", "bars", "all"
_wanted: ContextVar[str] = ContextVar("winnow_progress", default=NOTHING)
_last = {"line": 0.0}  # when the last line was written


@contextmanager
def shown(enabled: bool = True, *, lines: bool = True) -> Iterator[None]:
    """Let bars appear within this block, and lines if stderr is no terminal."""
    token = _wanted.set((ALL if lines else BARS) if enabled else NOTHING)
    _last["line"] = time.monotonic()
    try:
        yield
    finally:
        _wanted.reset(token)


@contextmanager
def task(label: str, total: int | None = None) -> Iterator[Advance]:
    """Show how far one piece of work is; call the yielded function with the number of steps just finished."""
    wanted, terminal = _wanted.get(), sys.stderr.isatty()
    if wanted == NOTHING or (wanted == BARS and not terminal):
        yield _ignore
        return
    shower = _Bar(label, total) if terminal else _Lines(label, total)
    try:
        yield shower.advance
    finally:
        shower.close()


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


class _Lines:
    """Plain lines about a piece of work; one inside another stays silent."""

    def __init__(self, label: str, total: int | None) -> None:
        self._label, self._total, self._done = label, total, 0
        self._start = time.monotonic()
        self._outer = not _live_lines
        self._over = threading.Event()
        if self._outer:
            _live_lines.append(self)
            wait = PATIENCE - (self._start - _last["line"])
            if wait <= 0:
                self._say()
            threading.Thread(target=self._watch, args=(wait,), daemon=True, name="winnow-progress").start()

    def advance(self, steps: int) -> None:
        self._done += steps

    def _watch(self, wait: float) -> None:
        if wait > 0 and not self._over.wait(wait):
            self._say()
        while not self._over.wait(EVERY):
            self._say()

    def _say(self) -> None:
        passed = time.monotonic() - self._start
        steps = "" if self._total is None else f"{self._done:,} of {self._total:,}"
        after = f"after {seconds_text(round(passed)).replace(GAP, ' ')}" if passed >= EVERY else ""
        about = ", ".join(filter(None, (steps, after)))
        _last["line"] = time.monotonic()
        print(f"winnow: {self._label}{f' ({about})' if about else ''}", file=sys.stderr, flush=True)

    def close(self) -> None:
        self._over.set()
        if self._outer:
            _live_lines.remove(self)


_live_bars: list[object] = []
_live_lines: list[object] = []
