"""What stands between the server and everything that is not its own page on this machine.

- The Host of every request must be this machine by the address that was bound: a name that somebody else's DNS points
  here (rebinding) is refused.
- A request that another site's page makes is refused: by its Origin, and by what browsers say in Sec-Fetch-Site.
- Whatever changes something needs the token of this server, in a header that no form and no other site can send.
- Every answer forbids scripts that are not files of the viewer, requests elsewhere, frames and guessing of types.

It is plain ASGI, so that it stands before routing and before every error.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

__all__ = ["Guard"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN = b"x-winnow-token"
READS = ("GET", "HEAD")
LONGEST = 1 << 20  # bytes of a body
PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
# The map runs in a frame without an origin: it may compile drawing code, but it sees numbers only and reaches nothing.
DRAWING = (
    "sandbox allow-scripts; default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors {parents}"
)
NOTEBOOKS = "'self' http://127.0.0.1:* http://localhost:* vscode-webview:"


class Guard:
    """Refuses what does not come from the viewer's own page.

    Parameters
    ----------
    app
        The server behind it.
    token
        The secret that writing needs.
    port
        The port it listens on; None while it is not known, as in tests.
    framed
        Whether a notebook on this machine may show the page in a frame.
    """

    def __init__(self, app: App, token: str, port: int | None = None, framed: bool = False) -> None:
        self.app, self.token, self.port, self.framed = app, token.encode(), port, framed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it with one sentence."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return None
        refused = self._refused(scope)
        if refused is not None:
            return await self._answer(scope, send, *refused)
        return await self.app(scope, receive, self._sealed(scope, send))

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if [name for name, _ in scope["headers"]].count(b"host") != 1 or not self._own(
            headers[b"host"].decode("latin-1")
        ):
            return 421, "this server answers only by the address it was started with."
        origin = headers.get(b"origin")
        drawing = scope["path"].startswith("/static/map/")
        if (
            origin is not None
            and not self._own_origin(origin.decode("latin-1"))
            and not (drawing and origin == b"null")
        ):
            return 403, "requests of other sites are refused."
        if headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site") and not drawing:
            navigated = (
                headers.get(b"sec-fetch-mode") == b"navigate" and scope["method"] == "GET" and scope["path"] == "/"
            )
            if not navigated:
                return 403, "requests of other sites are refused."
        if scope["method"] in READS:
            return None
        if scope["method"] != "POST":
            return 405, "only GET and POST are known."
        if origin is None:
            return 403, "writing needs the Origin of the viewer's own page."
        if not hmac.compare_digest(headers.get(TOKEN, b""), self.token):
            return 403, "writing needs the token in the address that winnow printed."
        if headers.get(b"content-type", b"").split(b";")[0] != b"application/json":
            return 415, "writing needs JSON."
        length = headers.get(b"content-length", b"")
        if not length.isdigit() or int(length) > LONGEST:
            return 413, "the body is too long or has no length."
        return None

    def _own(self, host: str) -> bool:
        name, _, port = host.rpartition(":") if ":" in host else (host, "", "80")
        return name in ("127.0.0.1", "localhost") and (self.port is None or port == str(self.port))

    def _own_origin(self, origin: str) -> bool:
        return origin.startswith("http://") and self._own(origin.removeprefix("http://"))

    def _headers(self, scope: Scope) -> Mapping[str, str]:
        parents = NOTEBOOKS if self.framed else "'self'"
        drawing = scope["path"] == "/static/map/map.html"
        own = f"{PAGE}; frame-ancestors {NOTEBOOKS if self.framed else chr(39) + 'none' + chr(39)}"
        return {
            "content-security-policy": DRAWING.format(parents=parents) if drawing else own,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "cross-origin"
            if scope["path"].startswith("/static/map/")
            else "same-origin",
            "permissions-policy": "camera=(), microphone=(), geolocation=()",
        }

    def _sealed(self, scope: Scope, send: Send) -> Send:
        async def sealed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in self._headers(scope).items()]
                given = [pair for pair in message.get("headers", []) if pair[0] != b"server"]
                if not any(name == b"cache-control" for name, _ in given):
                    more.append((b"cache-control", b"no-store"))
                message["headers"] = [*given, *more]
            await send(message)

        return sealed

    async def _answer(self, scope: Scope, send: Send, status: int, said: str) -> None:
        body = json.dumps({"error": said}).encode()
        sealed = self._sealed(scope, send)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await sealed({"type": "http.response.start", "status": status, "headers": headers})
        await sealed({"type": "http.response.body", "body": body if scope["method"] != "HEAD" else b""})
