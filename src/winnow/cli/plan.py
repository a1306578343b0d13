"""winnow plan: what to keep, how much, and what to expect, before you spend anything."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow plan digits

    winnow plan fashion-mnist --pilot --model lenet5 --epochs 20 --out runs/plan

    winnow plan photos/ --tolerance 0.005 --json
"""


@command("planning.plan:plan", EXAMPLES)
def plan(
    call: Call,
    out: Annotated[
        Path | None, typer.Option(help="Directory for plan.json, plan.png and the pilot, which resumes there.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Forecast which examples to keep, how many, and the accuracy and cost; says how far to trust the forecast."""
    made = call(called=shlex.join(call.data_words()), out=out)
    if as_json:
        o.say_json(made.values())
        return
    typer.echo(str(made))
    if out is not None:
        typer.echo(f"plan  {out / 'plan.json'}" + (f"\nfigure  {out / 'plan.png'}" if made.forecasts else ""))
