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

from . import _moved

__version__ = "0.2.0"

if TYPE_CHECKING:
    from . import models
    from .artefacts import Issues, Scores, Signals, Source, Study, Subset
    from .artefacts.bench_record import BenchRecord
    from .bench.benchmark import benchmark
    from .checking.check import check
    from .core import errors
    from .engines import Local, Ray
    from .evaluation.evaluate import evaluate
    from .evaluation.probe import probe
    from .evaluation.proxy import proxy
    from .explaining.audit import audit
    from .explaining.explain import explain
    from .explaining.why import why
    from .methods import influence, lpntk, moments, narrowing, relabel, theory
    from .methods.narrowing.narrow import narrow
    from .methods.relabel.accelerator import Accelerator
    from .planning.plan import plan
    from .planning.rows_plan import plan_rows
    from .pruning.proof import prune_with_proof
    from .pruning.prune import prune
    from .pruning.train import train
    from .scores.score import list_scores, score
    from .selectors.select import list_selectors, select
    from .signals.embed import embed
    from .signals.observe import observe
    from .sources.open import open
    from .training.dynamic_sampler import DynamicSampler
    from .training.recipe import Recipe
    from .training.recorder import Recorder
    from .training.soft_loss import soft_loss
    from .viewer.view import view

# Where each public name lives. A name that ends a dotted path without a colon is a module.
_HOMES = {
    "Accelerator": "methods.relabel.accelerator:Accelerator",
    "BenchRecord": "artefacts.bench_record:BenchRecord",
    "DynamicSampler": "training.dynamic_sampler:DynamicSampler",
    "Issues": "artefacts:Issues",
    "Local": "engines:Local",
    "Ray": "engines:Ray",
    "Recipe": "training.recipe:Recipe",
    "Recorder": "training.recorder:Recorder",
    "Scores": "artefacts:Scores",
    "Signals": "artefacts:Signals",
    "Source": "artefacts:Source",
    "Study": "artefacts:Study",
    "Subset": "artefacts:Subset",
    "audit": "explaining.audit:audit",
    "benchmark": "bench.benchmark:benchmark",
    "check": "checking.check:check",
    "embed": "signals.embed:embed",
    "errors": "core.errors",
    "evaluate": "evaluation.evaluate:evaluate",
    "explain": "explaining.explain:explain",
    "influence": "methods.influence",
    "list_scores": "scores.score:list_scores",
    "list_selectors": "selectors.select:list_selectors",
    "lpntk": "methods.lpntk",
    "models": "models",
    "moments": "methods.moments",
    "narrow": "methods.narrowing.narrow:narrow",
    "narrowing": "methods.narrowing",
    "observe": "signals.observe:observe",
    "open": "sources.open:open",
    "plan": "planning.plan:plan",
    "plan_rows": "planning.rows_plan:plan_rows",
    "probe": "evaluation.probe:probe",
    "proxy": "evaluation.proxy:proxy",
    "prune": "pruning.prune:prune",
    "prune_with_proof": "pruning.proof:prune_with_proof",
    "relabel": "methods.relabel",
    "score": "scores.score:score",
    "select": "selectors.select:select",
    "soft_loss": "training.soft_loss:soft_loss",
    "theory": "methods.theory",
    "train": "pruning.train:train",
    "view": "viewer.view:view",
    "why": "explaining.why:why",
}

__all__ = [
    "Accelerator",
    "BenchRecord",
    "DynamicSampler",
    "Issues",
    "Local",
    "Ray",
    "Recipe",
    "Recorder",
    "Scores",
    "Signals",
    "Source",
    "Study",
    "Subset",
    "audit",
    "benchmark",
    "check",
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
    "plan_rows",
    "probe",
    "proxy",
    "prune",
    "prune_with_proof",
    "relabel",
    "score",
    "select",
    "soft_loss",
    "theory",
    "train",
    "view",
    "why",
]

_moved.install()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'winnow' has no attribute {name!r}")
    home, _, attribute = _HOMES[name].partition(":")
    module = importlib.import_module(f".{home}", __name__)
    value = getattr(module, attribute) if attribute else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
