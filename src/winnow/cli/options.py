"""Options that several commands share, and how they become library values."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import InputError, NotFoundError
from ..core.files import plain

if TYPE_CHECKING:
    from ..artefacts import Signals, Subset

Seed = Annotated[int, typer.Option(help="Random seed.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="A parameter of the method, as name=value.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def parameters(given: list[str] | None, taken: Mapping[str, str]) -> dict[str, Any]:
    """Return `name=value` pairs as a mapping; numbers, true, false and null are read as JSON, the rest as text.

    `taken` maps the names that have their own option to that option.
    """
    found: dict[str, Any] = {}
    for pair in given or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--set must be given as name=value; got {pair!r}.")
        if name in taken:
            raise InputError(f"--set is for parameters of the method; for {name} there is {taken[name]}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def say_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object; NaN and infinity become null."""
    typer.echo(json.dumps(plain(value), indent=1))


def say_taken(taken: Mapping[str, Any] | None) -> None:
    """Print which numbers of a network represent an example, if a network was used."""
    from ..models.representation import Representation

    if taken:
        typer.echo(f"taken    {Representation(**taken).sentence()}")


def observed(run: Path) -> Signals:
    """Load what winnow observe or winnow prune recorded in a run."""
    from ..artefacts import Signals
    from ..core.stored_runs import whole

    if (run / "signals.safetensors").exists():
        return Signals.load(whole(run / "signals.safetensors"))
    files = [path for path in sorted((run / "signals").glob("seed-*.safetensors")) if _of_a_seed(path)]
    parts = [Signals.load(whole(path)) for path in files]
    if not parts:
        raise NotFoundError(f"{run} holds no signals.safetensors; make one with winnow observe.")
    return Signals.stack(parts, parts[0].provenance)


def _of_a_seed(path: Path) -> bool:
    """Whether a file holds one seed of all examples, and not one fold."""
    return path.stem.removeprefix("seed-").isdigit()


def stored(
    run: Path, step: str, path: Path, make: Callable[[Signals], Any], key: Mapping[str, Any]
) -> tuple[Any, Signals]:
    """Make an artefact from what a run recorded and keep it in a file, as a step of the run; return the signals too."""
    from ..core.run import Run

    with Run.existing(run) as opened:
        signals = observed(run)
        start = time.perf_counter()
        made = make(signals)
        opened.put(step, made, time.perf_counter() - start, key=key, file=str(path.absolute()))
    return made, signals


def subsets(texts: list[str], option: str) -> tuple[dict[str, Subset], dict[str, dict[str, float]]]:
    """Load subsets from files, by name, and the cost of finding each, if its run recorded it."""
    from ..artefacts import Subset
    from ..artefacts.ledger import costs_of
    from ..core.stored_runs import whole
    from ..sources.openable import named_values

    files = named_values(option, texts) or {}
    found = {name: Subset.load(whole(path)) for name, path in files.items()}
    return found, {name: costs_of(path, found[name]) for name, path in files.items()}
