"""A browser for tests: Debian's Chromium, a page that writes down what goes wrong, and hands that are counted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

__all__ = ["Hands", "Watched", "at_rest", "browser", "in_view"]

FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
PATIENCE = 60_000  # milliseconds, for machines that do much else


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, or a skipped test that says what is missing."""
    where = shutil.which("chromium") or shutil.which("chromium-browser")
    if where is None:
        pytest.skip("there is no Chromium on this machine (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=where, args=FLAGS)
        yield opened
        opened.close()


class Watched:
    """A page whose console errors and requests are written down."""

    def __init__(self, browser: Any, url: str, **context: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1400, "height": 1000}, **context})
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.wrong.append("a dialog"), dialog.dismiss()))
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.home = url.partition("#")[0]
        self.page.goto(url)
        self.page.wait_for_selector(".cell .label")

    def drawn(self) -> None:
        """Wait for the map."""
        self.page.wait_for_selector("#map-area[data-drawn=yes]")

    def close(self) -> None:
        """Close it, and fail if anything went wrong or anything was requested from elsewhere."""
        self.context.close()
        assert self.wrong == []
        own = (self.home, f"blob:{self.home}", "blob:null", "data:")
        assert [url for url in self.requests if not url.startswith(own)] == []
        assert self.requests


class Hands:
    """Keys and clicks, counted."""

    def __init__(self, page: Any) -> None:
        self.page, self.count = page, 0

    def key(self, name: str) -> None:
        self.count += 1
        self.page.keyboard.press(name)

    def click(self, what: str) -> None:
        self.count += 1
        self.page.click(what)

    def paste(self, text: str) -> None:
        self.count += 1
        self.page.keyboard.insert_text(text)

    def pick(self, what: str, value: str) -> None:
        self.count += 2  # open the list, choose
        self.page.select_option(what, value)


def in_view(page: Any, text: str) -> None:
    """Wait until the bar above the grid says this."""
    page.wait_for_function("said => document.getElementById('count')?.textContent === said", arg=text)


def at_rest(page: Any) -> None:
    """Wait until the grid shows the rows of the view that was asked for."""
    page.wait_for_selector("#grid[aria-busy=false]")
