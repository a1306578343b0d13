"""winnow do: one step of a run, for Slurm, Kubernetes or anything else that starts processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import InputError, NotFoundError, UnknownNameError
from . import options as o
from .command import PlainCommand

EXAMPLES = """Examples:

    winnow observe photos/ --seeds 8 --out runs/photos --engine later

    winnow do runs/photos --list

    winnow do runs/photos observe/seed-3

    winnow do runs/photos --index $SLURM_ARRAY_TASK_ID --count $SLURM_ARRAY_TASK_COUNT
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("do", cls=PlainCommand, epilog=EXAMPLES)(do)


def do(
    run: Annotated[Path, typer.Argument(help="Run directory of a command with --engine later.")],
    step: Annotated[str | None, typer.Argument(help="The step to do, such as observe/seed-3.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the steps of the stage and do none.")] = False,
    index: Annotated[int | None, typer.Option(help="Do every COUNT-th step, beginning with this one; from 0.")] = None,
    count: Annotated[int, typer.Option(help="Number of processes that share the steps.")] = 1,
    as_json: o.Json = False,
) -> None:
    """Run steps that a command with --engine later has listed; repeat that command when all are done."""
    from ..engines.written_steps import listed_steps

    found = listed_steps(run)
    if listed:
        _show(found, as_json)
        return
    names = _wanted(found["steps"], step, index, count)
    left = [one["name"] for one in found["steps"] if one["name"] in names and not one["done"]]
    done = _do(run, found, left) if left else []
    if as_json:
        o.say_json({"did": done, "before": sorted(set(names) - set(left))})
        return
    typer.echo("\n".join(f"did  {name}" for name in done) or "nothing to do: these steps are done")


def _show(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        o.say_json(found)
        return
    for place, one in enumerate(found["steps"]):
        typer.echo(f"{place:>4}  {'done' if one['done'] else 'open'}  {one['name']}")


def _wanted(steps: list[dict[str, Any]], step: str | None, index: int | None, count: int) -> list[str]:
    """Return the names of the steps that are asked for."""
    names = [one["name"] for one in steps]
    if count < 1 or (index is not None and not 0 <= index < count):
        raise InputError(f"--index must be a whole number from 0 to --count less one; got {index} of {count}.")
    if (step is None) == (index is None):
        raise InputError("winnow do takes a STEP, or --index with --count, or --list; got both or none of them.")
    if step is None:
        return names[index::count]
    if step not in names:
        raise UnknownNameError.of("step", step, names)
    return [step]


def _do(run: Path, found: dict[str, Any], names: list[str]) -> list[str]:
    """Repeat the command of the run, up to these steps."""
    from ..core.run_lock import together
    from ..engines import Local
    from ..engines.written_steps import StepsDone, only_steps
    from . import app

    where, words = run.resolve(), found["command"]
    if words is None:
        raise InputError(f"{run} was started from Python, not by a command; winnow do cannot repeat it.")
    if not Path(found["folder"]).is_dir():
        raise NotFoundError(f"the command of {run} was given in {found['folder']}, which is not there.")
    before = Path.cwd()
    os.chdir(found["folder"])  # the data may be named by a relative path
    try:
        with together(), only_steps(names, Local(workers=1)) as chosen:
            app(args=[*words, "--out", str(where)], prog_name="winnow", standalone_mode=False)
    except StepsDone:
        pass
    finally:
        os.chdir(before)
    return chosen.done
