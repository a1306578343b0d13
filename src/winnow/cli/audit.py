"""winnow audit: what a subset is like, whoever chose it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow audit chosen.csv photos/

    winnow audit subset.parquet fashion-mnist --model lenet5 --epochs 5 --out runs/audit

    winnow audit indices.npy rows.parquet --embeddings raw --json
"""


@command("explaining.audit:audit", EXAMPLES)
def audit(
    call: Call,
    subset: Annotated[
        str, typer.Argument(help="The subset: a winnow subset, or parquet, CSV, TSV, JSON, .npy or text of ids.")
    ],
    out: Annotated[Path, typer.Option(help="Run directory for audit.json and audit.html.")] = Path("runs/audit"),
    as_json: o.Json = False,
) -> None:
    """Compare a subset with random ones: change of a linear head, coverage, balance, issues, expected accuracy."""
    found = call.verb(subset, call.what, **{**call.keywords, **call.opening}, out=out)
    if as_json:
        o.say_json({"page": str(out / "audit.html"), **found.values()})
        return
    typer.echo(f"{found}\n\npage  {out / 'audit.html'}")
