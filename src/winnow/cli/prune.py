"""winnow prune: a smaller training set, with proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o

if TYPE_CHECKING:
    from ..artefacts import Source

EXAMPLES = """
Examples:

    winnow prune digits --keep 0.4 --out runs/digits

    winnow prune photos/ --keep 0.5 --test photos-test/ --model resnet20 --epochs 50

    winnow prune sales.csv --labels price --tolerance 0.005
"""


TAKEN = ("source", "keep", "tolerance", "test", "validation", "method", "balance", "model", "recipe", "seeds", "seed",
         "proof_seeds", "match_iterations", "out", "engine")  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("prune", epilog=EXAMPLES)(prune)


def prune(
    data: o.Data,
    keep: Annotated[float | None, typer.Option(help="Fraction to keep, in (0, 1].")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Instead of --keep: accuracy that may be lost.")] = None,
    out: Annotated[Path, typer.Option(help="Run directory; the same command goes on there.")] = Path("runs/prune"),
    test: Annotated[
        list[str] | None,
        typer.Option(help="Test data, or name=data for several; the data's own test split, or a fifth held out."),
    ] = None,
    validation: Annotated[str | None, typer.Option(help="Data to measure --tolerance on, or a fifth held out.")] = None,
    method: Annotated[str, typer.Option(help="A score, a selector, score+selector, or auto.")] = "auto",
    balance: Annotated[
        float | None, typer.Option(help="Share of its equal part each class keeps; 0.5 if not given.")
    ] = None,
    model: o.Model = "auto",
    epochs: o.Epochs = 30,
    batch: o.Batch = 128,
    optimizer: o.Optimizer = "adamw",
    lr: o.Rate = None,
    augment: o.Augment = None,
    seeds: o.Seeds = 3,
    proof_seeds: Annotated[int, typer.Option(help="Retrainings of each arm of the proof.")] = 5,
    match_iterations: Annotated[float, typer.Option(help="0: same epochs for all arms; 1: same steps.")] = 0.0,
    labels: o.Labels = None,
    task: o.Task = None,
    unreadable: o.Unreadable = "refuse",
    image_size: o.Size = None,
    limit: o.Limit = None,
    seed: o.Seed = 0,
    workers: o.Workers = None,
    set_: o.Set = None,
    as_json: o.Json = False,
) -> None:
    """Choose what to keep, retrain to prove what it costs, and write subset.parquet and report.html."""
    from ..artefacts.ledger import ledger
    from ..core.errors import NotFoundError
    from ..core.units import GAP
    from ..pruning.proof import prune_with_proof
    from ..report.sentences import against_random, net

    how: dict[str, Any] = {"labels": labels, "task": task, "unreadable": unreadable, "size": image_size}
    source = o.opened(data, limit=limit, **how)
    tests: dict[str, Source] | None = {
        name: o.test_source(what, like=source, **how) for name, what in o.named(test or [], "--test").items()
    }
    if not tests:
        try:
            tests = {"test": o.opened(data, split="test", like=source, **how)}
        except NotFoundError:
            tests = None
    checked = None if validation is None else o.opened(validation, like=source, **how)
    proof = prune_with_proof(
        source,
        keep,
        tolerance=tolerance,
        test=tests,
        validation=checked,
        method=method,
        balance="auto" if balance is None else balance,
        model=model,
        recipe=o.recipe(epochs, batch, optimizer, lr, augment),
        seeds=seeds,
        proof_seeds=proof_seeds,
        match_iterations=match_iterations,
        seed=seed,
        out=out,
        engine=o.engine(workers),
        **o.parameters(set_, TAKEN),
    )
    subset, study = proof.subset, proof.study
    if as_json:
        o.say_json(
            {
                "subset": str(out / "subset.parquet"),
                "report": str(proof.report),
                "kept": len(subset),
                "method": proof.name,
                "why": proof.why,
                "certificate": dict(subset.certificate),
                "table": [] if study is None else list(study.table()),
                "ledger": [] if study is None else list(ledger(study)),
            }
        )
        return
    typer.echo(f"kept {len(subset)} of {len(source) - proof.held_out} examples by {proof.name} ({proof.why})")
    if "claim" in subset.certificate:
        typer.echo(subset.certificate["claim"])
    if proof.held_out:
        typer.echo(
            f"{proof.held_out} examples were held out for the proof and are in no subset; to choose from all, give "
            "test data with --test"
        )
    if study is None:
        typer.echo("there are no labels, so nothing was retrained; if a column holds them, name it with --labels")
    if study is not None:
        typer.echo(f"\n{study.summary()}\n")
        for row in ledger(study):
            typer.echo(f"{proof.name}: {against_random(study, proof.name)}; {net(row)}\n".replace(GAP, " "))
    typer.echo(f"subset  {out / 'subset.parquet'}\nreport  {proof.report}")
