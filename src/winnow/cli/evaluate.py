"""winnow evaluate: retrain on subsets, on random ones of the same size and on everything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as o

EXAMPLES = """
Examples:

    winnow evaluate fashion-mnist --subset runs/fashion/rank.parquet --seeds 5 --out runs/study

    winnow evaluate fashion-mnist --subset runs/fashion/rank.parquet --seeds 10 --out runs/study

The second runs only the five seeds that are missing.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("evaluate", epilog=EXAMPLES)(evaluate)


def evaluate(
    data: o.Data,
    subset: Annotated[list[Path], typer.Option(help="A subset file, or name=file; may be given several times.")],
    out: Annotated[Path, typer.Option(help="Run directory; adding seeds or subsets runs only what is missing.")],
    test: Annotated[
        list[str] | None,
        typer.Option(help="Test data, or name=data for extra test sets; the data's own test split if not given."),
    ] = None,
    model: o.Model = "auto",
    epochs: o.Epochs = 30,
    batch: o.Batch = 128,
    optimizer: o.Optimizer = "adamw",
    lr: o.Rate = None,
    augment: o.Augment = None,
    seeds: Annotated[int, typer.Option(help="Retrainings of each arm.")] = 5,
    match_iterations: Annotated[float, typer.Option(help="0: same epochs for all arms; 1: same steps.")] = 0.0,
    weighting: Annotated[
        str, typer.Option(help="Weights of a subset: loss, each loss times its weight; draw, drawn by weight.")
    ] = "loss",
    labels: o.Labels = None,
    task: o.Task = None,
    unreadable: o.Unreadable = "refuse",
    image_size: o.Size = None,
    limit: o.Limit = None,
    seed: o.Seed = 0,
    workers: o.Workers = None,
    as_json: o.Json = False,
) -> None:
    """Retrain on subsets, on random ones of the same size and on everything, and compare."""
    from ..artefacts import Subset
    from ..artefacts.ledger import costs_of
    from ..evaluation.evaluate import evaluate as evaluate_subsets
    from ..report import write_run_report

    how: dict[str, Any] = {"labels": labels, "task": task, "unreadable": unreadable, "size": image_size}
    source = o.opened(data, limit=limit, **how)
    tests = {name: o.test_source(what, like=source, **how) for name, what in o.named(test or [], "--test").items()}
    files = o.named(map(str, subset), "--subset")
    arms = {name: Subset.load(path) for name, path in files.items()}
    costs = {name: costs_of(path, arms[name]) for name, path in files.items()}
    study = evaluate_subsets(
        source,
        arms,
        test=tests or {"test": o.opened(data, split="test", like=source, **how)},
        costs=costs,
        model=model,
        seeds=seeds,
        match_iterations=match_iterations,
        weighting=weighting,
        recipe=o.recipe(epochs, batch, optimizer, lr, augment),
        seed=seed,
        out=out,
        engine=o.engine(workers),
    )
    report = write_run_report(out)
    if as_json:
        o.say_json({"study": str(out / "study"), "report": str(report), "table": list(study.table())})
        return
    typer.echo(f"{study.summary()}\n\nreport  {report}")
