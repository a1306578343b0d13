"""winnow observe: train a few times and record what each example does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o

EXAMPLES = """
Examples:

    winnow observe fashion-mnist --model lenet5 --epochs 20 --out runs/fashion

    winnow observe photos/ --want logits --want embeddings --out runs/photos
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("observe", epilog=EXAMPLES)(observe)


def observe(
    data: o.Data,
    out: Annotated[Path, typer.Option(help="Run directory; the same command goes on there.")],
    want: Annotated[
        list[str] | None,
        typer.Option(help="A signal to record, such as logits; winnow methods lists them. May be given several times."),
    ] = None,
    mode: Annotated[str, typer.Option(help="eval (after each epoch) or train (as training goes, free).")] = "eval",
    model: o.Model = "auto",
    epochs: o.Epochs = 30,
    batch: o.Batch = 128,
    optimizer: o.Optimizer = "adamw",
    lr: o.Rate = None,
    augment: o.Augment = None,
    seeds: o.Seeds = 3,
    labels: o.Labels = None,
    task: o.Task = None,
    unreadable: o.Unreadable = "refuse",
    image_size: o.Size = None,
    limit: o.Limit = None,
    seed: o.Seed = 0,
    workers: o.Workers = None,
    as_json: o.Json = False,
) -> None:
    """Train a few times and record what each example does, into RUN/signals.safetensors."""
    from ..signals.observe_run import observe_run

    source = o.opened(data, labels=labels, task=task, unreadable=unreadable, size=image_size, limit=limit)
    signals = observe_run(
        source,
        out,
        model=model,
        recipe=o.recipe(epochs, batch, optimizer, lr, augment),
        seeds=seeds,
        want=tuple(want or ()),
        mode=mode,
        seed=seed,
        engine=o.engine(workers),
    )
    arrays = {name: list(values.shape) for name, values in sorted(signals.arrays.items())}
    if as_json:
        o.say_json({"signals": str(out / "signals.safetensors"), "examples": len(signals), "arrays": arrays})
        return
    for name, shape in arrays.items():
        typer.echo(f"{name:<16} {' x '.join(map(str, shape))}")
    typer.echo(f"signals  {out / 'signals.safetensors'}")
