"""Run directories at a URL on the command line: each command works on a local folder that is copied back."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..core.remote import holds_run, is_url, mirrored, released, url_of

__all__ = ["local_runs"]


@contextmanager
def local_runs(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of a command with the URLs of runs replaced by local folders; copy them back at the end.

    A URL after `--out` is a run, and so is any other that holds one. Other URLs are data or the address of an engine.
    """
    folders, found = [], []
    try:
        for before, word in zip(["", *words], words, strict=False):
            option, _, value = word.partition("=")
            out = before == "--out" or option == "--out"
            given = value if option == "--out" and value else word
            if is_url(given) and before != "--engine" and (out or holds_run(given)):
                folders.append(mirrored(given))
                print(f"winnow: note: {url_of(given)} is worked on in {folders[-1]}", file=sys.stderr)
                word = word.replace(given, str(folders[-1]))
            found.append(word)
        yield found
    finally:
        for folder in folders:
            released(folder)
