"""The next step after a plan: its cost, and the command to run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..artefacts import Source
from ..engines import Engine
from ..training.recipe import Recipe
from .remarks import on_proxy
from .resources import Resources, estimate

__all__ = ["Options"]

PROXY = "mlp"  # the cheaper observer whose cost is stated


@dataclass(frozen=True, eq=False)
class Options:
    """What the method, its cost and its command line depend on."""

    source: Source
    method: str
    model: Any
    observer: Any
    recipe: Recipe
    seeds: int
    match_iterations: float
    called: str
    seed: int
    engine: Engine | None
    saved: Path | None = None  # where the plan is saved

    def command(self, goal: str, start: str = "prune") -> str:
        """The command to run, with only the options that differ from the defaults."""
        usual, how = Recipe(), self.recipe
        said = [f"winnow {start} {self.called} {goal}" + (f" --method {self.method}" if self.method != "auto" else "")]
        said += [f"--model {self.model}"] if isinstance(self.model, str) and self.model != "auto" else []
        said += [f"--observer {self.observer}"] if isinstance(self.observer, str) else []
        for name, value in how.settings().items():
            if value != getattr(usual, name):
                words = value if isinstance(value, tuple) else (value,)
                said += [f"--{name.replace('_', '-')} {word}" for word in words]
        said += [f"--seeds {self.seeds}"] if self.seeds != 1 else []
        said += [f"--match-iterations {self.match_iterations:g}"] if self.match_iterations else []
        return " ".join(said + ([f"--seed {self.seed}"] if self.seed else []))

    def next(self, keep: float, own: bool) -> str:
        """The next command: the pruning, or a pilot of the user's own network if a linear student was used."""
        if not own:
            return self.command("--pilot", "plan")
        if keep == 1.0:
            return ""
        reused = self.method == "auto" and self.saved is not None
        return self.command(f"--keep {keep:g}") + (f" --plan {shlex.quote(str(self.saved))}" if reused else "")

    def caveats(self) -> list[str]:
        """What the command line does not cover."""
        if isinstance(self.model, str) and isinstance(self.observer, str | None):
            return []
        return ["The command line cannot express your model: run it from Python with wn.prune."]

    def estimate(self, keep: float, seconds_per_example: float | None, observer: Any = None) -> Resources:
        """What the method will need, with another observer if one is given."""
        return estimate(
            self.source,
            method=self.method,
            model=self.model,
            observer=self.observer if observer is None else observer,
            recipe=self.recipe,
            seeds=self.seeds,
            keep=keep,
            match_iterations=self.match_iterations,
            seconds_per_example=seconds_per_example,
            engine=self.engine,
        )

    def resources(self, keep: float, seconds_per_example: float | None) -> dict[str, Any]:
        """What the method will need, in plain values."""
        found = self.estimate(keep, seconds_per_example)
        plain = {name: value for name, value in vars(found).items() if not name.startswith("_")}
        return {**plain, "sentences": found.sentences()}

    def on_proxy(self, keep: float, usual: float) -> list[str]:
        """What a cheaper observer would cost, if `auto` is asked for and the user has not chosen one."""
        own = self.model.partition(":")[0] if isinstance(self.model, str) else ""
        if self.observer is not None or own == PROXY or self.method != "auto":
            return []
        found = self.estimate(keep, None, PROXY)
        return on_proxy(PROXY, found.seconds_observe + found.seconds_try, usual)
