"""winnow evaluate: retrain on subsets, on random subsets of the same size and on everything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow evaluate fashion-mnist --subset runs/fashion/rank.parquet --seeds 5 --out runs/study

    winnow evaluate fashion-mnist --subset runs/fashion/rank.parquet --seeds 10 --out runs/study

The second command runs only the five missing seeds.
"""


@command("evaluation.evaluate:evaluate", EXAMPLES)
def evaluate(
    call: Call,
    subset: Annotated[list[str], typer.Option(help="A subset file, or name=file; may be given several times.")],
    out: Annotated[
        Path, typer.Option(help="Run directory; with more seeds or subsets, only the missing trainings run.")
    ],
    as_json: o.Json = False,
) -> None:
    """Retrain on subsets, on random subsets of the same size and on everything, and compare."""
    from ..report import write_run_report

    arms, costs = o.subsets(subset, "--subset")
    study = call(arms, costs=costs, out=out)
    report = write_run_report(out)
    if as_json:
        o.say_json({"study": str(out / "study"), "report": str(report), "table": list(study.table())})
        return
    said = "".join(f"{name}: {study.verdict(name).sentence}\n" for name in arms)
    typer.echo(f"{study.summary()}\n\n{said}\nreport  {report}")
