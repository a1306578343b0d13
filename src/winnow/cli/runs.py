"""winnow runs: list, verify, compact and delete run directories."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Annotated

import typer

from ..core.units import bytes_text
from . import options as o
from .command import Group, PlainCommand

DAMAGED = 1  # exit code of verify if something is damaged

Runs = Annotated[list[Path], typer.Argument(help="Run directories.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(cls=Group, no_args_is_help=True, help="List, verify, compact and delete run directories.")
    examples = "Examples:\n\n    winnow runs "
    group.command("list", cls=PlainCommand, epilog=f"{examples}list runs/")(listed)
    group.command("verify", cls=PlainCommand, epilog=f"{examples}verify runs/photos")(verify)
    group.command("compact", cls=PlainCommand, epilog=f"{examples}compact runs/photos")(compact)
    group.command("delete", cls=PlainCommand, epilog=f"{examples}delete runs/photos --yes")(delete)
    app.add_typer(group, name="runs")


def listed(
    folder: Annotated[Path, typer.Argument(help="Folder to look in.")] = Path("runs"), as_json: o.Json = False
) -> None:
    """List all runs below a folder: what made each, its steps, its size, when it changed."""
    from ..artefacts import Table
    from ..core.stored_runs import stored_runs

    found = stored_runs(folder)
    if as_json:
        o.say_json({"runs": [dataclasses.asdict(run) for run in found]})
        return
    rows = [
        {
            "run": str(run.path),
            "made by": run.command,
            "format": "?" if run.format is None else run.format,
            "steps": run.steps,
            "size": bytes_text(run.bytes),
            "changed": time.strftime("%Y-%m-%d %H:%M", time.localtime(run.changed)),
        }
        for run in found
    ]
    typer.echo(Table(tuple(rows)) if rows else f"no runs below {folder}")
    for run in found:
        if run.again is not None:
            typer.echo(f"{run.path} is of another format; make it again with: {run.again}")


def verify(runs: Runs, as_json: o.Json = False) -> None:
    """Compare every file of runs with the digest in its record; exit code 1 if one differs."""
    from ..core.stored_runs import verify_run

    found = {str(run): verify_run(run) for run in runs}
    if as_json:
        o.say_json({name: [dataclasses.asdict(one) for one in damage] for name, damage in found.items()})
    else:
        for name, damage in found.items():
            typer.echo(f"{name}: {'whole' if not damage else f'{len(damage)} damaged; repeat its command to mend it'}")
            for one in damage:
                typer.echo(f"  {one.step}: {one.what}")
    if any(found.values()):
        raise typer.Exit(DAMAGED)


def compact(runs: Runs, as_json: o.Json = False) -> None:
    """Remove what finished runs can do without; observing more seeds later trains the first ones again."""
    from ..core.stored_runs import compact_run

    freed = {str(run): compact_run(run) for run in runs}
    if as_json:
        o.say_json({"freed": freed})
        return
    for name, count in freed.items():
        typer.echo(f"{name}: {bytes_text(count)} freed")


def delete(
    runs: Runs, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False, as_json: o.Json = False
) -> None:
    """Delete run directories with everything in them."""
    from ..core.stored_runs import delete_run, stored_run

    for run in runs:
        stored_run(run)  # raises before anything is deleted
    if not yes:
        typer.confirm(f"Delete {', '.join(map(str, runs))}?", abort=True)
    freed = {str(run): delete_run(run) for run in runs}
    if as_json:
        o.say_json({"deleted": freed})
        return
    for name, count in freed.items():
        typer.echo(f"{name}: deleted, {bytes_text(count)} freed")
