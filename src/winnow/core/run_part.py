"""A part of a run: the steps of a piece of work, kept in a folder of their own within the run.

The same work can then be done several times in one run, such as an observation of each fold, without one of them taking
the records of another for its own. Keys, digests and seconds are those of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .run import A, Run

__all__ = ["RunPart"]


class RunPart(Run):
    """A run whose steps and files are put into a folder of another run, which holds the lock.

    Parameters
    ----------
    whole
        The run.
    folder
        The folder, such as `search/fold-0`; the names of all steps and files begin with it.
    """

    def __init__(self, whole: Run, folder: str) -> None:
        super().__init__(whole.path, whole.settings)
        self.whole, self.folder = whole.whole, f"{whole.folder}{folder}/"
        self._seconds = whole._seconds

    def earlier(self, name: str, kind: type[A], code: object) -> A | None:
        """As `Run.earlier`, of this part."""
        return self.whole.earlier(self.folder + name, kind, code)

    def get(self, name: str, kind: type[A], *, key: object = None) -> A | None:
        """As `Run.get`, of this part."""
        return self.whole.get(self.folder + name, kind, key=key)

    def put(
        self, name: str, made: A, seconds: float, *, key: object = None, file: str | None = None, code: object = None
    ) -> A:
        """As `Run.put`, into this part."""
        where = self.folder + (name if file is None else file)
        return self.whole.put(self.folder + name, made, seconds, key=key, file=where, code=code)

    def record(
        self,
        name: str,
        file: str,
        digests: Mapping[str, str],
        seconds: float,
        *,
        key: object = None,
        code: object = None,
        durations: Mapping[str, Any] | None = None,
    ) -> None:
        """As `Run.record`; the file and its digests are named within the whole run."""
        self.whole.record(self.folder + name, file, digests, seconds, key=key, code=code, durations=durations)

    def spent(self, name: str, seconds: float) -> None:
        """As `Run.spent`, of this part."""
        self.whole.spent(self.folder + name, seconds)

    def seconds(self, prefix: str = "") -> float:
        """As `Run.seconds`, of this part."""
        return self.whole.seconds(self.folder + prefix)

    def __enter__(self) -> Any:
        raise TypeError("a part of a run is open while the run is")
