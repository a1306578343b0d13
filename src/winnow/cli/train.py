"""winnow train: one training in fewer steps, with what it saved."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow train digits --steps 200

    winnow train photos/ --test photos-test/ --model resnet20 --epochs 50 --steps 4000 --proof

    winnow train fashion-mnist --model lenet5 --observer mlp --steps 1500
"""


@command("pruning.train:train", EXAMPLES)
def train(
    call: Call,
    out: Annotated[Path, typer.Option(help="Run directory; the same command resumes there.")] = Path("runs/train"),
    as_json: o.Json = False,
) -> None:
    """Train a network in a given number of steps, and write weights.safetensors."""
    from ..artefacts.class_metrics import WORDS
    from ..core.units import GAP

    found = call(out=out)
    weights = out / "weights.safetensors"
    if as_json:
        o.say_json(
            {
                "weights": str(weights),
                "accuracy": found.accuracy,
                "steps": found.steps,
                "full_steps": found.full_steps,
                "seconds": found.network.seconds,
                "observing": found.observing,
                "left_out": found.left_out,
                "held_out": found.held_out,
                "arms": found.arms,
                "gains": {arm: dataclasses.asdict(gain) for arm, gain in found.gains.items()},
            }
        )
        return
    saved = 1 - found.steps / found.full_steps
    typer.echo(
        f"trained {found.steps:,} steps in {found.network.seconds:.1f} s, {abs(saved):.0%} "
        f"{'fewer' if saved >= 0 else 'more'} than the {found.full_steps:,} of the recipe"
        + (f"; observing took {found.observing:.1f} s" if found.observing else "")
    )
    if found.left_out:
        typer.echo(f"{found.left_out} suspected label issues were left out")
    if found.held_out:
        typer.echo(f"{found.held_out} examples were held out for the proof and not trained on; give --test to use all")
    if found.accuracy is not None:
        which = ", this network" if found.arms else ""
        typer.echo(f"{WORDS[found.metric]} on the test data{which}: {found.accuracy:.4f}")
    if found.arms:
        runs = max((gain.runs for gain in found.gains.values()), default=1)
        each = f"mean of {runs} trainings with different seeds" if runs > 1 else "one training"
        typer.echo(f"of each below, the {each}:")
    for arm, row in found.arms.items():
        typer.echo(f"{arm:24s} {row['accuracy']:.4f}  {row['steps']:8,.0f} steps  {row['seconds']:8.1f} s")
    for arm, gain in found.gains.items():
        typer.echo(
            f"against {arm}: {100 * gain.centre:+.2f} points "
            f"[{100 * gain.low:+.2f}, {100 * gain.high:+.2f}] over {gain.runs} seeds".replace(GAP, " ")
        )
    typer.echo(f"weights  {weights}")
