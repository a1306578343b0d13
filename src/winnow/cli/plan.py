"""winnow plan: what to keep, how much, and what to expect, before you spend anything."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import InputError
from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow plan digits

    winnow plan fashion-mnist --pilot --model lenet5 --epochs 20 --out runs/plan

    winnow plan photos/ --tolerance 0.005 --json

    winnow plan --rows 1e9 --dim 512 --classes 1000 --workers 16
"""


@command("planning.plan:plan", EXAMPLES, owner="plan|plan_rows", spare_data=True)
def plan(
    call: Call,
    out: Annotated[
        Path | None, typer.Option(help="Directory for plan.json, plan.png and the pilot, which resumes there.")
    ] = None,
    rows: Annotated[float | None, typer.Option(help="Instead of DATA: how many rows, such as 1e9.")] = None,
    dim: Annotated[int | None, typer.Option(help="With --rows: numbers per row, or per embedding.")] = None,
    classes: Annotated[int, typer.Option(help="With --rows: number of classes, each with a minimum count.")] = 1,
    pace: Annotated[
        float | None, typer.Option(help="With --rows: examples per second that your network embeds on one worker.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Forecast which examples to keep, how many, and the accuracy and cost; says how far to trust the forecast.

    With --rows instead of data: time, memory, disk and network of each step over so many rows.
    """
    if rows is not None or dim is not None:
        if call.what is not None or rows is None or dim is None:
            raise InputError("plan takes DATA, or --rows and --dim without DATA.")
        from ..planning.rows_plan import plan_rows

        sizes = plan_rows(rows, dim, classes, pace=pace, engine=call.keywords["engine"])  # type: ignore[arg-type]
        o.say_json(sizes.values()) if as_json else typer.echo(str(sizes))
        return
    if call.what is None:
        raise InputError("plan needs DATA, or --rows and --dim.")
    made = call(called=shlex.join(call.data_words()), out=out)
    if as_json:
        o.say_json(made.values())
        return
    typer.echo(str(made))
    if out is not None:
        typer.echo(f"plan  {out / 'plan.json'}" + (f"\nfigure  {out / 'plan.png'}" if made.forecasts else ""))
