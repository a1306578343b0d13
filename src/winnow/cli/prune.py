"""winnow prune: a smaller training set, with proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow prune digits --keep 0.4 --out runs/digits

    winnow prune photos/ --keep 0.5 --test photos-test/ --model resnet20 --epochs 50

    winnow prune sales.csv --labels price --tolerance 0.005

    winnow prune photos/ --keep 0.5 --since runs/half --out runs/half-2 --export photos-half
"""


@command("pruning.proof:prune_with_proof", EXAMPLES)
def prune(
    call: Call,
    out: Annotated[Path, typer.Option(help="Run directory; the same command resumes there.")] = Path("runs/prune"),
    export: Annotated[
        Path | None, typer.Option(help="Also write the kept examples to this path, in the format of the data.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Choose a subset, retrain to show what it costs, and write subset.parquet and report.html."""
    from ..artefacts.ledger import ledger
    from ..artefacts.study_table import soft_baseline
    from ..core.units import GAP
    from ..report.sentences import net

    proof = call(out=out)
    subset, study = proof.subset, proof.study
    if export is not None:
        subset.export(export, call.what, **{key: value for key, value in call.opening.items() if key != "limit"})
    if as_json:
        o.say_json(
            {
                "subset": str(out / "subset.parquet"),
                "report": str(proof.report),
                "export": None if export is None else str(export),
                "kept": len(subset),
                "method": proof.name,
                "why": proof.why,
                "certificate": dict(subset.certificate),
                "table": [] if study is None else list(study.table()),
                "ledger": [] if study is None else list(ledger(study)),
            }
        )
        return
    typer.echo(f"kept {len(subset)} of {proof.candidates} examples by {proof.name} ({proof.why})")
    if "since" in subset.certificate:
        typer.echo(f"{subset.certificate['since']['said']} (all ids: {out / 'changes.csv'})")
    if "claim" in subset.certificate:
        typer.echo(subset.certificate["claim"])
    if proof.held_out:
        typer.echo(
            f"{proof.held_out} examples were held out for the proof and are in no subset; to choose from all examples, "
            "give test data with --test"
        )
    if "features" in subset.certificate:
        typer.echo(f"features  {subset.certificate['features']}")
    if study is None:
        typer.echo("there are no labels, so nothing was retrained; if a column holds labels, name it with --labels")
    if study is not None:
        typer.echo(f"\n{study.summary()}\n")
        if soft_baseline(study, study.arm(proof.name)):
            typer.echo(f"{proof.name} is compared with random subsets that have the same soft targets.")
        typer.echo(study.verdict(proof.name).sentence)
        costs = [net(row) for row in ledger(study) if row["arm"] == proof.name]
        typer.echo("".join(f"{proof.name}: {cost}\n" for cost in costs if cost).replace(GAP, " "))
    typer.echo(f"subset  {out / 'subset.parquet'}\nreport  {proof.report}")
    if export is not None:
        typer.echo(f"export  {export}")
