"""`view`: look at a run in the browser."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from ..core import checks
from ..core.errors import InputError
from ..core.remote import released
from .answers import Answers
from .prepared_run import opened_data, stored_map
from .run_contents import read_contents
from .server import RunningServer

__all__ = ["Viewer", "view"]

MAPS = ("pca", "umap")
HEIGHT = 800  # pixels of the frame in a notebook


class Viewer:
    """A run that is being shown; a notebook shows it below the cell.

    Attributes
    ----------
    url
        The address to open, with the token that saving marks needs.
    """

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self.url = server.url
        self._folder = server.answers.run.path

    def __repr__(self) -> str:
        return f"Viewer({self.url})"

    def _repr_html_(self) -> str:
        frame = f'<iframe src="{escape(self.url)}" width="100%" height="{HEIGHT}" style="border:0"></iframe>'
        return f'{frame}<p><a href="{escape(self.url)}" target="_blank" rel="noopener">open in its own window</a></p>'

    def wait(self) -> None:
        """Return when it was stopped."""
        self._server.wait()

    def stop(self) -> None:
        """Stop serving; a run at a URL has everything copied back."""
        self._server.stop()
        released(self._folder)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def view(run: str | Path, data: Any = None, *, map: str = "pca", port: int = 0, browser: bool = False) -> Viewer:
    """Show a run in the browser: its examples, scores, issues and map, and what another choice would keep.

    The page is served on this machine only, loads nothing from anywhere else, and reads saved files. Marks are written
    to `marks.parquet` in the run, which `wn.prune(marks=)` and `wn.check(marks=)` read.

    Parameters
    ----------
    run
        A run directory of prune, check, observe, evaluate, explain or plan, or the URL of one.
    data
        The data of the run: a Source, or anything that `wn.open` takes. If not given, they are opened again as the run
        says where they came from.
    map
        How the map is made: `pca`, or `umap` if umap-learn is installed. It is made once and stored in the run.
    port
        The port to listen on; 0 takes any free one.
    browser
        Whether to open the page in a browser.

    Returns
    -------
    Viewer
        With the address of the page as `url`; `stop()` ends it. A notebook shows the page itself.

    Raises
    ------
    NotFoundError
        If there is no run.
    InputError
        If the data cannot be opened again, or do not hold the examples of the run.
    MissingDependencyError
        If starlette or uvicorn is not installed.

    Examples
    --------
    >>> import winnow as wn
    >>> sub = wn.prune("digits", keep=0.4, method="random", limit=100, out="run")
    >>> viewer = wn.view("run")
    >>> viewer.url.startswith("http://127.0.0.1:")
    True
    >>> viewer.stop()
    """
    checks.choice("map", "view", map, MAPS)
    checks.integer("port", "view", port, low=0, high=65_535)
    if not isinstance(run, str | Path):
        raise InputError(f"run of view must be a run directory; got {type(run).__name__}.")
    held = read_contents(run)
    source = opened_data(held, data)
    server = RunningServer(Answers(held, source, stored_map(held, source, map)), port, framed=not browser)
    if browser:
        import webbrowser

        webbrowser.open(server.url)
    return Viewer(server)
