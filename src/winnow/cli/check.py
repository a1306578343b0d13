"""winnow check: what is wrong with the data, before anything is cut."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow check digits --out runs/digits-check

    winnow check photos/ --test photos-test/ --model resnet20 --epochs 30

    winnow check sales.csv --labels price --out runs/sales

    winnow check photos/ --marks marks.csv --out runs/again
"""


@command("checking.check:check", EXAMPLES)
def check(
    call: Call,
    out: Annotated[Path, typer.Option(help="Run directory; the same command resumes there.")] = Path("runs/check"),
    as_json: o.Json = False,
) -> None:
    """Find wrong labels, near-duplicates, outliers, leaks and drift, and write a page to look at them.

    The run directory holds issues.parquet, issues.csv and check.html.
    """
    issues = call(out=out)
    files = {"issues": out / "issues.parquet", "csv": out / "issues.csv", "page": out / "check.html"}
    if as_json:
        left_out = issues.left_out()
        o.say_json(
            {
                **{name: str(path) for name, path in files.items()},
                "source": issues.source,
                "task": issues.task,
                "examples": issues.examples,
                "found": issues.counts(),
                "noise_rate": issues.noise_rate,
                "unjudged": issues.unjudged or None,
                "left_out": left_out,
                "kept": issues.examples - left_out,
            }
        )
        return
    typer.echo(issues.summary() + "\n")
    for name, path in files.items():
        typer.echo(f"{name:6}  {path}")
