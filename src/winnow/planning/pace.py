"""How long things take here: a few real batches, passes and choices, timed before anything is trained."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from ..artefacts import Scores, Signals, Source
from ..core import registry
from ..core.seeds import stream
from ..methods.lpntk.signal import tangent_features
from ..pruning.request import Request
from ..scores.score import score
from ..selectors.select import select
from ..signals.embed import embeddings_of
from ..signals.gradients import example_gradients
from ..signals.neighbours import nearest
from ..training import Feed, Recipe, predict, train
from ..training.recorder import Recorder
from .comparison_cost import comparing
from .workload import USUAL, Counts

__all__ = ["Pace", "choosing", "measured"]

TIMED = 0.3  # seconds after which a measurement has seen enough
SLICE, NUMBERS = 1024, 1 << 21  # examples, and numbers in them, that choosing is measured on
PICKS = (4, 68)  # of a selector that looks at everyone for each pick: the difference is what a pick costs
EVERYONE_EACH_PICK, EVERY_PAIR = ("kcenter", "herding"), ("graph",)  # all others grow with the examples


@dataclass(frozen=True)
class Pace:
    """Seconds of one example: in an optimiser step, a look, a gradient of its own, and in being made ready."""

    step: float
    look: float
    gradient: float
    ready: float = 0.0


def measured(item: tuple[Source, torch.nn.Module | None, Recipe, Counts]) -> Pace:
    """The pace of the real network on some real examples."""
    source, network, recipe, counts = item
    if not counts.jobs and not counts.embedded and source.task == "unlabelled":
        return Pace(0.0, 0.0, 0.0)
    positions = np.unique(
        np.linspace(0, len(source) - 1, min(len(source), max(512, 4 * recipe.batch))).astype(np.int64)
    )
    part = source.at(positions)
    start = time.perf_counter()
    feed = Feed(part)
    ready = (time.perf_counter() - start) / len(part)
    again = 0.0 if counts.held else ready  # what is not held is read in every pass
    if source.task == "unlabelled":
        through = torch.nn.Flatten() if network is None else network
        return Pace(0.0, _timed(lambda: embeddings_of(through, feed, recipe, None)) / len(part) + again, 0.0, ready)
    if network is None:
        raise TypeError("a source with labels is trained on, by a network")
    train(network, feed, recipe, 0, steps=1)  # to warm up
    steps, seconds = 1, train(network, feed, recipe, 0, steps=1).seconds
    while seconds < TIMED:
        steps *= 2
        seconds = train(network, feed, recipe, 0, steps=steps).seconds
    step = seconds / steps * recipe.batches(len(part)) / len(part)
    few = Feed(part.at(np.arange(min(len(part), max(16, int(TIMED / step))))), feed.scaling)  # slow networks see fewer
    recorder = Recorder(
        len(few), source.outputs, task="regression" if source.task == "regression" else "classification"
    )
    targets = np.zeros(0) if few.targets is None else few.targets.numpy()

    def look() -> None:
        output = predict(network, few, recipe)
        if counts.dynamics:
            recorder.log(np.arange(len(few)), output, targets)
            recorder.end_epoch()

    dim = USUAL["gradient_dim"] if counts.projected else None
    gradient = _timed(lambda: example_gradients(network, few, recipe, dim, 0)) if counts.gradients else 0.0
    if counts.tangents:
        gradient += _timed(lambda: tangent_features(network, few, USUAL["gradient_dim"], 0))
    return Pace(step + again, _timed(look) / len(few) + again, gradient / len(few) + again, ready)


def _timed(function: Callable[[], object]) -> float:
    """Seconds of a call, after one to warm up."""
    function()
    calls, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < TIMED / 2 or not calls:
        function()
        calls += 1
    return spent / calls


def choosing(source: Source, request: Request, counts: Counts) -> float:
    """Seconds of scoring and selecting, from made-up slices; of what only sorts, nothing to speak of."""
    return comparing(source, request, counts) + (_choosing(source, request, counts) if counts.embedded else 0.0)


def _choosing(source: Source, request: Request, counts: Counts) -> float:
    """Seconds of scoring and selecting by embeddings."""
    signals = _made_up(source, request, counts)
    rows, plan = len(signals), request.plan
    scale = counts.n / rows
    seconds, given = 0.0, None
    if plan.score is not None and registry.get("score", plan.score).needs == {"embeddings"}:
        start = time.perf_counter()
        given = score(plan.score, signals)
        clusters = max(1, len(source.classes)) / max(1, len(signals.classes))  # what k-means grows with besides rows
        seconds = (time.perf_counter() - start) * scale * clusters
    elif plan.score is not None:
        values = stream(0, "estimate", "scores").random(rows)
        given = Scores(plan.score, signals.ids, values, None, source.task, signals.labels, signals.classes)

    def choose_some(size: int) -> float:
        start = time.perf_counter()
        select(plan.selector, given or signals, size=size, signals=signals if given else None, **plan.parameters)
        return time.perf_counter() - start

    groups = max(1, len(source.classes))
    quota = min(counts.kept, groups * math.ceil((request.balance or 0.0) * counts.kept / groups))
    free, rest = counts.n - quota, counts.kept - quota
    if plan.selector in EVERYONE_EACH_PICK:
        choose_some(1)
        few, more = (choose_some(min(size, rows)) for size in PICKS)
        pick = max(0.0, more - few) / max(1, min(PICKS[1], rows) - PICKS[0]) / rows
        return seconds + few * scale + pick * (quota * counts.n / groups + rest * free)
    whole = choose_some(max(1, round(rows * counts.kept / counts.n)))
    if plan.selector not in EVERY_PAIR:
        return seconds + whole * scale
    pairs = _timed(lambda: nearest(signals.embeddings, min(5, rows - 1)))
    every = ((counts.n**2 / groups if quota else 0) + (free**2 if rest else 0)) / rows**2
    return seconds + pairs * every + max(0.0, whole - pairs) * scale


def _made_up(source: Source, request: Request, counts: Counts) -> Signals:
    """Noise in the shape of the real signals, of as many examples as are quickly chosen from."""
    kinds = min(10, len(source.classes), counts.n)
    numbers = counts.dim * max(1, counts.embedded) + counts.recorded // 4
    most = counts.n if request.plan.selector in EVERYONE_EACH_PICK else min(SLICE, counts.n)
    rows = max(min(2 * PICKS[1], counts.n), min(most, NUMBERS // numbers))
    rng = stream(0, "estimate", "signals")
    shapes = {
        "embeddings": (rows, counts.dim),
        "embeddings_again": (rows, counts.dim) if counts.embedded > 1 else (),
        "logits": (1, counts.epochs, rows, kinds) if counts.dynamics and kinds else (),
        "losses": (1, counts.epochs, rows) if counts.dynamics else (),
        "gradients": (1, rows, USUAL["gradient_dim"]) if counts.projected else (),
        "gradient_norms": (1, rows) if counts.gradients else (),
    }
    arrays = {name: rng.random(shape, dtype=np.float32) for name, shape in shapes.items() if shape}
    labels = None if source.labels is None else np.arange(rows) % kinds if kinds else rng.random(rows)
    epochs = tuple(range(1, counts.epochs + 1))
    return Signals(np.arange(rows), arrays, source.task, labels, tuple(map(str, range(kinds))), epochs, counts.epochs)
