"""winnow observe: train and record what each example does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .command import Call, command

EXAMPLES = """
Examples:

    winnow observe fashion-mnist --model lenet5 --epochs 20 --out runs/fashion

    winnow observe photos/ --want logits --want embeddings --out runs/photos
"""


@command("signals.observe:observe_run", EXAMPLES)
def observe(
    call: Call,
    out: Annotated[Path, typer.Option(help="Run directory; the same command resumes there.")],
    as_json: o.Json = False,
) -> None:
    """Train, once per seed, and record what each example does in OUT/signals.safetensors."""
    signals = call(out)
    arrays = {name: list(values.shape) for name, values in sorted(signals.arrays.items())}
    taken = signals.provenance.get("parameters", {}).get("taken")
    if as_json:
        found = {"signals": str(out / "signals.safetensors"), "examples": len(signals), "arrays": arrays}
        o.say_json({**found, "taken": taken} if taken else found)
        return
    o.say_taken(taken)
    for name, shape in arrays.items():
        typer.echo(f"{name:<16} {' x '.join(map(str, shape))}")
    typer.echo(f"signals  {out / 'signals.safetensors'}")
