"""Plugins: modules of other packages that register methods, found by their entry points.

A package names a module to import under the group `winnow.plugins`:

    [project.entry-points."winnow.plugins"]
    my_package = "my_package.winnow_methods"

A plugin that cannot be imported is left out with a warning; everything else works.
"""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Mapping

from .registration import Kind, Registration

__all__ = ["GROUP", "load_plugins"]

GROUP = "winnow.plugins"
_loaded = False


def load_plugins(known: Mapping[Kind, dict[str, Registration]]) -> None:
    """Import every plugin, in the order of their names; only the first call does anything.

    Parameters
    ----------
    known
        The tables that plugins fill by registering; the entries of a plugin that fails are removed again.
    """
    global _loaded
    if _loaded:
        return
    _loaded = True  # set first, because plugins may look up methods while they are imported
    for point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda point: point.name):
        _load(point, known)


def _load(point: importlib.metadata.EntryPoint, known: Mapping[Kind, dict[str, Registration]]) -> None:
    """Import a plugin; if that fails, nothing of it stays registered, and a warning says so."""
    before = {kind: dict(table) for kind, table in known.items()}
    try:
        point.load()
    except Exception as error:  # code of other people: no error in it may stop winnow
        for kind, table in known.items():
            for name in [name for name, entry in table.items() if entry.package != "winnow"]:
                if name not in before[kind]:
                    del table[name]
        owner = "an unknown package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
        text = " ".join(str(error).split())
        warnings.warn(
            f"plugin {point.name!r} of {owner} is left out, it cannot be loaded ({type(error).__name__}: {text}); "
            "everything else works",
            stacklevel=6,
        )
