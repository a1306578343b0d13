"""ExampleDigests: what each example held when it was observed, so that a later run notices changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..core.layouts import Parquet
from ..core.serialiser import Saved

__all__ = ["ExampleDigests"]


@dataclass(frozen=True, eq=False)
class ExampleDigests(Saved, kind="digests of examples", layout=Parquet({"id": "ids", "digest": "digests"})):
    """One number per example that changes with its content; of no use where ids are made from the content."""

    ids: NDArray[Any]
    digests: NDArray[Any]
