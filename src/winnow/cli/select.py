"""winnow select: a subset, from scores or signals."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from . import options as o

EXAMPLES = """
Examples:

    winnow select rank runs/fashion --score el2n --keep 0.5

    winnow select strata runs/fashion --keep 0.1 --balance 0.5
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("select", epilog=EXAMPLES)(select)


def select(
    name: Annotated[str, typer.Argument(help="A selector; winnow methods lists them.")],
    run: Annotated[Path, typer.Argument(help="Run directory of winnow observe.")],
    keep: Annotated[float | None, typer.Option(help="Fraction to keep, in (0, 1].")] = None,
    size: Annotated[int | None, typer.Option(help="Instead of --keep: how many to keep.")] = None,
    score: Annotated[
        str | None, typer.Option(help="Score to select by; the selector's usual one if not given.")
    ] = None,
    balance: Annotated[float | None, typer.Option(help="Share of its equal part each class keeps.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; RUN/NAME.parquet if not given.")] = None,
    seed: o.Seed = 0,
    set_: o.Set = None,
    as_json: o.Json = False,
) -> None:
    """Choose a subset from what winnow observe recorded."""
    from ..core.run import Run
    from ..selectors.select import select as select_subset

    parameters = o.parameters(set_, ("keep", "size", "score", "balance", "seed", "signals", "name", "given"))
    path = out if out is not None else run / f"{name}.parquet"
    asked = {"keep": keep, "size": size, "score": score, "balance": balance, "seed": seed, **parameters}
    with Run.existing(run) as opened:
        signals = o.observed(run)
        start = time.perf_counter()
        subset = select_subset(name, signals, **asked)
        opened.put(f"select/{path.stem}", subset, time.perf_counter() - start, key=asked, file=str(path.absolute()))
    if as_json:
        o.say_json(
            {"subset": str(path), "kept": len(subset), "of": len(signals), "certificate": dict(subset.certificate)}
        )
        return
    typer.echo(f"kept {len(subset)} of {len(signals)} examples\nsubset  {path}")
