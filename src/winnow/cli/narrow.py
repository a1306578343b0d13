"""winnow narrow: a narrower network from trained weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import InputError
from . import options as o
from .command import PlainCommand

EXAMPLES = """
Examples:

    winnow narrow wide.safetensors --model mlp --shape 64 --set hidden=[2000] --width 200

    winnow narrow wide.safetensors --model lenet5 --width linear1=60 --width linear2=40 --data mnist

    winnow narrow wide.safetensors --model mlp --width 0.25 --order 1 --dims 20 --fold --out plain.safetensors

Load the file with `winnow.narrowing.restore`, which takes the wide network and the tensors of the file; the result
trains like the wide network. With --fold, the file holds the weights of a plain network of the new widths.
"""
EXAMPLE_ROWS = 256  # examples on which outputs are compared


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("narrow", cls=PlainCommand, epilog=EXAMPLES)(narrow)


def narrow(
    weights: Annotated[Path, typer.Argument(help="Weights of the wide network: a safetensors or torch file.")],
    model: Annotated[str, typer.Option(help="The network of these weights, as for --model of other commands.")],
    width: Annotated[
        list[str],
        typer.Option(help="Neurons to keep: a count, a fraction, or LAYER=value; may be given several times."),
    ],
    classes: Annotated[int, typer.Option(help="Number of outputs of the network.")] = 10,
    shape: Annotated[
        str | None,
        typer.Option(help="Shape of one example, such as 1,28,28; the usual one of the network if not given."),
    ] = None,
    order: Annotated[
        int | None, typer.Option(help="Highest order of moments to match; chosen for you if not given.")
    ] = None,
    dims: Annotated[
        str,
        typer.Option(
            help="Number of directions in which moments are matched: auto (as many as fit), all, or a number."
        ),
    ] = "auto",
    layers: Annotated[
        list[str] | None, typer.Option("--layer", help="Narrow only after this layer; may be given several times.")
    ] = None,
    dropout: Annotated[
        str, typer.Option(help="What to do with dropout between two layers: refuse, keep or off.")
    ] = "refuse",
    data: Annotated[str | None, typer.Option(help="Data on which to measure how much the outputs change.")] = None,
    fold: Annotated[bool, typer.Option("--fold", help="Fold the counts into the weights, for export.")] = False,
    out: Annotated[Path, typer.Option(help="File for the narrow weights, as safetensors.")] = Path(
        "narrow.safetensors"
    ),
    seed: o.Seed = 0,
    set_: o.Set = None,
    as_json: o.Json = False,
) -> None:
    """Make the hidden layers of a trained network narrower; --set passes options of the network, such as hidden."""
    from ..methods.narrowing import fold as folded
    from ..methods.narrowing import narrow as narrowed
    from ..models import build
    from ..models.weight_files import write_weights

    if out.suffix != ".safetensors":
        raise InputError(f"--out must end in .safetensors; got {out}.")
    widths = _widths(width)
    own = o.parameters(set_, {name: f"--{name}" for name in ("classes", "shape", "weights", "seed")})
    wide = build(model, classes=classes, shape=_shape(shape), weights=weights, seed=seed, **own)
    example = None if data is None else _example(data)
    directions: Any = int(dims) if dims.lstrip("-").isdigit() else None if dims == "all" else dims
    net = narrowed(wide, widths, order, layers=layers, dims=directions, dropout=dropout, example=example, seed=seed)
    certificate: Any = net.narrowed
    about = json.dumps(certificate.as_dict(), sort_keys=True)
    write_weights(out, (folded(net) if fold else net).state_dict(), {"narrowed": about})
    if as_json:
        o.say_json({"weights": str(out), "folded": fold, **certificate.as_dict()})
        return
    typer.echo(f"{certificate.summary(model)}\nweights  {out}")


def _widths(texts: list[str]) -> int | float | dict[str, int | float]:
    """Return one number for all layers, or numbers by layer name."""
    pairs = [text.rpartition("=") for text in texts]
    if len(pairs) == 1 and not pairs[0][1]:
        return _number(texts[0])
    if not all(name for name, _, _ in pairs):
        raise InputError(f"--width must be one number, or LAYER=number each time; got {', '.join(texts)}.")
    return {name: _number(value) for name, _, value in pairs}


def _number(text: str) -> int | float:
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        raise InputError(f"--width must be a count, a fraction, or LAYER=value; got {text!r}.") from None


def _shape(text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(side) for side in text.split(","))
    except ValueError:
        raise InputError(f"--shape must be whole numbers, such as 1,28,28; got {text!r}.") from None


def _example(what: str) -> Any:
    """Return a few examples, scaled as in training."""
    import numpy as np

    from ..sources.open import open as open_source
    from ..training.feed import Feed

    feed = Feed(open_source(what))
    return feed.inputs(np.arange(min(EXAMPLE_ROWS, len(feed))))
