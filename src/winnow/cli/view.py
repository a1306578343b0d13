"""winnow view: look at a run in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from .command import PlainCommand

EXAMPLES = """
Examples:

    winnow view runs/digits

    winnow view runs/photos --data photos/ --port 8080 --no-browser
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("view", cls=PlainCommand, epilog=EXAMPLES)(view)


def view(
    run: Annotated[
        str, typer.Argument(help="Run directory of prune, check, observe, evaluate, explain or plan, or its URL.")
    ],
    data: Annotated[
        str | None, typer.Option(help="The data of the run; if not given, they are opened from where they were.")
    ] = None,
    map: Annotated[str, typer.Option(help="How the map is made: pca, or umap if installed.")] = "pca",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Show a run in the browser: examples, scores, issues, a map; try other choices, and mark what is wrong."""
    from ..core.parameter_names import called
    from ..viewer.view import view as show

    with called({("view", name): f"--{name}" for name in ("data", "map", "port")}):
        shown = show(run, data, map=map, port=port, browser=browser)
    typer.echo(f"view  {shown.url}\nstop with Ctrl-C; marks are saved in {run.rstrip('/')}/marks.parquet")
    try:
        shown.wait()
    except KeyboardInterrupt:
        typer.echo("stopped")
    finally:
        shown.stop()
