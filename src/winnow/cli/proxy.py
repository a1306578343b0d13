"""winnow proxy: search networks on small sets and on the full data, and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as o

EXAMPLES = """
Examples:

    winnow proxy fashion-mnist runs/fashion/influence.parquet --out runs/proxy

    winnow proxy fashion-mnist mine=runs/fashion/rank.parquet --network mlp --network lenet5 --network convnet:width=16
    --seeds 5 --out runs/proxy

The second searches three networks instead of the 36 small ones, under five seeds.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("proxy", epilog=EXAMPLES)(proxy)


def proxy(
    data: o.Data,
    subset: Annotated[list[str], typer.Argument(help="Subset files, or name=file.")],
    out: Annotated[Path, typer.Option(help="Run directory; adding networks, seeds or subsets runs what is missing.")],
    test: Annotated[
        list[str] | None,
        typer.Option(help="Test data, halved; or choose=data and judge=data; the data's own test split if not given."),
    ] = None,
    network: Annotated[
        list[str] | None, typer.Option(help="A network, such as convnet:width=16; 36 small ones if none is given.")
    ] = None,
    epochs: o.Epochs = 30,
    batch: o.Batch = 128,
    optimizer: o.Optimizer = "adamw",
    lr: o.Rate = None,
    augment: o.Augment = None,
    seeds: Annotated[int, typer.Option(help="Trainings of each network on each set.")] = 3,
    match_iterations: Annotated[float, typer.Option(help="0: same epochs on all sets; 1: same steps.")] = 0.0,
    labels: o.Labels = None,
    task: o.Task = None,
    unreadable: o.Unreadable = "refuse",
    image_size: o.Size = None,
    limit: o.Limit = None,
    seed: o.Seed = 0,
    workers: o.Workers = None,
    as_json: o.Json = False,
) -> None:
    """Train a space of networks on small sets and on the full data, and say how alike both rank them."""
    from ..artefacts import Subset
    from ..artefacts.ledger import costs_of
    from ..artefacts.proxy_study import CHOOSE, JUDGE
    from ..evaluation.proxy import proxy as search

    how: dict[str, Any] = {"labels": labels, "task": task, "unreadable": unreadable, "size": image_size}
    source = o.opened(data, limit=limit, **how)
    tests = {name: o.test_source(what, like=source, **how) for name, what in o.named(test or [], "--test").items()}
    whole = next(iter(tests.values())) if tests else o.opened(data, split="test", like=source, **how)
    files = o.named(subset, "SUBSET")
    arms = {name: Subset.load(path) for name, path in files.items()}
    study = search(
        source,
        arms,
        test=tests if len(tests) > 1 or tests.keys() & {CHOOSE, JUDGE} else whole,
        networks=network,
        recipe=o.recipe(epochs, batch, optimizer, lr, augment),
        seeds=seeds,
        match_iterations=match_iterations,
        seed=seed,
        out=out,
        engine=o.engine(workers),
        costs={name: costs_of(path, arms[name]) for name, path in files.items()},
    )
    if as_json:
        tables = {"table": list(study.table()), "transfer": list(study.transfer())}
        o.say_json({"study": str(out / "proxy"), "networks": study.networks, **tables})
        return
    typer.echo(f"{study.summary()}\n\nstudy  {out / 'proxy'}")
