"""Old import paths, kept for one version: `import winnow.lpntk` finds `winnow.methods.lpntk` and says so.

The five papers' machinery moved under `methods`, and a few rooms were renamed. The public names, `wn.lpntk` and its
like, are not affected. Remove this file, and its call in `__init__`, with the next version.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType

__all__ = ["MOVED", "install"]

QUIET = {"errors": "core.errors"}  # documented as wn.errors, and no reason to change anything
MOVED = {
    "checks": "core.checks",
    "data": "sources",
    "engine": "engines",
    "influence": "methods.influence",
    "lpntk": "methods.lpntk",
    "moments": "methods.moments",
    "narrowing": "methods.narrowing",
    "progress": "core.progress",
    "registry": "core.registry",
    "relabel": "methods.relabel",
    "seeds": "core.seeds",
    "store": "core.run",
    "theory": "methods.theory",
    "training.hf_callback": "training.integrations.hf_trainer",
    "training.lightning_callback": "training.integrations.lightning",
}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers for the old names only, and hands out the module at the new place."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        old = fullname.removeprefix("winnow.")
        if old == fullname or (old not in MOVED and old not in QUIET):
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        old = spec.name.removeprefix("winnow.")
        new = f"winnow.{QUIET.get(old) or MOVED[old]}"
        module = importlib.import_module(new)
        if old in MOVED:
            warnings.warn(
                f"{spec.name} has moved to {new}; the old path goes in the next version.",
                DeprecationWarning,
                stacklevel=2,
            )
        self._true_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module has run at its own place; importlib has just put our spec on it, so give it back its own."""
        module.__spec__ = self._true_spec


def install() -> None:
    """Let old paths be found, once."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
