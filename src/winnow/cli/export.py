"""winnow export: write what a subset keeps, in the format the data came in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import PlainCommand

EXAMPLES = """Examples:

    winnow export runs/half/subset.parquet photos/ --out photos-half

    winnow export runs/sales/subset.parquet --out sales-small.csv
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export", cls=PlainCommand, epilog=EXAMPLES)(export)


def export(
    subset: Annotated[Path, typer.Argument(help="A subset file, such as RUN/subset.parquet.")],
    out: Annotated[
        Path, typer.Option(help="Where to write; .csv, .jsonl, .parquet, .npz, .tar and so on, or a folder.")
    ],
    data: Annotated[
        str | None,
        typer.Argument(help="The data it was chosen from; if not given, they are looked for where they were."),
    ] = None,
    format: Annotated[str | None, typer.Option(help="The format, if the ending of --out does not say it.")] = None,
    copy: Annotated[bool, typer.Option("--copy", help="Copy the files of a folder instead of linking them.")] = False,
    as_json: o.Json = False,
) -> None:
    """Write the kept examples in the format of the data, with weights and soft targets as columns."""
    from ..artefacts import Subset
    from ..core.stored_runs import whole

    chosen = Subset.load(whole(subset))
    path = chosen.export(out, data, format, copy=copy)
    if as_json:
        o.say_json({"out": str(path), "kept": len(chosen)})
        return
    typer.echo(f"wrote {len(chosen)} examples\nout  {path}")
