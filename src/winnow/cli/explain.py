"""winnow explain: what an example is learned together with, and against; how classes relate; label issues."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow explain digits c4912d6aa165cfbc

    winnow explain fashion-mnist 5b3f1c0a9d2e7f46 --model lenet5 --epochs 5 --limit 2000 --json

    winnow explain photos/ cats/0012.jpg --neighbours 10

    winnow explain photos/ --out runs/photos-explained
"""


@command("explaining.explain:explain", EXAMPLES)
def explain(
    call: Call,
    id: Annotated[
        str | None,
        typer.Argument(
            help="Id of an example, as in the output of other commands; explains the data set if not given."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Run directory for the result, as JSON and as a page; keeps the network for later calls."),
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Train once and show what an example is learned together with, what against, and whether its label fits.

    Without an id, show how the classes relate and which labels look wrong.
    """
    from ..explaining.explain import page_name

    found = call(id, out=out)
    if as_json:
        o.say_json(found.values())
        return
    typer.echo(str(found))
    if out is not None:
        typer.echo(f"\npage  {out / page_name(id)}.html")
