"""The run directory: files appear whole or not at all, and no step is done twice.

A run is a directory with a `run.json` (the request), a folder `steps/` (one small record per finished step) and the
artefacts. `Run.step` is the whole protocol: if the step is recorded as finished under the same key, its artefact is
loaded; otherwise it is made, written and then recorded. A process killed in between leaves no record, so the next run
makes that step again. A record holds the digests of the files that the step wrote: if one of them has changed, or the
record itself, a note says so and the step is made again. Every step is a function of its inputs and its seed, so the
result is the same, byte for byte. `docs/run-directory.md` describes the format.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self, TypeVar

from .errors import InputError, NotFoundError, RunInUseError, StoreError, WinnowError
from .files import PART, file_digest, fingerprint, plain, read_json, write_json, written_files

__all__ = ["FORMAT", "Run", "recorded_seconds"]

FORMAT = 2  # version of the run directory's layout
LOCK = "lock"


class Artefact(Protocol):
    """The result of a step: an object with `save` and `load`."""

    def save(self, path: str | Path) -> Any: ...

    @classmethod
    def load(cls, path: str | Path) -> Any: ...


A = TypeVar("A", bound=Artefact)


class Run:
    """A run directory, locked by one process; without a directory, nothing is saved.

    Parameters
    ----------
    path
        The directory, created if missing; None saves nothing.
    settings
        The request. A directory with another request raises an error if `extend` is not set (a study that grows by
        seeds or methods uses keys per step instead).
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
        """Return an existing run with the settings it was made with, to add steps to it."""
        if not (Path(path) / "run.json").is_file():
            raise NotFoundError(f"{path} is not a winnow run: it holds no run.json.")
        return cls(path, _about(Path(path))["settings"])

    @classmethod
    @contextmanager
    def opened(cls, out: Run | str | Path | None, settings: Mapping[str, Any], *, extend: bool = True) -> Iterator[Run]:
        """Yield a run for `out`: a path is opened for the block, an open run is used directly, None saves nothing."""
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
            for left_over in path.rglob(f".*{PART}"):  # left by a process killed while writing; we hold the lock
                left_over.unlink(missing_ok=True)
            if not changed:
                return
        write_json(about, wanted)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            self._lock.close()  # closing releases the lock
            self._lock = None

    def step(
        self, name: str, kind: type[A], make: Callable[[], A], *, key: object = None, file: str | None = None
    ) -> A:
        """Load the artefact of a finished step, or make, save and record it.

        Parameters
        ----------
        name
            The step, such as `observe/seed-0`; also the path of its record.
        kind
            The artefact's class.
        make
            Makes the artefact, from captured inputs and seeds only.
        key
            What the step depends on beyond the run's settings; a record under another key is ignored.
        file
            Path of the artefact in the run; the name of the step if not given.
        """
        found = self.get(name, kind, key=key)
        if found is not None:
            return found
        start = time.perf_counter()
        made = make()
        return self.put(name, made, time.perf_counter() - start, key=key, file=file)

    def get(self, name: str, kind: type[A], *, key: object = None) -> A | None:
        """Return the artefact of a step that is recorded as finished under this key, or None.

        None as well if the record or a file of the artefact has changed since it was written; a note says so.
        """
        if self.path is None:
            return None
        record_path = self.path / "steps" / f"{name}.json"
        if not record_path.exists():
            return None
        record = _record(record_path)
        if record is None:
            return self._again(name, record_path, "is not as winnow wrote it")
        if record["key"] != fingerprint(key):
            return None
        for file, digest in record["digests"].items():
            path = self.path / file
            if not path.is_file():
                return self._again(name, path, "is missing")
            if file_digest(path) != digest:
                return self._again(name, path, "has changed since it was written")
        try:
            found = kind.load(self.path / record["file"])
        except StoreError as error:  # whole, but of another version
            return self._again(name, self.path / record["file"], f"cannot be used ({str(error).rstrip('.')})")
        self._seconds[name] = float(record["seconds"])
        return found  # type: ignore[no-any-return]

    def _again(self, name: str, path: Path, why: str) -> None:
        """Say that a step has to be made again."""
        warnings.warn(f"{path} {why}; the step {name} is made again", stacklevel=4)

    def put(self, name: str, made: A, seconds: float, *, key: object = None, file: str | None = None) -> A:
        """Save the artefact of a step, then record the step as finished; this order makes it crash-safe."""
        self._seconds[name] = seconds
        if self.path is not None:
            where = file if file is not None else name
            # An old record must not vouch for the new artefact if we are killed between the two writes.
            (self.path / "steps" / f"{name}.json").unlink(missing_ok=True)
            with written_files() as files:
                made.save(self.path / where)
            digests = {os.path.relpath(file, self.path): file_digest(file) for file in files}
            record = {"key": fingerprint(key), "file": where, "seconds": seconds, "digests": digests}
            write_json(self.path / "steps" / f"{name}.json", {**record, "check": fingerprint(record)})
        return made

    def spent(self, name: str, seconds: float) -> None:
        """Count seconds of work that makes no artefact."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def seconds(self, prefix: str = "") -> float:
        """Return the seconds spent on the steps whose name starts with `prefix`, when they were first made."""
        return sum(value for name, value in self._seconds.items() if name.startswith(prefix))


def recorded_seconds(run: str | Path, step: str) -> float:
    """Return the seconds that a saved run records for a step, or for all steps below it."""
    steps = Path(run) / "steps"
    found = [steps / f"{step}.json", *(steps / step).rglob("*.json")] if (steps / step).is_dir() else []
    found = found[1:] or [steps / f"{step}.json"]  # if a step has parts, only the parts count
    return sum(float(read_json(path)["seconds"]) for path in found if path.exists())


def _record(path: Path) -> dict[str, Any] | None:
    """Return a step's record, or None if it is not as it was written."""
    try:
        found = read_json(path)
        check = found.pop("check")
    except (StoreError, AttributeError, KeyError, TypeError):
        return None
    return found if check == fingerprint(found) else None


def _about(path: Path) -> dict[str, Any]:
    """Return the `run.json` of a run; raise if this version cannot read it."""
    found = read_json(path / "run.json")
    if not isinstance(found, dict) or not isinstance(found.get("settings"), dict):
        raise StoreError(f"{path / 'run.json'} does not describe a winnow run.")
    if found.get("format") != FORMAT:
        raise StoreError(
            f"{path} was written in run format {found.get('format')!r}; this winnow reads format {FORMAT}: repeat the "
            f"command with another directory (--out)."
        )
    return found


def _hold(path: Path) -> IO[str]:
    """Lock the directory; the system releases the lock when the process ends, in whatever way."""
    import fcntl  # not available on every system, where `import winnow` should still work

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
