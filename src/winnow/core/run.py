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
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self, TypeVar

from .code_digest import coded
from .errors import InputError, NotFoundError, RunInUseError, StoreError, WinnowError
from .files import PART, file_digest, fingerprint, plain, read_json, write_json, written_files
from .invocation import command_words
from .remote import copied_back, is_url, mirrored
from .run_command import command_of
from .serialiser import durations_of, timed
from .unfinished import forget_unfinished, under_way

__all__ = ["FORMAT", "LOCK", "Run", "has_record", "read_record", "recorded_seconds", "together"]

FORMAT = 2  # version of the run directory's layout
LOCK = "lock"
RECORD = {"key", "file", "seconds", "digests"}
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
        self.path = None if path is None else mirrored(path) if is_url(path) else Path(path)
        self.settings = dict(settings)
        self._extend = extend
        self._lock: IO[str] | None = None
        self._seconds: dict[str, float] = {}
        self.whole, self.folder = self, ""  # of a part of a run, the run and the folder (`run_part`)

    @classmethod
    def existing(cls, path: str | Path) -> Run:
        """Return an existing run with the settings it was made with, to add steps to it."""
        folder = mirrored(path) if is_url(path) else Path(path)
        if not (folder / "run.json").is_file():
            raise NotFoundError(f"{path} is not a winnow run: it holds no run.json.")
        return cls(folder, _about(folder)["settings"])

    @staticmethod
    @contextmanager
    def held(path: Path) -> Iterator[None]:
        """Lock a directory for the block, whatever it holds."""
        lock = _hold(path)
        try:
            yield
        finally:
            lock.close()

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
        try:
            if self.path.exists() and not self.path.is_dir():
                raise InputError(f"the run directory must be a directory; {self.path} is a file.")
            ours = (self.path / "run.json").exists()
            if not ours and self.path.exists() and any(item.name != LOCK for item in self.path.iterdir()):
                raise StoreError(f"{self.path} is not empty and is not a winnow run; choose another directory.")
            if self.path.is_symlink() and not self.path.exists():
                raise InputError(f"the run directory {self.path} is a link to nothing; remove it, or make its target.")
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
        wanted: dict[str, Any] = {"format": FORMAT, "settings": plain(self.settings)}
        if (called := command_words()) is not None:
            wanted["called"] = list(called)
        if about.exists():
            found = _about(path)
            changed = sorted(
                key
                for key in {*found["settings"], *wanted["settings"]}
                if found["settings"].get(key) != wanted["settings"].get(key)
            )
            begun = any(item.name not in ("run.json", "lock") for item in path.iterdir())
            # A command that was refused after it made its directory leaves nothing to protect from the corrected one.
            if changed and begun and (not self._extend or "command" in changed):
                key = "command" if "command" in changed else changed[0]
                what = f"other settings ({key} was {found['settings'].get(key)!r}, now {wanted['settings'].get(key)!r})"
                if "source" in changed and "command" not in changed:
                    what = "other data"
                raise StoreError(f"{path} holds a run with {what}; give another directory (--out) or the same command.")
            if _together.get():
                return
            for left_over in path.rglob(f".*{PART}"):  # left by a process killed while writing; we hold the lock
                left_over.unlink(missing_ok=True)
            check = found.pop("check", None)  # older versions wrote none
            damaged = check is not None and check != fingerprint(found)
            if check is not None and not damaged and not changed:
                return
            if damaged and not changed:
                warnings.warn(f"{about} is not as winnow wrote it; it is written again", stacklevel=4)
        write_json(about, {**wanted, "check": fingerprint(wanted)})
        copied_back(path, [about])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            if self.path is not None:
                copied_back(self.path)
            self._lock.close()  # closing releases the lock
            self._lock = None

    def step(
        self,
        name: str,
        kind: type[A],
        make: Callable[[], A],
        *,
        key: object = None,
        file: str | None = None,
        code: object = None,
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
            What the step depends on beyond the run's settings and the code of `make`; a record under another key is
            ignored. Artefacts that it reads belong here, by their fingerprints.
        file
            Path of the artefact in the run; the name of the step if not given.
        code
            What a later step must have in common with this one to build on its artefact (`earlier`).
        """
        key = coded(make, key)
        found = self.get(name, kind, key=key)
        if found is not None:
            return found
        start = time.perf_counter()
        with under_way(self.path, name, key) as step:
            made = make()
        seconds = time.perf_counter() - start + (0.0 if step is None else step.earlier)
        return self.put(name, made, seconds, key=key, file=file, code=code)

    def earlier(self, name: str, kind: type[A], code: object) -> A | None:
        """Return the artefact of a step recorded under any key, if it is whole and was made by the same code."""
        record = None if self.path is None else read_record(self.path / "steps" / f"{name}.json")
        if record is None or record.get("code") != fingerprint(code) or self._damage(record) is not None:
            return None
        assert self.path is not None
        return timed(kind.load(self.path / record["file"]), record.get("durations", {}))  # type: ignore[no-any-return]

    def get(self, name: str, kind: type[A], *, key: object = None) -> A | None:
        """Return the artefact of a step that is recorded as finished under this key, or None.

        None as well if the record or a file of the artefact has changed since it was written; a note says so.
        """
        if self.path is None:
            return None
        record_path = self.path / "steps" / f"{name}.json"
        if not record_path.exists():
            return None
        record = read_record(record_path)
        if record is not None and record["key"] != fingerprint(key):
            return None
        damage = f"{record_path} is not as winnow wrote it" if record is None else self._damage(record)
        if record is not None and damage is None:
            try:
                found = timed(kind.load(self.path / record["file"]), record.get("durations", {}))
                self._seconds[name] = float(record["seconds"])
                forget_unfinished(self.path, name)  # left by a process killed right after it had recorded the step
                return found  # type: ignore[no-any-return]
            except StoreError as error:  # whole, but of another version
                damage = f"{self.path / record['file']} cannot be used ({str(error).rstrip('.')})"
        warnings.warn(f"{damage}; the step {name} is made again", stacklevel=3)
        return None

    def _damage(self, record: Mapping[str, Any]) -> str | None:
        """What is wrong with the files of a step, in words; None if they are as they were written."""
        assert self.path is not None
        for file, digest in record["digests"].items():
            path = self.path / file
            if not path.is_file():
                return f"{path} is missing"
            if file_digest(path) != digest:
                return f"{path} has changed since it was written"
        return None

    def put(
        self, name: str, made: A, seconds: float, *, key: object = None, file: str | None = None, code: object = None
    ) -> A:
        """Save the artefact of a step, then record the step as finished; this order makes it crash-safe."""
        self._seconds[name] = seconds
        if self.path is not None:
            where = file if file is not None else name
            # An old record must not vouch for the new artefact if we are killed between the two writes.
            (self.path / "steps" / f"{name}.json").unlink(missing_ok=True)
            with written_files() as files:
                made.save(self.path / where)
            digests = {os.path.relpath(file, self.path): file_digest(file) for file in files}
            self.record(name, where, digests, seconds, key=key, code=code, durations=durations_of(made))
        return made

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
        """Record a step as finished whose artefact is in place, with the digests of its files and its durations."""
        self._seconds[name] = seconds
        if self.path is not None:
            record = {"key": fingerprint(key), "file": file, "seconds": seconds, "digests": dict(digests)}
            record |= {} if code is None else {"code": fingerprint(code)}
            record |= {"durations": dict(durations)} if durations else {}
            write_json(self.path / "steps" / f"{name}.json", {**record, "check": fingerprint(record)})
            copied_back(self.path, [*(self.path / one for one in digests), self.path / "steps" / f"{name}.json"])
            forget_unfinished(self.path, name)

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


def has_record(run: Path, step: str, key: str) -> bool:
    """Whether a step is recorded as finished under a key, given as its fingerprint; files are not looked at."""
    path = run / "steps" / f"{step}.json"
    found = read_record(path) if path.exists() else None
    return found is not None and bool(found["key"] == key)


def read_record(path: Path) -> dict[str, Any] | None:
    """Return a step's record, or None if it is not as it was written."""
    try:
        found = read_json(path)
        check = found.pop("check")
    except (StoreError, AttributeError, KeyError, TypeError):
        return None
    return found if check == fingerprint(found) and found.keys() >= RECORD else None


def _about(path: Path) -> dict[str, Any]:
    """Return the `run.json` of a run; raise if this version cannot read it."""
    found = read_json(path / "run.json")
    if not isinstance(found, dict) or not isinstance(found.get("settings"), dict):
        raise StoreError(f"{path / 'run.json'} does not describe a winnow run.")
    if found.get("format") != FORMAT:
        raise StoreError(
            f"{path} was written in run format {found.get('format')!r}; this winnow reads format {FORMAT}; make it "
            f"again with: {command_of(path, found)}"
        )
    return found


def _hold(path: Path) -> IO[str]:
    """Lock the directory; the system releases the lock when the process ends, in whatever way."""
    import fcntl  # not available on every system, where `import winnow` should still work

    file = (path / LOCK).open("a+")
    shared = _together.get()
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
