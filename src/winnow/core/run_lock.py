"""The lock of a run directory: one process at a time, or several that each do steps of their own.

The system releases a lock when its process ends, in whatever way, so none is ever left behind.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from .errors import RunInUseError

__all__ = ["LOCK", "hold", "is_together", "together"]

LOCK = "lock"
_together: ContextVar[bool] = ContextVar("together", default=False)


@contextmanager
def together() -> Iterator[None]:
    """Open runs within the block beside other processes that do so: each does steps of its own.

    Nobody may then open the run alone, as a command does, and nothing of the others is tidied away.
    """
    token = _together.set(True)
    try:
        yield
    finally:
        _together.reset(token)


def is_together() -> bool:
    """Whether runs are opened beside other processes."""
    return _together.get()


def hold(path: Path) -> IO[str]:
    """Lock a directory until the file that is returned is closed."""
    import fcntl  # not available on every system, where `import winnow` should still work

    file = (path / LOCK).open("a+")
    shared = is_together()
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        file.close()
        raise RunInUseError(
            f"{path} is in use by {holder}; wait for it to finish or choose another directory."
        ) from None
    if not shared:
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
    return file
