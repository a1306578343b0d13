"""winnow score: one number an example, from what was observed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from . import options as o

EXAMPLES = """
Examples:

    winnow score el2n runs/fashion

    winnow score el2n runs/fashion --set epoch=3
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("score", epilog=EXAMPLES)(score)


def score(
    name: Annotated[str, typer.Argument(help="A score; winnow methods lists them.")],
    run: Annotated[Path, typer.Argument(help="Run directory of winnow observe.")],
    out: Annotated[Path | None, typer.Option(help="Where to write; RUN/scores/NAME.parquet if not given.")] = None,
    set_: o.Set = None,
    as_json: o.Json = False,
) -> None:
    """Score what winnow observe recorded. Higher is harder."""
    import numpy as np

    from ..core.run import Run
    from ..scores.score import score as score_signals

    parameters = o.parameters(set_, ("name", "signals"))
    path = out if out is not None else run / "scores" / f"{name}.parquet"
    with Run.existing(run) as opened:
        signals = o.observed(run)
        start = time.perf_counter()
        scores = score_signals(name, signals, **parameters)
        opened.put(f"score/{name}", scores, time.perf_counter() - start, key=parameters, file=str(path.absolute()))
    spread = np.quantile(scores.values, [0, 0.5, 1])
    if as_json:
        o.say_json(
            {
                "scores": str(path),
                "name": name,
                "examples": len(scores),
                "reliability": scores.reliability,
                "lowest": spread[0],
                "median": spread[1],
                "highest": spread[2],
            }
        )
        return
    known = "unknown (one seed)" if scores.reliability is None else f"{scores.reliability:.3f}"
    typer.echo(
        f"{name}: {len(scores)} examples, from {spread[0]:.4g} by {spread[1]:.4g} to {spread[2]:.4g}; "
        f"reliability {known}"
    )
    typer.echo(f"scores  {path}")
