"""The run that a later pruning goes on from: its subset, signals and networks, and whether they fit the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ..artefacts import Signals, Subset
from ..artefacts.example_digests import ExampleDigests
from ..core import registry
from ..core.errors import InputError, NotDefinedError, NotFoundError, StoreError
from ..core.files import fingerprint, plain
from ..core.parameter_names import argument, of
from ..core.request import Parameter, VerbRequest
from ..core.run import Run
from ..core.step_record import read_record
from ..core.stored_runs import whole
from ..signals.continued_training import NETWORKS, checkpoint_file

__all__ = ["DIGESTS", "Base", "BaseRun", "check_base"]

DIGESTS = "digests.parquet"
SAME = ("model", "observer", "recipe", "seeds", "seed")  # must be those of the base
MOMENTS = ("training", "trained", "data")  # signals that can be recorded of new examples alone


@dataclass(frozen=True)
class BaseRun:
    """A finished run of `prune`.

    Parameters
    ----------
    path
        Its directory.
    settings
        What it was asked for.
    subset
        What it chose.
    """

    path: Path
    settings: Mapping[str, Any]
    subset: Subset

    @classmethod
    def read(cls, name: str, owner: str, value: Any) -> BaseRun:
        """Read a run directory; raise if it holds no finished pruning."""
        if isinstance(value, BaseRun):
            return value
        if not isinstance(value, str | Path):
            raise InputError(f"{of(name, owner)} must be the run directory of a pruning; got {type(value).__name__}.")
        path = Path(value)
        settings = Run.existing(path).settings
        if not str(settings.get("command", "")).startswith("prune"):
            command = settings.get("command")
            held = "another run" if command is None else f"a run of {command}"
            raise InputError(f"{of(name, owner)} must be the run directory of a pruning; {path} holds {held}.")
        if not (path / "subset.parquet").is_file():
            raise NotFoundError(f"{path} holds no subset.parquet: that run is not finished; run it again to the end.")
        return cls(path, settings, Subset.load(whole(path / "subset.parquet")))

    @property
    def fingerprint(self) -> str:
        """Fingerprint of what was asked and chosen."""
        return fingerprint(dict(self.settings), self.subset.fingerprint)

    def signals(self, number: int) -> Signals:
        """What was recorded with one seed; without labels, the embeddings."""
        step = f"seed-{number}"
        if not (self.path / "steps" / "observe" / f"{step}.json").exists():
            step = "embeddings"
        record = read_record(self.path / "steps" / "observe" / f"{step}.json")
        if record is None:
            raise StoreError(
                f"{self.path} has no whole record of observe/{step}; run that pruning again, or start over."
            )
        return Signals.load(whole(self.path / record["file"]))

    def checkpoint(self, number: int) -> Path:
        """The file of the network of one seed."""
        return whole(checkpoint_file(self.path / NETWORKS, number))

    @property
    def digests(self) -> ExampleDigests | None:
        """What the examples held, if their ids do not say it."""
        file = self.path / DIGESTS
        return ExampleDigests.load(whole(file)) if file.exists() else None


Base = Annotated[
    Any,
    Parameter(
        "Run directory of an earlier pruning, made with --out: its examples keep their signals, only new ones are "
        "observed.",
        BaseRun.read,
        plain=lambda base: base.fingerprint,
        option="since",
        kind=Path | None,
    ),
]


def check_base(asked: VerbRequest, numbers: list[int], want: tuple[str, ...]) -> None:
    """Raise if a pruning cannot go on from its base.

    Parameters
    ----------
    asked
        A request of `prune`.
    numbers
        The seeds that are observed.
    want
        The signals that are needed.
    """
    base: BaseRun = asked.base
    name = of("base", "prune")
    for other in ("tolerance", "signals", "plan"):
        if getattr(asked, other) is not None:
            raise InputError(f"{name} cannot be given together with {argument(other, 'prune')}.")
    if not want:
        raise NotDefinedError(f"{name} is for methods that observe the examples; {asked.method!r} does not.")
    if asked.source.task == "unlabelled":
        return  # nothing is trained
    now = plain(asked.settings())
    for word in SAME:
        if base.settings.get(word) != now.get(word):
            raise InputError(
                f"{name} must be a run with the same network and training; {_difference(word, base.settings, now)}."
            )
    for word in want:
        entry = registry.get("signal", word)
        if entry.when not in MOMENTS:
            raise NotDefinedError(
                f"{name} does not work with a method that needs the signal {word!r}, which cannot be recorded for new "
                "examples alone; start over without it."
            )
    missing = [number for number in numbers if not base.checkpoint(number).is_file()]
    if missing:
        raise NotFoundError(
            f"{base.path} holds no network to go on from ({base.checkpoint(missing[0]).name} is missing): it was made "
            "without an observation, or by an earlier version; start over with a run directory."
        )


def _difference(word: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    old, new = then.get(word), now.get(word)
    if isinstance(old, dict) and isinstance(new, dict):
        word, old, new = next(
            (key, old.get(key), new.get(key)) for key in {**old, **new} if old.get(key) != new.get(key)
        )
    return f"{word} was {old!r}, now {new!r}"
