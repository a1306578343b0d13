"""winnow proxy: search networks on small sets and on the full data, and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow proxy fashion-mnist runs/fashion/influence.parquet --out runs/proxy

    winnow proxy fashion-mnist mine=runs/fashion/rank.parquet --network mlp --network lenet5 --network convnet:width=16
    --out runs/proxy

The second command searches three networks instead of the 36 small ones.
"""


@command("evaluation.proxy:proxy", EXAMPLES)
def proxy(
    call: Call,
    subset: Annotated[list[str], typer.Argument(help="Subset files, or name=file.")],
    out: Annotated[
        Path, typer.Option(help="Run directory; with more networks, seeds or subsets, only the missing trainings run.")
    ],
    test: Annotated[
        list[str] | None,
        typer.Option(
            help="Test data: one half chooses and the other judges; or choose=data and judge=data; the test split of "
            "the data if not given."
        ),
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Train a space of networks on small sets and on the full data, and compare the two rankings."""
    from ..artefacts.proxy_study import CHOOSE, JUDGE
    from ..sources.openable import named_values

    arms, costs = o.subsets(subset, "SUBSET")
    tests = named_values("--test", test) or {}
    whole = next(iter(tests.values()), None)
    halves = len(tests) > 1 or tests.keys() & {CHOOSE, JUDGE}
    study = call(arms, costs=costs, test=tests if halves else whole, out=out)
    if as_json:
        tables = {"table": list(study.table()), "transfer": list(study.transfer())}
        o.say_json({"study": str(out / "proxy"), "networks": study.networks, **tables})
        return
    typer.echo(f"{study.summary()}\n\nstudy  {out / 'proxy'}")
