"""winnow methods: list everything registered by winnow or another package."""

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
    """List signals, scores, selectors, sources, networks and engines: what each is, what it needs, who proposed it."""
    from ..artefacts import Table
    from ..core.registry import KINDS, listing

    found = {kind: list(listing(kind)) for kind in KINDS}
    if as_json:
        o.say_json({"methods": [entry.as_dict() for entries in found.values() for entry in entries]})
        return
    for kind, entries in found.items():
        rows = [
            {
                kind: e.name,
                "needs": ", ".join(sorted(e.needs)) or "-",
                "what it is": e.summary,
                "from": e.paper or e.package,
            }
            for e in entries
        ]
        if not any(entry.needs for entry in entries):
            rows = [{key: value for key, value in row.items() if key != "needs"} for row in rows]
        typer.echo(f"{Table(tuple(rows))}\n")
