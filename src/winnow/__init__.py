"""winnow: train on less data, and prove what it costs.

    import winnow as wn

    src = wn.open("digits")
    sub = wn.prune(src, keep=0.4)
    stu = wn.evaluate(src, {"pruned": sub}, test=wn.open("digits", split="test"))
    print(stu.table())

Importing winnow imports nothing heavy: each name below is loaded from its room when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import errors, influence, lpntk, models, moments, narrowing, relabel, theory
    from .artefacts import Scores, Signals, Source, Study, Subset
    from .data.opening import open
    from .evaluation.evaluating import evaluate
    from .evaluation.probing import probe
    from .evaluation.proxy import proxy
    from .narrowing import narrow
    from .pipeline import explain, plan, prune
    from .relabel.accelerator import Accelerator
    from .scores.scoring import list_scores, score
    from .selectors.selecting import list_selectors, select
    from .signals.embedding import embed
    from .signals.observing import observe
    from .training.recipe import Recipe
    from .training.recorder import Recorder

_HOMES = {
    "Accelerator": "relabel.accelerator",
    "Recipe": "training.recipe",
    "Recorder": "training.recorder",
    "Scores": "artefacts",
    "Signals": "artefacts",
    "Source": "artefacts",
    "Study": "artefacts",
    "Subset": "artefacts",
    "embed": "signals.embedding",
    "evaluate": "evaluation.evaluating",
    "explain": "pipeline",
    "list_scores": "scores.scoring",
    "list_selectors": "selectors.selecting",
    "narrow": "narrowing",
    "observe": "signals.observing",
    "open": "data.opening",
    "plan": "pipeline",
    "probe": "evaluation.probing",
    "proxy": "evaluation.proxy",
    "prune": "pipeline",
    "score": "scores.scoring",
    "select": "selectors.selecting",
}
_ROOMS = ("errors", "influence", "lpntk", "models", "moments", "narrowing", "relabel", "theory")

__all__ = [
    "Accelerator",
    "Recipe",
    "Recorder",
    "Scores",
    "Signals",
    "Source",
    "Study",
    "Subset",
    "embed",
    "errors",
    "evaluate",
    "explain",
    "influence",
    "list_scores",
    "list_selectors",
    "lpntk",
    "models",
    "moments",
    "narrow",
    "narrowing",
    "observe",
    "open",
    "plan",
    "probe",
    "proxy",
    "prune",
    "relabel",
    "score",
    "select",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    elif name in _ROOMS:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module 'winnow' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_ROOMS])
