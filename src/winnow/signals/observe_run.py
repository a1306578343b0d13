"""observe_run: observe into a run directory, for the commands that go step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..artefacts import Signals, Source
from ..core.run import Run
from ..engines import Engine
from ..models.identity import describe
from ..training.recipe import Recipe, recipe_of
from .embed import embed
from .observe import observe

__all__ = ["FILE", "observe_run"]

FILE = "signals.safetensors"


def observe_run(
    source: Source,
    out: str | Path,
    *,
    want: tuple[str, ...] = (),
    model: Any = "auto",
    recipe: Recipe | None = None,
    seeds: int = 3,
    mode: str = "eval",
    seed: int = 0,
    engine: Engine | None = None,
) -> Signals:
    """Observe into a run directory and keep everything observed there as `signals.safetensors`.

    Asking again for more, with the same model and recipe, adds to what is there; an array that is observed again
    replaces the old one.

    Parameters
    ----------
    source, want, model, recipe, seeds, mode, seed, engine
        As for `observe`; `want` empty takes what the task allows: logits for classes, losses for a target,
        embeddings without labels.
    out
        The run directory.
    """
    usual = {"classification": ("logits",), "regression": ("losses",), "unlabelled": ("embeddings",)}[source.task]
    wanted = want or usual
    how = recipe_of("observe", recipe)
    settings = {
        "command": "observe",
        "source": source.fingerprint,
        "model": describe(model),
        "recipe": how.settings(),
        "mode": mode,
        "seed": seed,
    }
    with Run.opened(out, settings, extend=False) as run:

        def make() -> Signals:
            if source.task == "unlabelled" and wanted == ("embeddings",):
                made = embed(source, "raw" if model == "auto" else model, seed=seed)
            else:
                made = observe(source, model, how, seeds, wanted, mode=mode, seed=seed, out=run, engine=engine)
            kept = Path(out) / FILE
            return Signals.load(kept).merge(made) if kept.exists() else made

        return run.step("observe", Signals, make, key=[settings, seeds, list(wanted)], file=FILE)
