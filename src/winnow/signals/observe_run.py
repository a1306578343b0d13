"""observe_run: observe into a run directory, for `winnow observe`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..artefacts import Signals
from ..core.request import Observations, Seed, request
from ..core.run import Run
from ..engines.local import Where
from ..models.identity import Model
from ..sources.openable import Data
from ..training.recipe import How
from .embed import embed
from .observe import Mode, Want, observe

__all__ = ["FILE", "observe_run"]

FILE = "signals.safetensors"


def observe_run(
    source: Data,
    out: str | Path,
    *,
    want: Want = None,
    model: Model = "auto",
    recipe: How = None,
    seeds: Observations = 1,
    mode: Mode = "auto",
    seed: Seed = 0,
    engine: Where = None,
    **opening: Any,
) -> Signals:
    """Observe into a run directory and keep everything there as `signals.safetensors`.

    A later call with the same model and recipe adds to the file; an array that is observed again replaces the old one.

    Parameters
    ----------
    source, want, model, recipe, seeds, mode, seed, engine, **opening
        As for `observe`. Without `want`: dynamics, or embeddings without labels.
    out
        The run directory.
    """
    asked = request(observe_run, locals(), "observe")
    source = asked.source
    wanted = tuple(want or (("embeddings",) if source.task == "unlabelled" else ("dynamics",)))
    growing = ("seeds", "engine")  # may differ between calls
    settings = {name: value for name, value in asked.settings().items() if name not in growing}
    settings = {"command": "observe", **settings}
    with Run.opened(out, settings, extend=False) as run:

        def make() -> Signals:
            if source.task == "unlabelled" and wanted == ("embeddings",):
                made = embed(source, "raw" if model == "auto" else model, seed=seed)
            else:
                made = observe(source, model, recipe, seeds, wanted, mode=mode, seed=seed, out=run, engine=engine)
            kept = Path(out) / FILE
            return Signals.load(kept).merge(made) if kept.exists() else made

        return run.step("observe", Signals, make, key=[settings, seeds, list(wanted)], file=FILE)
