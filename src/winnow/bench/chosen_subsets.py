"""The subsets of a benchmark: what each method chooses at a fraction, one draw per seed, and what finding cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from ..artefacts import Scores, Signals, Source, Subset
from ..artefacts.bench_record import LeftOut
from ..core import registry
from ..core.errors import WinnowError
from ..core.files import file_name
from ..core.progress import track
from ..core.request import VerbRequest
from ..core.run import Run
from ..core.step_record import recorded_seconds
from ..models.identity import describe, network_code
from ..pruning.prune import prune
from ..pruning.selector_call import draw_seed
from ..scores.score import score
from ..selectors.select import select
from ..signals.observe import observe
from .entrants import AUTO, BASE, Entrant

__all__ = ["Work", "chosen_subsets"]


@dataclass(frozen=True, eq=False)
class Work:
    """What all parts of one data set share."""

    asked: VerbRequest
    source: Source
    tests: Mapping[str, Source]
    numbers: Sequence[int]
    folder: Path

    def observation(self, want: tuple[str, ...]) -> Path:
        """The run directory of an observation."""
        return self.folder / f"observe-{want[0] if len(want) == 1 else 'base'}"

    def observed(self, want: tuple[str, ...]) -> Signals:
        """The signals of one training; read if they are there."""
        a = self.asked
        where = self.observation(want)
        return observe(self.source, a.model, a.recipe, 1, want, seed=a.seed, out=where, engine=a.engine)

    def observe_seconds(self, entrant: Entrant) -> float:
        """Seconds of the dearest observation that a method needs: one training could record all of it."""
        wants: list[tuple[str, ...]] = [(name,) for name in entrant.dear]
        if len(entrant.dear) < len(entrant.signals):
            wants.append(BASE)
        return max(map(self.seconds, wants), default=0.0)

    def seconds(self, want: tuple[str, ...]) -> float:
        """Seconds of an observation."""
        return recorded_seconds(self.observation(want), "observe")


def chosen_subsets(
    work: Work, found: Sequence[Entrant], signals: Signals, keep: float
) -> tuple[dict[str, list[Subset]], dict[str, dict[str, float]], list[LeftOut]]:
    """The subsets of every method at a fraction, one per seed, what finding cost, and methods that failed."""
    subsets: dict[str, list[Subset]] = {}
    costs: dict[str, dict[str, float]] = {}
    failed: list[LeftOut] = []
    settings = {"command": "benchmark subsets", "keep": keep, "seed": work.asked.seed}
    with Run.opened(work.folder / f"subsets-{keep:g}", settings) as run:
        for entrant in track(found, f"choosing {keep:g}"):
            scored = cache(partial(_scored, entrant, signals))  # all draws of a method share one scoring
            try:
                made = [_subset(work, run, entrant, signals, scored, keep, place) for place in range(len(work.numbers))]
            except WinnowError as error:
                failed.append(LeftOut(work.source.name, entrant.name, str(error)))
                continue
            subsets[entrant.name] = made
            one = run.seconds(f"subset/{file_name(entrant.name)}/0")
            costs[entrant.name] = {"observe": work.observe_seconds(entrant), "select": one}
    return subsets, costs, failed


def _scored(entrant: Entrant, signals: Signals) -> Signals | Scores:
    """What a method's selector is given: scores if it has a score, or the signals themselves."""
    parts = entrant.parts
    if parts is None or parts.score is None:
        return signals
    return score(parts.score, signals, **parts.score_parameters)


def _subset(
    work: Work,
    run: Run,
    entrant: Entrant,
    signals: Signals,
    scored: Callable[[], Signals | Scores],
    keep: float,
    place: int,
) -> Subset:
    """One draw of a method; the same step of the run each time."""
    asked, name = work.asked, f"subset/{file_name(entrant.name)}/{place}"
    seed = draw_seed(asked.seed, place)

    def make() -> Subset:
        if entrant.parts is None:
            return _automatic(work, signals, keep, seed, place)
        parts, given = entrant.parts, scored()
        beside = None if given is signals else signals
        return select(parts.selector, given, keep=keep, seed=seed, signals=beside, **parts.parameters)

    key: list[Any] = [entrant.name, signals.fingerprint, seed]
    if entrant.parts is not None:
        key += registry.codes(("score", entrant.parts.score), ("selector", entrant.parts.selector))
    if entrant.name == AUTO:  # its trials depend on these too
        key += [
            describe(asked.model),
            network_code(asked.model),
            asked.recipe.settings(),
            asked.match_iterations,
            place,
        ]
    return run.step(name, Subset, make, key=key, file=f"{name}.parquet")


def _automatic(work: Work, signals: Signals, keep: float, seed: int, place: int) -> Subset:
    """What `wn.prune` gives: the first draw is tried by its veto, the others follow what was decided."""
    asked = work.asked
    how: dict[str, Any] = {"model": asked.model, "recipe": asked.recipe, "signals": signals, "engine": asked.engine}
    how |= {"match_iterations": asked.match_iterations}
    first = work.folder / f"auto-{keep:g}"
    tried = prune(work.source, keep, seed=asked.seed, out=first, **how)
    if place == 0:
        return tried
    if tried.certificate.get("veto", {}).get("holds", True):
        return prune(work.source, keep, seed=seed, veto=0, **how)
    return prune(work.source, keep, method="random", targets="soft", seed=seed, **how)
