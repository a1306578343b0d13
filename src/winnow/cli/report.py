"""winnow report: write the report of a saved run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import PlainCommand


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", cls=PlainCommand, epilog="Examples:\n\n    winnow report runs/digits --out digits.html")(
        report
    )


def report(
    run: Annotated[Path, typer.Argument(help="Run directory of winnow prune or winnow evaluate.")],
    out: Annotated[Path | None, typer.Option(help="Where to write; RUN/report.html if not given.")] = None,
    as_json: o.Json = False,
) -> None:
    """Write the report of a saved run: one HTML file that loads nothing from the network."""
    from ..core.run import Run
    from ..report import write_run_report

    with Run.existing(run):
        path = write_run_report(run, out)
    if as_json:
        o.say_json({"report": str(path)})
        return
    typer.echo(f"report  {path}")
