"""The speed of this machine: a few real batches, passes and selections, timed before anything is trained."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

from ..artefacts import Source
from ..core import checks, registry
from ..engines import Engine
from ..engines.local import START
from ..pruning.resolved_request import Request
from ..pruning.veto import extent
from ..signals.observation import Look, Observation
from ..training import Feed, Recipe, predict, train
from ..training.recorder import Recorder
from .comparison_cost import Half, comparing, halves_of
from .workload import USUAL, Counts, workers_of

__all__ = ["START", "Pace", "choosing", "measured", "trying", "waited"]

TIMED = 0.3  # seconds after which a measurement is long enough
SLICE, NUMBERS = 1024, 1 << 21  # examples, and numbers in them, used to time selection
PICKS = (4, 68)  # for a selector that looks at all examples for each pick: the difference is the cost of picks


@dataclass(frozen=True)
class Pace:
    """Seconds per example: of an optimiser step, a pass, each signal computed once, and of reading and scaling."""

    step: float
    look: float
    signals: Mapping[str, float] = field(default_factory=dict)
    ready: float = 0.0


def measured(item: tuple[Source, torch.nn.Module | None, Recipe, Counts]) -> Pace:
    """Time the real network on some real examples."""
    source, network, recipe, counts = item
    if not counts.jobs and not counts.entries and source.task == "unlabelled":
        return Pace(0.0, 0.0)
    positions = np.unique(
        np.linspace(0, len(source) - 1, min(len(source), max(512, 4 * recipe.batch))).astype(np.int64)
    )
    part = source.at(positions)
    start = time.perf_counter()
    feed = Feed(part)
    ready = (time.perf_counter() - start) / len(part)
    again = 0.0 if counts.held else ready  # examples not held in memory are read in every pass
    if source.task == "unlabelled":
        through = torch.nn.Flatten() if network is None else network
        return Pace(0.0, 0.0, _of_signals(through, feed, recipe, counts, again), ready)
    if network is None:
        raise TypeError("a source with labels is trained on, by a network")
    train(network, feed, recipe, 0, steps=1)  # to warm up
    steps, seconds = 1, train(network, feed, recipe, 0, steps=1).seconds
    while seconds < TIMED:
        steps *= 2
        seconds = train(network, feed, recipe, 0, steps=steps).seconds
    step = seconds / steps * recipe.batches(len(part)) / len(part)
    few = Feed(part.at(np.arange(min(len(part), max(16, int(TIMED / step))))), feed.scaling)  # slow networks see fewer
    look = _look(network, few, recipe, counts.dynamics)
    return Pace(step + again, look + again, _of_signals(network, few, recipe, counts, again), ready)


def _look(network: torch.nn.Module, few: Feed, recipe: Recipe, recorded: bool) -> float:
    """Seconds per example of a pass without gradients, with or without recording."""
    source = few.source
    recorder = Recorder(len(few), source.outputs, task="classification" if source.task == "unlabelled" else source.task)
    targets = np.zeros(0) if few.targets is None else few.targets.numpy()

    def look() -> None:
        output = predict(network, few, recipe)
        if recorded:
            recorder.log(np.arange(len(few)), output, targets)
            recorder.end_epoch()

    return _timed(look) / len(few)


def _of_signals(network: torch.nn.Module, feed: Feed, recipe: Recipe, counts: Counts, again: float) -> dict[str, float]:
    """Seconds per example of each signal that is computed once per training."""
    names = tuple(entry.name for entry in counts.entries)
    what = Observation(network, recipe, names, "eval", 1, USUAL["gradient_dim"], USUAL["ensemble"], None, 0)
    look = Look(feed, what, network)

    def seconds(entry: registry.Signal) -> float:
        return _timed(lambda: entry.function(look)) / len(feed) + again

    return {entry.name: seconds(entry) for entry in counts.at("epoch", "trained", "data")}


def _timed(function: Callable[[], object]) -> float:
    """Seconds of a call, after a warm-up call."""
    function()
    calls, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < TIMED / 2 or not calls:
        function()
        calls += 1
    return spent / calls


def choosing(source: Source, request: Request, counts: Counts) -> float:
    """Seconds of scoring and selecting, timed on synthetic samples; about 0 for methods that only sort."""
    linear = [half for half in halves_of(request, source.task) if half.cost.time in ("n", "n classes", "n kept")]
    return comparing(source, request, counts) + sum(_growing(source, half, counts) for half in linear)


def trying(request: Request, counts: Counts, pace: Pace, engine: Engine) -> tuple[int, float, float]:
    """Trainings of the veto, their seconds in all jobs, and from start to end; zeros if nothing is tried."""
    if request.pairs == 0:
        return 0, 0.0, 0.0
    share, pairs, recipe = extent(
        counts.n, request.keep or 0.5, request.match_iterations, request.pairs, request.recipe
    )
    held = round(share * counts.n)
    rest = counts.n - held
    kept = checks.size_from("prune", rest, request.keep)
    steps = recipe.matched_steps(kept, rest, request.match_iterations)
    one = steps * kept / recipe.batches(kept) * pace.step + held * pace.look + (kept + held) * pace.ready
    workers = workers_of(engine, 2)  # a pair is two jobs, and pairs come one after another
    return 2 * pairs, 2 * pairs * one, waited(2 * pairs * one, pairs * math.ceil(2 / workers) * one)


def waited(here: float, beside: float) -> float:
    """Seconds from start to end of jobs that take so long one after another, or beside each other in workers.

    An engine starts its workers once, and only if that is quicker.
    """
    return min(here, START + beside) if beside < here else here


def _growing(source: Source, half: Half, counts: Counts) -> float:
    """Seconds of a half whose time grows with the number of examples."""
    kinds = min(10, len(source.classes), counts.n)
    picks = half.cost.time == "n kept"
    layouts = [registry.layout_of(name) for name in half.method.needs - {"scores"}]
    numbers = max(1, sum(layout.bytes(counts.sizes) for layout in layouts) // 4)
    rows = max(min(2 * PICKS[1], counts.n), min(counts.n if picks else min(SLICE, counts.n), NUMBERS // numbers))
    signals, scale = half.slice(counts, rows, kinds), counts.n / rows
    if not picks:
        growth = max(1, len(source.classes)) / max(1, kinds) if half.cost.time == "n classes" else 1.0
        return half.seconds(signals, max(1, round(rows * counts.kept / counts.n))) * scale * growth
    groups = max(1, len(source.classes))
    quota = min(counts.kept, groups * math.ceil((half.balance or 0.0) * counts.kept / groups))
    free, rest = counts.n - quota, counts.kept - quota
    half.seconds(signals, 1)  # to warm up
    few, more = (half.seconds(signals, min(size, rows)) for size in PICKS)
    pick = max(0.0, more - few) / max(1, min(PICKS[1], rows) - PICKS[0]) / rows
    return few * scale + pick * (quota * counts.n / groups + rest * free)
