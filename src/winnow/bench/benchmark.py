"""benchmark: every method at several fractions under one protocol, beside everything that is free.

One training is observed; dear signals have an observation of their own, of the same network and seed. Every method then
chooses from what was recorded, and all subsets are retrained by `evaluate` with the same recipe, steps and seeds.
Methods with random draws choose anew for each seed. Every part is a run directory below `out`, so a benchmark that is
killed, or asked for more methods, fractions or seeds, does only what is missing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from ..artefacts import Signals, Study, Subset
from ..artefacts.bench_record import BenchCell, BenchOutcome, BenchRecord, LeftOut
from ..core import checks
from ..core.errors import InputError
from ..core.files import file_name
from ..core.parameter_names import of
from ..core.progress import track
from ..core.request import Parameter, Retrainings, RunDirectory, Seed, flag, number, request
from ..core.run import Run
from ..core.seeds import several
from ..engines.named import Where
from ..evaluation.evaluate import Metric, evaluate, network_of
from ..evaluation.test_sets import exams, trainable
from ..models.identity import Network, describe
from ..pruning.candidate import targets_for
from ..pruning.prune import HELD_OUT
from ..selectors.select import select
from ..sources.holdout import hold_out
from ..sources.openable import Data, TestData, test_sets
from ..training.recipe import How, MatchIterations
from .budget import expected_seconds, fitting
from .chosen_subsets import Work, chosen_subsets
from .entrants import BASE, Entrant, entrants, observations
from .study_cells import cells_of, once, outcomes_of

__all__ = ["KEEPS", "benchmark"]

KEEPS = (0.5, 0.3, 0.1)
FREE_ARMS = 4  # random, everything, repeated random and dynamic sampling, at every fraction


def _fractions(name: str, owner: str, value: Any) -> tuple[float, ...]:
    given = [value] if isinstance(value, int | float) else list(value)
    if not given:
        raise InputError(f"{of(name, owner)} must name at least one fraction.")
    found = {checks.number(name, owner, one, low=0, high=1, open_low=True, open_high=True) for one in given}
    return tuple(sorted(found, reverse=True))


def _names(name: str, owner: str, value: Any) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else list(value)
    if not given:
        raise InputError(f"{of(name, owner)} must name at least one method, or be left out for all.")
    return tuple(given)


Keeps = Annotated[
    float | Sequence[float] | None,
    Parameter(
        "Fraction to keep; may be given several times; 0.5, 0.3 and 0.1 if not given.",
        _fractions,
        option="keep",
        kind=list[float] | None,
        usual=lambda: KEEPS,
    ),
]
Methods = Annotated[
    str | Sequence[str] | None,
    Parameter(
        "A score, a selector, score+selector or auto; may be given several times; all registered methods, your own "
        "included, if not given.",
        _names,
        option="method",
        kind=list[str] | None,
    ),
]
Hours = Annotated[
    float | None,
    number("Time budget in hours; methods that do not fit are left out and listed.", low=0, open_low=True),
]
LabelsOnly = Annotated[bool, flag("Train on labels only, not a second time with soft targets.")]


def benchmark(
    source: Data,
    keeps: Keeps = None,
    *,
    methods: Methods = None,
    test: TestData = None,
    model: Network = "auto",
    recipe: How = None,
    seeds: Retrainings = 3,
    match_iterations: MatchIterations = 0.5,
    labels_only: LabelsOnly = False,
    metric: Metric = None,
    budget: Hours = None,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    **opening: Any,
) -> BenchRecord:
    """Compare every method with every other, and with what is free, under one protocol.

    Parameters
    ----------
    source
        The training data: a Source, or anything that `wn.open` takes.
    keeps
        The fractions to keep.
    methods
        Names as `wn.prune` takes them: a score (keep the hardest), a selector, `score+selector`, or `auto`. If not
        given, `auto` and every registered selector and score that is defined for the data.
    test
        The test data; if not given, the own test split of data named by text or path, or else a fifth of the source,
        which is then held out. Test data choose nothing.
    model, recipe
        The network and how to train it, for observing and retraining alike.
    seeds
        The number of trainings per arm, or their seeds.
    match_iterations
        0 trains every arm for the same epochs, 1 for the same number of optimiser steps as everything in full.
    labels_only
        Whether to train on labels only. If not, every arm is trained a second time with soft targets from the observed
        training.
    metric
        What is compared; accuracy (R2 for regression) if not given.
    budget
        Hours that may be spent. What is free is always trained; methods follow in their order until the rest of the
        budget is used, by what a step took in the observed training. The record lists what was left out.
    seed
        Seed of everything random, together with `seeds`.
    out
        A directory for one or several data sets. Each gets a folder of its own, and `out`/record joins all that are
        there.
    engine
        Where trainings run.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    BenchRecord
        Of this data set; `out`/record holds that of all data sets in `out`.

    Raises
    ------
    InputError
        If an argument is out of range, or a method is unknown.
    NotDefinedError
        If the data have no labels and no regression target.

    Examples
    --------
    >>> import winnow as wn
    >>> record = wn.benchmark("digits", 0.3, methods=["el2n", "kcenter"], seeds=2, limit=120,
    ...                       recipe=wn.Recipe(epochs=1), engine=wn.Local(workers=1))
    >>> [cell.name for cell in record.cells if not cell.free]
    ['el2n', 'kcenter', 'el2n + soft', 'kcenter + soft']
    """
    asked = request(benchmark, locals())
    whole = trainable("benchmark", asked.source)
    given = test_sets(asked)
    if given is None:
        train, held = hold_out(whole, HELD_OUT, asked.seed, ("benchmark", "held out"))
        given = held
    else:
        train = whole
    tests = exams("benchmark", train, given)
    numbers = several("benchmark", asked.seeds)
    found, left = entrants(train, asked.methods, asked.model)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if out is None else _path(out)
        folder = place / file_name(train.name)
        protocol = {**asked.settings(), "model": describe(network_of(train, asked.model)), "seeds": list(numbers)}
        work = Work(asked, train, tests, numbers, folder)
        record = _run(work, found, left, protocol)
        record.save(folder / "record")
        if out is not None:
            joined(place).save(place / "record")
    return record


def joined(place: Path) -> BenchRecord:
    """The records of all data sets below a directory, as one."""
    found = sorted(path.parent for path in place.glob("*/record/bench.json"))
    return BenchRecord.join([BenchRecord.load(path) for path in found])


def _run(work: Work, found: list[Entrant], left: list[LeftOut], protocol: Mapping[str, Any]) -> BenchRecord:
    asked, source = work.asked, work.source
    signals: Signals | None = None
    for want in track(observations(found), "observing"):
        seen = work.observed(want)
        signals = seen if signals is None else signals.merge(seen)
    assert signals is not None
    spent = sum(map(work.seconds, observations(found)))
    sizes = {keep: checks.size_from("benchmark", len(source), keep) for keep in asked.keeps}
    steps = {
        keep: asked.recipe.matched_steps(size, len(source), asked.match_iterations) for keep, size in sizes.items()
    }
    full = asked.recipe.steps(len(source))
    per_step = work.seconds(BASE) / max(1, full)
    each = expected_seconds(steps, len(work.numbers), not asked.labels_only, per_step, _workers(asked.engine))
    free = FREE_ARMS * each + full * len(work.numbers) * per_step / _workers(asked.engine)
    fit, late = fitting(found, source.name, asked.budget, spent, free, each)
    cells: list[BenchCell] = []
    outcomes: list[BenchOutcome] = []
    failed: list[LeftOut] = []
    for keep in asked.keeps:
        subsets, costs, broken = chosen_subsets(work, fit, signals, keep)
        failed += broken
        study = _retrained(work, subsets, costs, signals, keep)
        cells += cells_of(study, source.name, keep, subsets, work.seconds(BASE))
        outcomes += outcomes_of(study, source.name, keep)
    unique = {(row.method, row.why): row for row in [*left, *late, *failed]}
    return BenchRecord(
        cells=tuple(once(cells)),
        outcomes=tuple(dict.fromkeys(outcomes)),
        left_out=tuple(unique.values()),
        protocol={source.name: dict(protocol)},
        provenance={source.name: source.provenance},
    )


def _retrained(
    work: Work,
    subsets: Mapping[str, list[Subset]],
    costs: Mapping[str, Mapping[str, float]],
    signals: Signals,
    keep: float,
) -> Study:
    asked = work.asked
    given: dict[str, Any] = dict(subsets)
    if not given:  # what is free needs a size to be trained at
        bare = select("random", signals, keep=keep, seed=asked.seed)
        given = {"one draw": bare}
    targets = None
    if not asked.labels_only:  # they cost the observation that all methods share, not that of the dearest method
        targets = replace(targets_for(work.source, signals, keep), prior_seconds=work.seconds(BASE))
    return evaluate(
        work.source,
        given,
        test=dict(work.tests),
        model=asked.model,
        recipe=asked.recipe,
        seeds=list(work.numbers),
        match_iterations=asked.match_iterations,
        metric=asked.metric,
        soft=targets,
        repeated=True,
        dynamic=True,
        seed=asked.seed,
        out=work.folder / f"evaluate-{keep:g}",
        engine=asked.engine,
        costs={name: cost for name, cost in costs.items() if name in given},
    )


def _workers(engine: Any) -> int:
    import os

    given = getattr(engine, "workers", None)
    return int(given) if given else os.cpu_count() or 1


def _path(out: Any) -> Path:
    if isinstance(out, Run):
        raise InputError("out of benchmark must be a directory for several data sets, not an open run.")
    return Path(out)
