"""winnow score: one number per example, from what was observed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow score el2n runs/fashion

    winnow score el2n runs/fashion --set epoch=3
"""


@command("scores.score:score", EXAMPLES, owner="score {name!r}")
def score(
    call: Call,
    name: Annotated[str, typer.Argument(help="A score; winnow methods lists them.")],
    run: Annotated[Path, typer.Argument(help="Run directory of winnow observe.")],
    out: Annotated[Path | None, typer.Option(help="Where to write; RUN/scores/NAME.parquet if not given.")] = None,
    as_json: o.Json = False,
) -> None:
    """Score what winnow observe recorded. Higher is harder."""
    import numpy as np

    path = out if out is not None else run / "scores" / f"{name}.parquet"
    scores, _ = o.stored(run, f"score/{name}", path, lambda found: call(name, found), call.keywords)
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
        f"{name}: {len(scores)} examples, lowest {spread[0]:.4g}, median {spread[1]:.4g}, highest {spread[2]:.4g}; "
        f"reliability {known}"
    )
    typer.echo(f"scores  {path}")
