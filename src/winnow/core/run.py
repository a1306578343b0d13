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
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self, TypeVar

from .code_digest import coded
from .errors import InputError, NotFoundError, StoreError, WinnowError
from .files import PART, file_digest, fingerprint, plain, read_json, write_json, written_files
from .invocation import command_words
from .remote import copied_back, is_url, mirrored
from .run_command import command_of
from .run_lock import LOCK, hold, is_together, together
from .serialiser import durations_of, timed
from .step_record import damaged_file, has_record, read_record, record_path, recorded_seconds, write_record
from .unfinished import forget_unfinished, under_way

__all__ = ["FORMAT", "LOCK", "Run", "has_record", "read_record", "recorded_seconds", "together"]

FORMAT = 2  # version of the run directory's layout


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
        self._given = "" if path is None else path
        self.path = None if path is None else mirrored(path) if is_url(path) else Path(path)
        self.settings = dict(settings)
        self._extend = extend
        self._lock: IO[str] | None = None
        self._new = self._folder_new = False
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
        lock = hold(path)
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
            self._new = not ours and not is_url(self._given)
            if not ours and self.path.exists() and any(item.name != LOCK for item in self.path.iterdir()):
                raise StoreError(f"{self.path} is not empty and is not a winnow run; choose another directory.")
            if self.path.is_symlink() and not self.path.exists():
                raise InputError(f"the run directory {self.path} is a link to nothing; remove it, or make its target.")
            self._folder_new = not self.path.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = hold(self.path)
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
            if is_together():
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
                if self._new and isinstance(error, WinnowError) and not is_together():
                    _forget(self.path, self._folder_new)
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
        record = None if self.path is None else read_record(record_path(self.path, name))
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
        place = record_path(self.path, name)
        if not place.exists():
            return None
        record = read_record(place)
        if record is not None and record["key"] != fingerprint(key):
            return None
        damage = f"{place} is not as winnow wrote it" if record is None else self._damage(record)
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
        found = damaged_file(self.path, record)
        return None if found is None else f"{self.path / found[0]} {found[1]}"

    def put(
        self, name: str, made: A, seconds: float, *, key: object = None, file: str | None = None, code: object = None
    ) -> A:
        """Save the artefact of a step, then record the step as finished; this order makes it crash-safe."""
        self._seconds[name] = seconds
        if self.path is not None:
            where = file if file is not None else name
            # An old record must not vouch for the new artefact if we are killed between the two writes.
            record_path(self.path, name).unlink(missing_ok=True)
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
            place = record_path(self.path, name)
            write_record(place, record)
            copied_back(self.path, [*(self.path / one for one in digests), place])
            forget_unfinished(self.path, name)

    def spent(self, name: str, seconds: float) -> None:
        """Count seconds of work that makes no artefact."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def seconds(self, prefix: str = "") -> float:
        """Return the seconds spent on the steps whose name starts with `prefix`, when they were first made."""
        return sum(value for name, value in self._seconds.items() if name.startswith(prefix))


def _forget(path: Path, folder: bool) -> None:
    """Remove a new run whose command was refused before anything was written, and its folder if that is new too."""
    ours = (path / "run.json", path / LOCK)
    if not all(item.is_dir() or item in ours for item in path.rglob("*")):
        return
    for item in ours:
        item.unlink(missing_ok=True)
    if folder:
        shutil.rmtree(path, ignore_errors=True)


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
