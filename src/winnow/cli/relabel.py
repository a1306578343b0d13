"""winnow relabel: targets from a prior model, or a comparison of priors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import InputError
from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow relabel photos --prior timm:efficientnet_lite0 --weights lite0.safetensors --size 96 --dim 128

    winnow relabel digits --prior random --dim 16 --scale whiten --out targets.parquet

    winnow relabel digits --compare random resnet20=resnet20.safetensors mine.npy

A prior is the name of a network, random, raw (the inputs themselves), or a file of embeddings (.npy with one row per
example, or the signals.safetensors of a run). With --compare, name several priors, each with its weights as NAME=FILE;
the distances between them are printed instead. Load a file of targets with `winnow.relabel.Targets.load`.
"""


@command("methods.relabel.prior_targets:targets", EXAMPLES, owner="relabel.targets")
def relabel(
    call: Call,
    priors: Annotated[list[str] | None, typer.Argument(help="Priors to compare, with --compare.")] = None,
    prior: Annotated[str | None, typer.Option(help="The prior that makes the targets.")] = None,
    dim: Annotated[int | None, typer.Option(help="Length of a target.")] = None,
    scale: Annotated[
        str | None, typer.Option(help="whiten, standardize, correlation or none; whiten if not given.")
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Compare the named priors and recommend one.")] = False,
    by_labels: Annotated[bool, typer.Option("--by-labels", help="Compare the priors by the labels.")] = False,
    form: Annotated[
        str | None, typer.Option(help="Distance for --compare: regression or neighbour; regression if not given.")
    ] = None,
    weights: Annotated[Path | None, typer.Option(help="Weights of a named network.")] = None,
    out: Annotated[Path | None, typer.Option(help="File for the targets; targets.parquet if not given.")] = None,
    as_json: o.Json = False,
) -> None:
    """Make targets for every example from a prior model, or compare priors."""
    if compare == (prior is not None):
        raise InputError("winnow relabel needs exactly one of --prior (with --dim) and --compare (with priors).")
    making = {"--dim": dim, "--scale": scale, "--out": out, "--weights": weights}
    comparing = {"a list of priors": priors or None, "--by-labels": by_labels or None, "--form": form}
    for option, value in (making if compare else comparing).items():
        if value is not None:
            hint = "; give each prior its own as NAME=FILE" if option == "--weights" else ""
            mode, other = ("--compare", "--prior") if compare else ("--prior", "--compare")
            raise InputError(f"{option} of winnow relabel is for {other}, not for {mode}{hint}.")
    if prior is not None and dim is None:
        raise InputError("relabel --prior needs --dim, the length of a target.")
    if prior is None or dim is None:
        _compare(call, priors or [], by_labels, form or "regression", as_json)
        return
    out = out or Path("targets.parquet")
    made = call(prior, dim, None if scale == "none" else scale or "whiten", weights=weights, out=out)
    measured = made.provenance["measured"]
    taken = made.provenance["parameters"].get("taken")
    about = {"targets": str(out), "examples": len(made), "dim": made.dim, "seconds": made.seconds, **measured}
    if as_json:
        o.say_json({**about, "taken": taken})
        return
    typer.echo(
        f"{len(made):,} targets of {made.dim} numbers, {measured['variance_kept']:.1%} of the prior's variance, "
        f"in {made.seconds:.1f} s"
    )
    o.say_taken(taken)
    typer.echo(f"targets  {out}")


def _compare(call: Call, priors: list[str], by_labels: bool, form: str, as_json: bool) -> None:
    """Print the distances between the representations of several priors, and the advice."""
    from ..methods.relabel import compare
    from ..methods.relabel.priors import FILES, represent
    from ..sources.openable import as_source

    if len(set(priors)) != len(priors) or len(priors) < 2:
        raise InputError(f"--compare needs two or more different priors; got {', '.join(priors) or 'none'}.")
    source = as_source("source", "relabel.targets", call.what, **call.opening)
    if by_labels and source.task != "classification":
        raise InputError(f"--by-labels needs classes; {source.name!r} is {source.task}.")
    found = {}
    for text in priors:
        name, equals, file = text.partition("=")
        if Path(name).suffix in FILES:
            found[name] = represent(source, name)
            continue
        if name in found:
            name = text
        found[name] = represent(source, text.partition("=")[0], weights=Path(file) if equals else None, **call.keywords)
    labels = source.labels[source.order] if by_labels and source.labels is not None else None
    told = compare(found, labels=labels, form=form, seed=call.keywords["seed"])
    if as_json:
        o.say_json(told.as_dict())
        return
    typer.echo(f"{told.table()}\n\n{told.advice}")
