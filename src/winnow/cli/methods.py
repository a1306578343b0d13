"""winnow methods: the scores and selectors there are."""

from __future__ import annotations

import typer

from . import options as o
from .command import PlainCommand


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("methods", cls=PlainCommand, epilog="Examples:\n\n    winnow methods\n\n    winnow methods --json")(
        methods
    )


def methods(as_json: o.Json = False) -> None:
    """List scores and selectors: what each needs, what it does, who proposed it."""
    from ..artefacts import Table
    from ..core.registry import listing

    found = [*listing("score"), *listing("selector")]
    if as_json:
        o.say_json(
            {
                "methods": [
                    {
                        "kind": m.kind,
                        "name": m.name,
                        "needs": sorted(m.needs),
                        "tasks": sorted(m.tasks),
                        "paper": m.paper,
                        "summary": m.summary,
                        "parameters": m.parameters,
                        "default_score": m.default_score,
                    }
                    for m in found
                ]
            }
        )
        return
    for kind in ("score", "selector"):
        rows = [
            {kind: m.name, "needs": ", ".join(sorted(m.needs)) or "-", "what it is": m.summary, "paper": m.paper}
            for m in found
            if m.kind == kind
        ]
        typer.echo(f"{Table(tuple(rows))}\n")
