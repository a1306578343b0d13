"""Options that several commands share, and how they become library values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import InputError, NotFoundError
from ..core.files import plain

if TYPE_CHECKING:
    from ..artefacts import Signals, Source
    from ..engines import Local
    from ..training.recipe import Recipe

Data = Annotated[
    str, typer.Argument(help="A built-in name (digits, mnist, fashion-mnist, cifar10), a file or a folder.")
]
Labels = Annotated[str | None, typer.Option(help="Column or key that holds the labels.")]
Task = Annotated[str | None, typer.Option(help="classification, regression or unlabelled, if not to be guessed.")]
Unreadable = Annotated[str, typer.Option(help="What to do with unreadable files: refuse or skip.")]
Size = Annotated[int | None, typer.Option("--image-size", help="Resize images to this many pixels a side.")]
Limit = Annotated[int | None, typer.Option(help="Use only this many examples, drawn at random by class.")]
Model = Annotated[str, typer.Option(help="mlp, lenet5, convnet, resnet20, torchvision:NAME, timm:NAME or auto.")]
Epochs = Annotated[int, typer.Option(help="Passes over the training set.")]
Batch = Annotated[int, typer.Option(help="Examples a step.")]
Optimizer = Annotated[str, typer.Option(help="sgd, adam or adamw.")]
Rate = Annotated[float | None, typer.Option("--lr", help="Peak learning rate; the optimiser's usual one if not given.")]
Augment = Annotated[list[str] | None, typer.Option(help="flip or crop; may be given twice.")]
Seeds = Annotated[int, typer.Option(help="Trainings to observe.")]
Seed = Annotated[int, typer.Option(help="Decides everything random.")]
Workers = Annotated[int | None, typer.Option(help="Processes; all cores if not given.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="A parameter of the method, as name=value.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def opened(
    what: str,
    *,
    labels: str | None,
    task: str | None,
    unreadable: str,
    size: int | None,
    split: str | None = None,
    like: Source | None = None,
    limit: int | None = None,
) -> Source:
    """Open data for a command; `like` gives the class numbers to follow."""
    from ..sources.open import open as open_source

    classes = like.classes if like is not None and like.classes else None
    given: dict[str, Any] = {"labels": labels, "task": task, "unreadable": unreadable}  # words it checks itself
    return open_source(what, split=split, size=size, classes=classes, limit=limit, **given)


def recipe(epochs: int, batch: int, optimizer: str, lr: float | None, augment: list[str] | None) -> Recipe:
    """The recipe that the options describe."""
    from ..training.recipe import Recipe

    return Recipe(epochs=epochs, batch=batch, optimizer=optimizer, lr=lr, augment=tuple(augment or ()))


def engine(workers: int | None) -> Local:
    """The engine that the options describe."""
    from ..engines import Local

    return Local(workers=workers)


def parameters(given: list[str] | None, taken: tuple[str, ...] = ()) -> dict[str, Any]:
    """`name=value` pairs; numbers, true, false and null are read as JSON, the rest as words.

    `taken` are the names that have an option of their own.
    """
    found: dict[str, Any] = {}
    for pair in given or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--set must be given as name=value; got {pair!r}.")
        if name in taken:
            raise InputError(f"--set is for parameters of the method; for {name} there is --{name.replace('_', '-')}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def say_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object; what is not a number is null."""
    typer.echo(json.dumps(plain(value), indent=1))


def observed(run: Path) -> Signals:
    """What winnow observe recorded in a run."""
    from ..artefacts import Signals

    if not (run / "signals.safetensors").exists():
        raise NotFoundError(f"{run} holds no signals.safetensors; make one with winnow observe.")
    return Signals.load(run / "signals.safetensors")


def named(texts: Iterable[str], option: str) -> dict[str, str]:
    """`name=value` pairs, or values that name themselves by their file; every name once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or Path(text).exists():
            name, value = Path(text).stem, text
        if name in found:
            raise InputError(f"{option} names {name!r} twice; tell them apart as name=file.")
        found[name] = value
    return found


def test_source(what: str, **how: Any) -> Source:
    """Test data: the test split where there is one, all of it where there is none."""
    try:
        return opened(what, split="test", **how)
    except NotFoundError:
        return opened(what, **how)
