"""winnow explain: what an example is interchangeable with and what it contradicts; how the classes of data relate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o

EXAMPLES = """
Examples:

    winnow explain digits c4912d6aa165cfbc

    winnow explain fashion-mnist 5b3f1c0a9d2e7f46 --model lenet5 --epochs 5 --limit 2000 --json

    winnow explain photos/ cats/0012.jpg --neighbours 10

    winnow explain photos/ --out runs/photos-explained
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", epilog=EXAMPLES)(explain)


def explain(
    data: o.Data,
    id: Annotated[
        str | None, typer.Argument(help="The id of an example, as other commands write it; the data set if not given.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Run directory for the result as JSON and as a page; keeps the network, for other ids too."),
    ] = None,
    neighbours: Annotated[int, typer.Option(help="The longest list of other examples.")] = 5,
    errors: Annotated[int, typer.Option(help="The longest list of labels that look wrong.")] = 20,
    model: o.Model = "auto",
    epochs: o.Epochs = 30,
    batch: o.Batch = 128,
    optimizer: o.Optimizer = "adamw",
    lr: o.Rate = None,
    augment: o.Augment = None,
    labels: o.Labels = None,
    unreadable: o.Unreadable = "refuse",
    image_size: o.Size = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Use only this many examples, drawn at random by class; an id not drawn joins them and trains anew."
        ),
    ] = None,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Train once and say what an example is learned together with, what against, and whether its label fits.

    Without an id: how the classes relate, and which labels look wrong.
    """
    from ..explaining.explain import explain as find
    from ..explaining.explain import page_name

    source = o.opened(data, labels=labels, task=None, unreadable=unreadable, size=image_size)
    recipe = o.recipe(epochs, batch, optimizer, lr, augment)
    found = find(source, id, model=model, recipe=recipe, k=neighbours, errors=errors, limit=limit, seed=seed, out=out)
    if as_json:
        o.say_json(found.values())
        return
    typer.echo(str(found))
    if out is not None:
        typer.echo(f"\npage  {out / page_name(id)}.html")
