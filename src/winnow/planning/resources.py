"""estimate: the time, memory and disk that pruning will need, before anything is trained.

Trainings and passes over the data are counted as `signals.observing` makes them; each costs its number of examples
times the measured seconds per example. With n examples and E epochs, let p be the seconds per example in an optimiser
step, l in a pass without gradients, g in a per-example gradient, and r in reading and scaling:

    watched training         n (r + E p + E l if outputs are recorded + g if gradients are + l if embeddings are)
    network without labels   the seconds of its fixed number of steps, for images without labels and without a network
    ensemble member          n ((1 + m) r + m E p + l), trained on a share m of the examples and evaluated on all
    training to prove        steps x (examples / batches) x p; those of the veto of `auto` too, on a part of the data

Parallel jobs take ceil(jobs / workers) rounds. The break-even point follows the ledger, which counts the seconds of
every job, parallel or not. Memory is that of the largest stage, including the copies that the code makes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..artefacts import Source
from ..core import checks, registry
from ..core.errors import InputError
from ..core.request import requested
from ..core.units import bytes_text, seconds_text
from ..engines import Engine, Local, Needs, engine_of
from ..engines.named import describe as describe_engine
from ..pruning.prune import prune
from ..pruning.resolved_request import request_of
from ..signals.gradients import CHUNK_NUMBERS
from ..training import Recipe
from ..training.recipe import recipe_of
from .comparison_cost import Half, halves_of
from .pace import Pace, choosing, measured, trying, waited
from .pretraining_cost import PretrainingCost, pretraining_cost
from .run_files import file_bytes
from .workload import INSIDE, Counts, counts_of, network_of

__all__ = ["Resources", "estimate"]

OWNER = "estimate"
LOOK, GRADIENT = 1 / 3, 3.0  # of an optimiser step, if its seconds are given and nothing is measured
TORCH, WORKER = 850 << 20, 400 << 20  # bytes of a process after start-up; of a worker, which shares libraries
TIMED = Needs(network=True)
LIGHTLY = 150 << 20  # bytes of the library for training without labels, with what it imports
BLOCKS = 128 << 20  # bytes of the blocks of a kernel and of temporaries


@dataclass(frozen=True)
class Resources:
    """The resources needed to find a subset and to train on it.

    Parameters
    ----------
    method, examples, kept
        The method (`auto` resolved to a name), the number of examples and the number kept.
    trainings, workers
        Trainings needed to observe, and worker processes.
    seconds_per_example
        Seconds per example in one optimiser step, measured or given; NaN if nothing is trained.
    seconds_observe
        Seconds to observe, from start to end, with parallel workers.
    seconds_select
        Seconds to score and select; 0 for methods that only sort.
    tried, seconds_try
        Short trainings that try the candidate of `auto`, and their seconds from start to end; 0 for other methods.
    seconds_train_full, seconds_train_subset
        Seconds of one training on the full data and on the subset; NaN without labels.
    pays_after
        After how many trainings on the subset selection pays off; None if never.
    memory_bytes
        Peak memory: that of the largest stage, all processes together.
    disk_bytes
        Size of the run directory of `prune`.
    pretrained
        The network that is trained without labels before anything else, in words; empty if there is none.
    parts
        Table rows of name and amount; names start with `time` (seconds), `memory` or `disk` (bytes).
    """

    method: str
    examples: int
    kept: int
    trainings: int
    workers: int
    seconds_per_example: float
    seconds_observe: float
    seconds_select: float
    tried: int
    seconds_try: float
    seconds_train_full: float
    seconds_train_subset: float
    pays_after: int | None
    memory_bytes: int
    disk_bytes: int
    parts: tuple[tuple[str, float], ...]
    pretrained: str = ""

    def sentences(self) -> list[str]:
        """The same in sentences."""
        find = f"Finding {self.kept:,} of {self.examples:,} examples with {self.method} "
        if self.trainings:
            many = "1 training" if self.trainings == 1 else f"{self.trainings} trainings"
            side = f", {self.workers} at a time" if self.workers > 1 else ""
            find += f"takes {many}{side}: about {seconds_text(self.seconds_observe)}"
        elif self.pretrained:
            find += f"needs {self.pretrained}: about {seconds_text(self.seconds_observe)}"
        else:
            find += f"needs no training: about {seconds_text(self.seconds_observe)} to process them"
        chosen = f" and {seconds_text(self.seconds_select)} to select." if self.seconds_select else "."
        out = [find + chosen]
        if self.tried:
            many = f"{self.tried} short trainings: about {seconds_text(self.seconds_try)}"
            out.append(f"Trying them against random subsets takes {many}.")
        if math.isnan(self.seconds_train_full):
            out.append("Without labels, no training can measure the value of the subset.")
        else:
            full, less = seconds_text(self.seconds_train_full), seconds_text(self.seconds_train_subset)
            out.append(f"One training then takes about {less} instead of {full}.")
            after = self.pays_after
            out.append(
                "Selection never pays off."
                if after is None
                else f"Selection pays off after {after:,} training{'' if after == 1 else 's'}."
            )
        out.append(f"Peak memory: about {bytes_text(self.memory_bytes)}.")
        out.append(f"Disk: about {bytes_text(self.disk_bytes)} in the run directory.")
        return out


def estimate(
    source: Source,
    *,
    method: str,
    model: Any = "auto",
    observer: Any = None,
    recipe: Recipe | None = None,
    seeds: int = 1,
    keep: float,
    match_iterations: float = 0.0,
    seconds_per_example: float | None = None,
    engine: Engine | None = None,
) -> Resources:
    """Estimate the time, memory and disk needed to find a subset and to train on it.

    It trains only a few batches, for a couple of seconds, to time them.

    Parameters
    ----------
    source, method, model, observer, recipe, seeds, keep, engine
        As for `prune`, with its default balance.
    match_iterations
        How steps are matched in the training on the subset, as for `evaluate`, and in those of the veto.
    seconds_per_example
        Seconds per example in one optimiser step; measured if not given. If given, a pass without gradients counts as a
        third of it, a per-example gradient as three times it, and reading as nothing; selectors are still timed.
    """
    if not isinstance(source, Source):
        raise InputError(f"source of {OWNER} must be a Source (open it with wn.open); got {type(source).__name__}.")
    kept = checks.size_from(OWNER, len(source), checks.fraction("keep", OWNER, keep))
    checks.integer("seeds", OWNER, seeds, low=1)
    factor = checks.number("match_iterations", OWNER, match_iterations, low=0, high=1)
    how, runner = recipe_of(OWNER, recipe), engine_of(OWNER, engine)
    if seconds_per_example is not None:
        checks.number("seconds_per_example", OWNER, seconds_per_example, low=0, open_low=True)
    request = request_of(
        requested(
            prune,
            source,
            keep,
            method=method,
            model=model,
            observer=observer,
            recipe=how,
            seeds=seeds,
            match_iterations=factor,
        )
    )
    here = Local(workers=1, threads=describe_engine(runner)["threads"])
    spot = None
    if "embeddings" in request.needs and source.task == "unlabelled":
        spot = next(here.map(pretraining_cost, [(source, request.observer)], needs=TIMED))[1]
    network = network_of(source, request.observer) if spot is None else spot.backbone
    counts = counts_of(source, request, network, kept, runner)

    def timed(through: Any) -> Pace:
        found: Pace = next(here.map(measured, [(source, through, how, counts)], needs=TIMED))[1]
        return found

    if seconds_per_example is None or observer is not None:
        pace = timed(network)
    else:
        given = seconds_per_example
        look = 0.0 if network is None else LOOK * given
        once = counts.at("epoch", "trained", "data")
        pace = Pace(given, look, {e.name: GRADIENT * given if e.cost_of({}).time == "gradient" else look for e in once})
    step = pace.step  # of the network that is trained in the end, if another one observes
    if observer is not None and source.task != "unlabelled":
        step = timed(network_of(source, model)).step if seconds_per_example is None else seconds_per_example
    work, wall = _observing(counts, pace)
    if spot is not None:
        work, wall = {"training without labels": spot.seconds, **work}, wall + spot.seconds
    tried, tries, seconds_try = trying(request, counts, pace, runner)
    select_seconds = choosing(source, request, counts)
    full, less = (math.nan, math.nan) if source.task == "unlabelled" else _trainings(counts, how, factor, step)
    memory, disk = _memory(counts, halves_of(request, source.task)), file_bytes(source, request, counts, tried)
    if spot is not None:
        memory["training without labels"] = _pretraining(counts, spot)
        disk["networks"] += spot.disk
    spent, saved = sum(work.values()) + select_seconds + tries, full - less
    times = {
        **{f"{name}, all jobs": seconds for name, seconds in work.items()},
        "observe": wall,
        "select": select_seconds,
        "try": seconds_try,
    }
    times |= {"train on everything": full, "train on the subset": less}
    return Resources(
        request.method.name,
        len(source),
        kept,
        counts.watched + counts.members,
        counts.workers,
        math.nan if source.task == "unlabelled" else step,
        wall,
        select_seconds,
        tried,
        seconds_try,
        full,
        less,
        max(1, math.ceil(spent / saved)) if saved > 0 else None,
        round(max(memory.values())),
        round(sum(disk.values())),
        tuple(
            (f"{kind}: {name}", amount)
            for kind, rows in (("time", times), ("memory", memory), ("disk", disk))
            for name, amount in rows.items()
        ),
        "" if spot is None else spot.said,
    )


def _observing(counts: Counts, pace: Pace) -> tuple[dict[str, float], float]:
    """Seconds of all jobs by what they do, and seconds from start to end."""
    n = counts.n
    seeds = {
        "making ready": counts.passes * n * pace.ready,
        "training": counts.watched * counts.epochs * n * pace.step,
        "recording": counts.watched * counts.epochs * n * pace.look if counts.dynamics else 0.0,
        **_signals(counts, pace),
    }
    member = n * ((1 + INSIDE) * pace.ready + INSIDE * counts.epochs * pace.step + pace.look)
    work = {**seeds, "ensemble": counts.members * member}
    beside = 0.0
    for jobs, seconds in ((counts.watched or 1, sum(seeds.values())), (counts.members or 1, work["ensemble"])):
        beside += math.ceil(jobs / counts.workers) * seconds / jobs
    return {name: seconds for name, seconds in work.items() if seconds}, waited(sum(work.values()), beside)


def _signals(counts: Counts, pace: Pace) -> dict[str, float]:
    """Seconds of the signals that are computed once per training, or once, all jobs."""
    found: dict[str, float] = {}
    for entry in counts.at("epoch", "trained", "data"):
        times = 1 if entry.when == "data" else counts.watched if entry.stacked else counts.embedded
        row = "gradients" if entry.cost_of({}).time == "gradient" else entry.name
        found[row] = found.get(row, 0.0) + times * counts.n * pace.signals[entry.name]
    return found


def _trainings(counts: Counts, recipe: Recipe, factor: float, step: float) -> tuple[float, float]:
    steps = recipe.matched_steps(counts.kept, counts.n, factor)
    return recipe.epochs * counts.n * step, steps * counts.kept / recipe.batches(counts.kept) * step


def _memory(counts: Counts, halves: list[Half]) -> dict[str, float]:
    """Bytes of each stage, all processes together; what the caller holds already is not counted."""
    n, many = counts.n, counts.workers > 1
    names = n * (counts.name + counts.label)
    size = max(1, counts.parameters)
    rows = max(1, min(256, CHUNK_NUMBERS // size))
    gradients = 12 * (rows * (size + counts.activations) + size) if counts.gradients else 0
    network = 16 * size + 8 * counts.batch * counts.activations  # weights, gradients, two moments; a batch both ways
    feeds = counts.held * (2 * INSIDE + 1 if counts.members else 1)
    job = feeds + n * (2.25 * counts.recorded + counts.under_way) + max(network, gradients) + 6 * names
    copies = sum(half.cost.memory * _read(counts, half) for half in halves)
    copies += BLOCKS if any(half.cost.pairs for half in halves) else 0
    idle = TORCH + counts.workers * WORKER if many else TORCH
    return {
        "observing": idle + counts.held * (2 if many else 1) + counts.signals + counts.workers * job,
        "joining seeds": idle + counts.held + 3 * counts.signals + 6 * names,
        "scoring and selecting": idle + 4 * counts.signals + 8 * names + copies,
    }


def _pretraining(counts: Counts, spot: PretrainingCost) -> float:
    """Bytes of training a network without labels: its libraries, the images, its state, and a step both ways."""
    return TORCH + LIGHTLY + counts.held + 2 * spot.disk + 8 * spot.images * counts.activations


def _read(counts: Counts, half: Half) -> int:
    """Bytes of the arrays that a score or selector reads."""
    layouts = [registry.layout_of(name) for name in half.method.needs - {"scores"}]
    many = {"seeds": counts.watched, "models": counts.members}
    times = (many[str(layout.axes[0])] if layout.stacked else 1 for layout in layouts)
    return counts.n * sum(layout.bytes(counts.sizes) * k for layout, k in zip(layouts, times, strict=True))
