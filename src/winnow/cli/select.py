"""winnow select: a subset, from scores or signals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow select rank runs/fashion --score el2n --keep 0.5

    winnow select strata runs/fashion --keep 0.1 --balance none

    winnow select rank scores.parquet --keep 0.1
"""


@command("selectors.select:select", EXAMPLES, owner="select({name!r})|selector {name!r}")
def select(
    call: Call,
    name: Annotated[str, typer.Argument(help="A selector; winnow methods lists them.")],
    run: Annotated[
        Path,
        typer.Argument(help="Run directory of winnow observe or winnow prune, a file of scores, or a folder of them."),
    ],
    out: Annotated[Path | None, typer.Option(help="Where to write; RUN/NAME.parquet if not given.")] = None,
    as_json: o.Json = False,
) -> None:
    """Choose a subset from what winnow observe recorded, or from scores of any size in a file."""
    if run.is_file() or (run.is_dir() and not (run / "run.json").exists() and any(run.glob("*.parquet"))):
        path = out if out is not None else run.with_name(f"{name}.parquet")  # beside a folder, not among its files
        subset = call(name, run)
        subset.save(path)
        count = round(len(subset) / subset.certificate["fraction"])
    else:
        path = out if out is not None else run / f"{name}.parquet"
        subset, signals = o.stored(run, f"select/{path.stem}", path, lambda found: call(name, found), call.keywords)
        count = len(signals)
    if as_json:
        o.say_json({"subset": str(path), "kept": len(subset), "of": count, "certificate": dict(subset.certificate)})
        return
    typer.echo(f"kept {len(subset)} of {count} examples\nsubset  {path}")
