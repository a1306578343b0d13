"""The next step after a plan: the method, its cost, and the command to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..artefacts import Source
from ..engines import Engine
from ..training.recipe import Recipe
from .resources import estimate

__all__ = ["Options"]


@dataclass(frozen=True, eq=False)
class Options:
    """What the method, its cost and its command line depend on."""

    source: Source
    method: str
    model: Any
    recipe: Recipe
    seeds: int
    match_iterations: float
    called: str
    seed: int
    engine: Engine | None

    def chosen(self, policy: str) -> tuple[str, str]:
        """The method for a policy, and its option on the command line.

        `auto` stands for the hard and for the medium: it does not keep them alone, which can ruin a data set, and tries
        its choice against random subsets.
        """
        if self.method != "auto":
            return self.method, ""
        return {"random": ("random", ""), "easy": ("aum+rank", " --set policy=easy")}.get(policy, ("auto", ""))

    def command(self, goal: str, method: str, extra: str = "", start: str = "prune") -> str:
        """The command to run, with only the options that differ from the defaults."""
        usual, how = Recipe(), self.recipe
        said = [f"winnow {start} {self.called} {goal}" + (f" --method {method}{extra}" if method != "auto" else "")]
        said += [f"--model {self.model}"] if isinstance(self.model, str) and self.model != "auto" else []
        for name, value in how.settings().items():
            if value != getattr(usual, name):
                words = value if isinstance(value, tuple) else (value,)
                said += [f"--{name.replace('_', '-')} {word}" for word in words]
        said += [f"--seeds {self.seeds}"] if self.seeds != 1 else []
        said += [f"--match-iterations {self.match_iterations:g}"] if self.match_iterations else []
        return " ".join(said + ([f"--seed {self.seed}"] if self.seed else []))

    def next(self, policy: str, keep: float, method: str, extra: str, own: bool) -> str:
        """The next command: the pruning, or a pilot of the user's own network if a linear student was used."""
        if not own:
            return self.command("--pilot", self.method, start="plan")
        return "" if policy == "everything" else self.command(f"--keep {keep:g}", method, extra)

    def caveats(self, policy: str) -> list[str]:
        """What the forecast or the command line does not cover."""
        said = []
        if self.method not in ("auto", "random") and policy != "everything":
            said.append(
                f"The forecast is for that policy, not for {self.method}, which may keep other examples: only the cost "
                f"of {self.method} is estimated."
            )
        if self.method == "auto" and policy in ("hard", "window"):
            said.append(
                "The forecast is for that policy; pruning with auto keeps other examples too, and tries its choice "
                "against random subsets first."
            )
        if not isinstance(self.model, str) and policy != "everything":
            said.append("The command line cannot express your model: run it from Python with wn.prune.")
        return said

    def resources(self, method: str, keep: float, seconds_per_example: float | None) -> dict[str, Any]:
        """What the method will need, in plain values."""
        found = estimate(
            self.source,
            method=method,
            model=self.model,
            recipe=self.recipe,
            seeds=self.seeds,
            keep=keep,
            match_iterations=self.match_iterations,
            seconds_per_example=seconds_per_example,
            engine=self.engine,
        )
        plain = {name: value for name, value in vars(found).items() if not name.startswith("_")}
        return {**plain, "sentences": found.sentences()}
