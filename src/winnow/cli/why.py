"""winnow why: which training examples taught a mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow why digits

    winnow why photos/ --test photos-test/ --model resnet20 --worst 20 --out runs/why

    winnow why fashion-mnist 0042f1c09d2e7f46 --limit 5000 --json
"""


@command("explaining.why:why", EXAMPLES)
def why(
    call: Call,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of test examples to explain; the worst mistakes if not given.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Run directory for why.json and why.html.")] = Path("runs/why"),
    as_json: o.Json = False,
) -> None:
    """Name the training examples that taught a network its worst mistakes, and check by training without them."""
    found = call(ids=ids or None, out=out)
    if as_json:
        o.say_json({"page": str(out / "why.html"), **found.values()})
        return
    typer.echo(f"{found}\n\npage  {out / 'why.html'}")
