"""winnow select: a subset, from scores or signals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow select rank runs/fashion --score el2n --keep 0.5

    winnow select strata runs/fashion --keep 0.1 --balance none
"""


@command("selectors.select:select", EXAMPLES, owner="select({name!r})|selector {name!r}")
def select(
    call: Call,
    name: Annotated[str, typer.Argument(help="A selector; winnow methods lists them.")],
    run: Annotated[Path, typer.Argument(help="Run directory of winnow observe.")],
    out: Annotated[Path | None, typer.Option(help="Where to write; RUN/NAME.parquet if not given.")] = None,
    as_json: o.Json = False,
) -> None:
    """Choose a subset from what winnow observe recorded."""
    path = out if out is not None else run / f"{name}.parquet"
    subset, signals = o.stored(run, f"select/{path.stem}", path, lambda found: call(name, found), call.keywords)
    if as_json:
        o.say_json(
            {"subset": str(path), "kept": len(subset), "of": len(signals), "certificate": dict(subset.certificate)}
        )
        return
    typer.echo(f"kept {len(subset)} of {len(signals)} examples\nsubset  {path}")
