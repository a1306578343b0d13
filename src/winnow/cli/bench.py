"""winnow bench: every method under one protocol, beside what is free."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow bench digits --keep 0.3 --keep 0.1 --out runs/bench

    winnow bench fashion-mnist --limit 20000 --model lenet5 --budget 2 --out runs/bench

    winnow bench digits --method auto --method el2n+strata --method kcenter --seeds 5

The second command adds another data set to the record of the first.
"""


@command("bench.benchmark:benchmark", EXAMPLES, owner="benchmark")
def bench(
    call: Call,
    out: Annotated[Path, typer.Option(help="Directory for one or several data sets; the same command resumes.")] = Path(
        "runs/bench"
    ),
    as_json: o.Json = False,
) -> None:
    """Compare every registered method with random and with everything at the same steps, and rank them.

    The directory holds record/ (cells.parquet, outcomes.parquet, bench.json) and bench.html.
    """
    from ..artefacts.bench_record import BenchRecord
    from ..report.bench_page import write_bench

    call(out=out)
    record = BenchRecord.load(out / "record")
    page = write_bench(record, out / "bench.html")
    if as_json:
        ranked = [vars(row) for row in record.ranking()]
        left = [vars(row) for row in record.left_out]
        o.say_json({"record": str(out / "record"), "page": str(page), "ranking": ranked, "left_out": left})
        return
    typer.echo(f"{record.summary()}\n")
    for row in record.left_out:
        typer.echo(f"left out  {row.method} on {row.data}: {row.why}")
    typer.echo(f"record    {out / 'record'}\npage      {page}")
