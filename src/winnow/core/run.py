"""The run directory: files that appear whole or not at all, steps that are never done twice.

A run is a directory with a `run.json` (what was asked), a `steps/` folder (one small record for each
finished step) and the artefacts themselves. `Run.step` is the whole protocol: if the step is recorded
as finished under the same key its artefact is loaded, otherwise it is made, written and then recorded.
A process killed in between leaves no record, so the next run makes that step again and, because every
step is a function of its inputs and its seed, ends with the same bytes. `docs/run-directory.md` is the
page that writes the format down.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self, TypeVar

from .errors import InputError, NotFoundError, RunInUseError, StoreError, WinnowError
from .files import PART, fingerprint, plain, read_json, write_json

__all__ = ["FORMAT", "Run", "recorded_seconds"]

FORMAT = 1  # version of the run directory's layout
LOCK = "lock"


class Artefact(Protocol):
    """What a step may produce: something that saves itself and can be loaded again."""

    def save(self, path: str | Path) -> Any: ...

    @classmethod
    def load(cls, path: str | Path) -> Any: ...


A = TypeVar("A", bound=Artefact)


class Run:
    """A run directory held open by one process; without a directory, steps are made and not kept.

    Parameters
    ----------
    path
        The directory, made if missing; None keeps nothing.
    settings
        What the run was asked to do. A directory that holds another request is refused, unless
        `extend` is set (a study that grows by seeds or methods keys each step instead).
    extend
        Accept a directory whose recorded settings differ, and record the new ones.
    """

    def __init__(self, path: str | Path | None, settings: Mapping[str, Any], *, extend: bool = False) -> None:
        self.path = None if path is None else Path(path)
        self.settings = dict(settings)
        self._extend = extend
        self._lock: IO[str] | None = None
        self._seconds: dict[str, float] = {}

    @classmethod
    def existing(cls, path: str | Path) -> Run:
        """A run that is there already, under the settings it was made with, to add steps to it."""
        if not (Path(path) / "run.json").is_file():
            raise NotFoundError(f"{path} is not a winnow run: it holds no run.json.")
        return cls(path, _about(Path(path))["settings"])

    @classmethod
    @contextmanager
    def opened(cls, out: Run | str | Path | None, settings: Mapping[str, Any], *, extend: bool = True) -> Iterator[Run]:
        """A run for `out`: a path is opened for the block, an open run is used as it is, None keeps nothing."""
        if isinstance(out, Run):
            yield out
        else:
            with cls(out, settings, extend=extend) as run:
                yield run

    def __enter__(self) -> Self:
        if self.path is None:
            return self
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"the run directory must be a directory; {self.path} is a file.")
        ours = (self.path / "run.json").exists()
        if not ours and self.path.exists() and any(item.name != LOCK for item in self.path.iterdir()):
            raise StoreError(f"{self.path} is not empty and is not a winnow run; choose another directory.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = _hold(self.path)
        except OSError as error:
            if isinstance(error, WinnowError):
                raise
            raise InputError(f"the run directory {self.path} cannot be written: {error.strerror}.") from None
        try:
            self._open(self.path)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _open(self, path: Path) -> None:
        about = path / "run.json"
        wanted = {"format": FORMAT, "settings": plain(self.settings)}
        if about.exists():
            found = _about(path)
            changed = sorted(
                key
                for key in {*found["settings"], *wanted["settings"]}
                if found["settings"].get(key) != wanted["settings"].get(key)
            )
            if changed and (not self._extend or "command" in changed):
                key = changed[0]
                what = f"other settings ({key} was {found['settings'].get(key)!r}, now {wanted['settings'].get(key)!r})"
                if "source" in changed and "command" not in changed:
                    what = "other data"
                raise StoreError(f"{path} holds a run with {what}; give another directory (--out) or the same command.")
            for left_over in path.rglob(f".*{PART}"):  # of a process killed while it wrote; the lock is ours
                left_over.unlink(missing_ok=True)
            if not changed:
                return
        write_json(about, wanted)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            self._lock.close()  # closing gives the lock up
            self._lock = None

    def step(
        self, name: str, kind: type[A], make: Callable[[], A], *, key: object = None, file: str | None = None
    ) -> A:
        """Load the artefact of a finished step, or make, save and record it.

        Parameters
        ----------
        name
            The step, such as `observe/seed-0`; also where its record lies.
        kind
            The artefact's class.
        make
            Makes it, from nothing but captured inputs and seeds.
        key
            What the step depends on beyond the run's settings; a record under another key is ignored.
        file
            Where the artefact lies in the run; the step's name unless given.
        """
        found = self.get(name, kind, key=key)
        if found is not None:
            return found
        start = time.perf_counter()
        made = make()
        return self.put(name, made, time.perf_counter() - start, key=key, file=file)

    def get(self, name: str, kind: type[A], *, key: object = None) -> A | None:
        """The artefact of a step that is recorded as finished under this key, or None."""
        if self.path is None:
            return None
        record_path = self.path / "steps" / f"{name}.json"
        if not record_path.exists():
            return None
        record = read_json(record_path)
        if record.get("key") != fingerprint(key):
            return None
        self._seconds[name] = float(record["seconds"])
        return kind.load(self.path / record["file"])  # type: ignore[no-any-return]

    def put(self, name: str, made: A, seconds: float, *, key: object = None, file: str | None = None) -> A:
        """Save the artefact of a step, then record the step as finished; the order is what makes it safe."""
        self._seconds[name] = seconds
        if self.path is not None:
            where = file if file is not None else name
            # An old record must not vouch for the new artefact if we are killed between the two writes.
            (self.path / "steps" / f"{name}.json").unlink(missing_ok=True)
            made.save(self.path / where)
            write_json(
                self.path / "steps" / f"{name}.json", {"key": fingerprint(key), "file": where, "seconds": seconds}
            )
        return made

    def spent(self, name: str, seconds: float) -> None:
        """Count seconds of work that leaves no artefact of its own."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def seconds(self, prefix: str = "") -> float:
        """Seconds spent on the steps whose name starts with `prefix`, when they were first made."""
        return sum(value for name, value in self._seconds.items() if name.startswith(prefix))


def recorded_seconds(run: str | Path, step: str) -> float:
    """Seconds that a saved run records for a step, or for all steps below it."""
    steps = Path(run) / "steps"
    found = [steps / f"{step}.json", *(steps / step).rglob("*.json")] if (steps / step).is_dir() else []
    found = found[1:] or [steps / f"{step}.json"]  # the parts of a step are what it took, not the step beside them
    return sum(float(read_json(path)["seconds"]) for path in found if path.exists())


def _about(path: Path) -> dict[str, Any]:
    """The `run.json` of a run, if this winnow can read it."""
    found = read_json(path / "run.json")
    if not isinstance(found, dict) or not isinstance(found.get("settings"), dict):
        raise StoreError(f"{path / 'run.json'} does not describe a winnow run.")
    if found.get("format") != FORMAT:
        raise StoreError(
            f"{path} was written in run format {found.get('format')!r}; this winnow reads format {FORMAT}."
        )
    return found


def _hold(path: Path) -> IO[str]:
    """Take the directory's lock; the system gives it up when the process ends, however it ends."""
    import fcntl  # not everywhere, and `import winnow` should work there too

    file = (path / LOCK).open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        file.close()
        raise RunInUseError(
            f"{path} is in use by {holder}; wait for it to finish or choose another directory."
        ) from None
    file.truncate(0)
    file.write(f"process {os.getpid()}")
    file.flush()
    return file
