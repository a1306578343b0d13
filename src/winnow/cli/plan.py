"""winnow plan: what to keep, how far, and what to expect, before anything is spent."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from . import options as o

EXAMPLES = """
Examples:

    winnow plan digits

    winnow plan fashion-mnist --pilot --model lenet5 --epochs 20 --out runs/plan

    winnow plan photos/ --tolerance 0.005 --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", epilog=EXAMPLES)(plan)


def plan(
    data: o.Data,
    pilot: Annotated[
        bool, typer.Option("--pilot", help="Train your own network on small parts; else a linear one stands in.")
    ] = False,
    pilot_size: Annotated[
        int | None, typer.Option(help="Examples in the pilot's pool; a quarter of the data, at most 5,000.")
    ] = None,
    pilot_seeds: Annotated[int, typer.Option(help="Trainings of each part of the pool.")] = 3,
    tolerance: Annotated[float, typer.Option(help="Accuracy that may be lost.")] = 0.01,
    method: Annotated[str, typer.Option(help="A score, a selector, score+selector, or auto.")] = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Directory for plan.json, plan.png and the pilot, which goes on there.")
    ] = None,
    model: o.Model = "auto",
    epochs: o.Epochs = 30,
    batch: o.Batch = 128,
    optimizer: o.Optimizer = "adamw",
    lr: o.Rate = None,
    augment: o.Augment = None,
    seeds: o.Seeds = 3,
    match_iterations: Annotated[float, typer.Option(help="0: same epochs for all sizes; 1: same steps.")] = 0.0,
    labels: o.Labels = None,
    task: o.Task = None,
    unreadable: o.Unreadable = "refuse",
    image_size: o.Size = None,
    limit: o.Limit = None,
    seed: o.Seed = 0,
    workers: o.Workers = None,
    as_json: o.Json = False,
) -> None:
    """Forecast what to keep, how far and at what accuracy and cost; an estimate that says how far to trust it."""
    from ..planning.plan import plan as make_plan

    source = o.opened(data, labels=labels, task=task, unreadable=unreadable, size=image_size, limit=limit)
    opening = {"labels": labels, "task": task, "image-size": image_size, "limit": limit}
    opening |= {"unreadable": unreadable} if unreadable != "refuse" else {}
    called = [
        data,
        *(word for name, value in opening.items() if value is not None for word in (f"--{name}", str(value))),
    ]
    made = make_plan(
        source,
        pilot=pilot,
        pilot_size=pilot_size,
        pilot_seeds=pilot_seeds,
        tolerance=tolerance,
        method=method,
        model=model,
        recipe=o.recipe(epochs, batch, optimizer, lr, augment),
        seeds=seeds,
        match_iterations=match_iterations,
        called=shlex.join(called),
        seed=seed,
        out=out,
        engine=o.engine(workers) if pilot or workers is not None else None,
    )
    if as_json:
        o.say_json(made.values())
        return
    typer.echo(str(made))
    if out is not None:
        typer.echo(f"plan  {out / 'plan.json'}" + (f"\nfigure  {out / 'plan.png'}" if made.forecasts else ""))
