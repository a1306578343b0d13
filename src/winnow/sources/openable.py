"""The data parameter of a verb: a Source, or anything that `wn.open` takes, with the keywords of `wn.open`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from ..artefacts.source import Source
from ..core.errors import InputError, NotFoundError
from ..core.parameter_names import called, of
from ..core.request import Parameter, VerbRequest
from .open import open as open_source

__all__ = ["Data", "MoreData", "TestData", "as_source", "named_values", "opened_like", "test_sets"]

SHARED = (
    "labels",
    "task",
    "ids",
    "columns",
    "drop",
    "text",
    "group",
    "time",
    "size",
    "unreadable",
)  # keywords that also apply to the test data


def as_source(name: str, owner: str, what: Any, **opening: Any) -> Source:
    """Return a Source unchanged; open anything else.

    Parameters
    ----------
    name, owner
        Parameter and verb, for messages.
    what
        A Source, or what `wn.open` takes.
    **opening
        Keywords of `wn.open`.
    """
    if isinstance(what, Source) and not opening:
        return what
    with called({("wn.open", "what"): of(name, owner)}):
        return open_source(what, **opening)


def opened_like(asked: VerbRequest, name: str, what: Any, split: str | None = None) -> Source:
    """Open more data in the same way as the data of a verb, with the same class numbers.

    Parameters
    ----------
    asked
        The request, with its source open.
    name
        Name of the data in messages.
    what
        A Source, or what `wn.open` takes.
    split
        The split to open; everything if there are no splits.
    """
    if isinstance(what, Source):
        return what
    how = _like(asked)
    try:
        return as_source(name, asked.verb, what, split=split, **how)
    except NotFoundError:
        if split is None:
            raise
    return as_source(name, asked.verb, what, **how)


def test_sets(asked: VerbRequest) -> Any:
    """Open the test data of a verb; None if none are given and the data have no test split."""
    given = asked.test
    if isinstance(given, Mapping):
        return {name: opened_like(asked, f"test set {name!r}", what, "test") for name, what in given.items()}
    if given is not None:
        return opened_like(asked, "test", given, "test")
    if not isinstance(asked.what, str | os.PathLike) or "split" in asked.opening:
        return None
    try:
        return as_source("test", asked.verb, asked.what, split="test", **_like(asked))
    except NotFoundError:
        return None


def _like(asked: VerbRequest) -> dict[str, Any]:
    """Return the keywords that open more data of the same kind."""
    how = {key: value for key, value in asked.opening.items() if key in SHARED}
    columns = isinstance(asked.source.origin.get("labels"), list)  # several, by name
    for word in ("labels", "ids", "group", "time"):  # arrays in memory belong to the training data only
        if not isinstance(how.get(word), str | None) and not (word == "labels" and columns):
            del how[word]
    like = {"like": asked.source} if asked.source.kind == "table" else {}
    return {**how, **like, "classes": asked.source.classes or None}


def named_values(option: str, texts: list[str] | None) -> dict[str, str] | None:
    """Return `name=data` pairs as a mapping; without a name, the file name is used. Each name may occur once."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or Path(text).exists():
            name, value = Path(text).stem, text
        if name in found:
            raise InputError(f"{option} has the name {name!r} twice; use name=file to tell them apart.")
        found[name] = value
    return found or None


Data = Annotated[
    Any,
    Parameter(
        "A built-in name (digits, mnist, fashion-mnist, cifar10, sst2), a file or a folder.",
        as_source,
        plain=lambda source: source.fingerprint,
        kind=str,
        group=open_source,
        owner="wn.open",
        opens=True,
    ),
]
MoreData = Annotated[
    Any,
    Parameter(
        "Validation data for --tolerance; if not given, every example is measured in turn, by rotating folds.",
        plain=None,
        kind=str | None,
    ),
]
TestData = Annotated[
    Any,
    Parameter(
        "Test data, or name=data for several; the test split of the data if not given.",
        plain=None,
        kind=list[str] | None,
        read=lambda texts: named_values("--test", texts),
    ),
]
