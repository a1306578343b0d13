"""The server: routes from addresses to answers. The only file that imports starlette and uvicorn.

Static files are read once into memory by their known names, and examples are named by row numbers, so that no part of
an address is ever a path.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from ..core.errors import InputError, MissingDependencyError, WinnowError
from ..core.files import plain
from .answers import Answers
from .example_content import SIDES, has_pictures, picture_bytes
from .guard import App, Guard
from .run_panel import figure_svg

__all__ = ["RunningServer", "make_app", "static_files"]

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
LONGEST_WORD = 500
HOST = "127.0.0.1"  # and nothing else: other machines cannot reach it


def static_files() -> dict[str, tuple[bytes, str]]:
    """Every file of the page by its name in addresses, with its media type."""
    found: dict[str, tuple[bytes, str]] = {}
    for folder in ("", "map"):
        where = resources.files("winnow.viewer").joinpath("static", *([folder] if folder else []))
        for item in where.iterdir():
            kind = item.name.rpartition(".")[2]
            if item.is_file() and kind in TYPES:
                found[f"{folder}/{item.name}".lstrip("/")] = (item.read_bytes(), TYPES[kind])
    return found


def make_app(answers: Answers, token: str, port: int | None = None, framed: bool = False) -> App:
    """The whole server behind its guard, as an ASGI application.

    Parameters
    ----------
    answers
        What the page can ask about a run.
    token, port, framed
        As for `Guard`.
    """
    try:
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError:
        raise MissingDependencyError.of("starlette and uvicorn", "view", "winnow view") from None

    files, drawing = static_files(), threading.Lock()

    def said(value: Any, status: int = 200) -> Response:
        return Response(json.dumps(plain(value)), status, media_type="application/json")

    def answered(make: Callable[[Mapping[str, str]], Any]) -> Callable[[Request], Any]:
        """A route for a function of the parameters of an address; it runs in a thread."""

        def work(given: Mapping[str, str]) -> Response:
            start, busy = time.perf_counter(), time.thread_time()
            try:
                found = make(given)
            except WinnowError as error:
                return said({"error": str(error)}, 400)
            response = found if isinstance(found, Response) else said(found)
            wall, own = 1000 * (time.perf_counter() - start), 1000 * (time.thread_time() - busy)
            response.headers["server-timing"] = f"work;dur={wall:.2f}, cpu;dur={own:.2f}"
            return response

        async def route(request: Request) -> Response:
            given = {**dict(request.query_params), **{name: str(one) for name, one in request.path_params.items()}}
            if request.method == "POST":
                try:
                    given = {"body": json.dumps(json.loads(await request.body()))}
                except (ValueError, RecursionError):
                    return said({"error": "the body must be JSON."}, 400)
            return await asyncio.to_thread(work, given)

        return route

    def binary(body: bytes, kind: str = "application/octet-stream", **headers: str) -> Response:
        return Response(body, media_type=kind, headers={name.replace("_", "-"): one for name, one in headers.items()})

    def file(given: Mapping[str, str]) -> Response:
        held = files.get(given.get("name", "index.html"))
        return Response("there is no such file", 404) if held is None else binary(held[0], held[1])

    def picture(given: Mapping[str, str]) -> Response:
        side = SIDES[1] if given.get("side") == "large" else SIDES[0]
        if not has_pictures(answers.source):
            raise InputError("these examples are not pictures.")
        body, kind = picture_bytes(answers.table, answers.row_of(given["row"]), side)
        return binary(body, kind, cache_control="private, max-age=600")

    def colours(given: Mapping[str, str]) -> Response:
        body, kind = answers.colours(given.get("by", ""))
        return binary(body, x_kind=kind)

    def figure(given: Mapping[str, str]) -> Response:
        with drawing:  # matplotlib's settings are shared by threads
            made = figure_svg(answers.run, given["name"], given.get("dark") == "1")
        return Response("there is no such figure", 404) if made is None else binary(made.encode(), TYPES["svg"])

    def export(given: Mapping[str, str]) -> Response:
        body, name = answers.export(given)
        return binary(body, content_disposition=f'attachment; filename="{name}"')

    def mark(given: Mapping[str, str]) -> Any:
        change = json.loads(given["body"])
        rows = change.pop("rows", None) if isinstance(change, dict) else None
        if not isinstance(rows, list) or not all(type(row) is int for row in rows) or not _are_words(change):
            raise InputError("a mark needs rows, and verdict, correction or choice in words.")
        answers.marks.mark(rows, change)
        return {"marks": answers.marks.counts(), "undo": answers.marks.steps}

    def undo(given: Mapping[str, str]) -> Any:
        rows = answers.marks.undo()
        return {"rows": rows, "marks": answers.marks.counts(), "undo": answers.marks.steps}

    def recompute(given: Mapping[str, str]) -> Any:
        asked = json.loads(given["body"])
        if not isinstance(asked, dict) or not isinstance(asked.get("method"), str):
            raise InputError("a recomputation needs a method.")
        name = answers.recomputation.start(asked["method"], asked.get("keep", 0.5), asked.get("balance"))
        return {"name": name, "jobs": answers.recomputation.report()}

    reads: dict[str, Callable[[Mapping[str, str]], Any]] = {
        "/": file,
        "/static/{name:path}": file,
        "/api/about": lambda _: answers.about(),
        "/api/rows": answers.rows,
        "/api/points": lambda _: binary(answers.points()),
        "/api/colours": colours,
        "/api/mask": lambda given: binary(answers.mask(given)),
        "/api/example": answers.example,
        "/api/brief": answers.brief,
        "/api/what-if": answers.compared,
        "/api/jobs": lambda _: answers.recomputation.report(),
        "/api/run": lambda _: answers.panel(),
        "/api/export": export,
        "/picture/{row}": picture,
        "/figure/{name}": figure,
    }
    writes = {"/api/mark": mark, "/api/undo": undo, "/api/recompute": recompute}
    routes = [Route(path, answered(make), methods=["GET"]) for path, make in reads.items()]
    routes += [Route(path, answered(make), methods=["POST"]) for path, make in writes.items()]
    return Guard(Starlette(routes=routes), token, port, framed)


def _are_words(change: Mapping[str, Any]) -> bool:
    """Whether every value is a word, or a list of words."""
    words = [word for said in change.values() for word in (said if isinstance(said, list) else [said])]
    return all(isinstance(word, str) and len(word) < LONGEST_WORD for word in words)


class RunningServer:
    """A server on a free port of this machine, in a thread of this process."""

    def __init__(self, answers: Answers, port: int = 0, framed: bool = False) -> None:
        try:
            import uvicorn
        except ImportError:
            raise MissingDependencyError.of("starlette and uvicorn", "view", "winnow view") from None
        self.answers, self.token = answers, secrets.token_urlsafe(24)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, port))
        except (OSError, OverflowError):
            self._socket.close()
            raise InputError(f"port of view must be free; {port} is not (0 takes any free one).") from None
        self.port = int(self._socket.getsockname()[1])
        app: Any = make_app(answers, self.token, self.port, framed)
        config = uvicorn.Config(
            app, log_level="error", lifespan="off", access_log=False, server_header=False, ws="none"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        threading.Thread(target=answers.warm, daemon=True).start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.01)

    @property
    def url(self) -> str:
        """The address of the page. What follows # is the token, which browsers do not send."""
        return f"http://{HOST}:{self.port}/#token={self.token}"

    def wait(self) -> None:
        """Return when the server has stopped, or at Ctrl-C."""
        while self._thread.is_alive():
            self._thread.join(0.2)

    def stop(self) -> None:
        """Stop serving."""
        self.answers.recomputation.stop()
        self._server.should_exit = True
        self._thread.join(10)
        with contextlib.suppress(OSError):
            self._socket.close()
