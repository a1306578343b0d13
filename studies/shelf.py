"""Where a study keeps what is dear: one small JSON a result, written as soon as it is there.

A result's file is named by all that decides it, so a study that was stopped goes on, and one with other settings never
takes up what is not its own. Every result has a seed of its own, named by the same words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from winnow.core import run as store
from winnow.core import seeds


class Shelf:
    """The results of a run directory; what is not there yet is made and put there."""

    def __init__(self, folder: Path, study: str) -> None:
        self.folder, self._study = folder, study
        self._seconds: dict[str, float] = {}

    def keep(self, kind: str, settings: Mapping[str, Any], make: Callable[[int], Any]) -> Any:
        """What `make(seed)` returns, which JSON can hold, made once.

        Parameters
        ----------
        kind
            The folder of such results.
        settings
            Everything that decides the result, in values that JSON can hold.
        make
            Makes the result from a seed.
        """
        return self.timed(kind, settings, make)[0]

    def timed(self, kind: str, settings: Mapping[str, Any], make: Callable[[int], Any]) -> tuple[Any, float]:
        """The same, with the processor seconds that it took when it was made."""
        name = store.fingerprint(kind, dict(settings))
        file = self.folder / kind / f"{name}.json"
        if not file.exists():
            clock = time.process_time()
            made = make(seeds.number(0, self._study, name))
            store.write_json(file, {"settings": dict(settings), "values": made, "seconds": time.process_time() - clock})
        kept = store.read_json(file)
        self._seconds[file.name] = float(kept["seconds"])
        return kept["values"], self._seconds[file.name]

    def beside(self, name: str) -> Shelf:
        """A shelf that the parts of a study share, in a folder next to this one; its seconds count here too."""
        other = Shelf(self.folder.parent / name, f"{self._study.split()[0]} {name}")
        other._seconds = self._seconds
        return other

    def seconds(self) -> float:
        """Processor seconds of all that was asked for, as they were when it was made."""
        return sum(self._seconds.values())
