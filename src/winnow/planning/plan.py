"""plan: before any long training, how far to prune, what accuracy to expect, and what it costs.

    a pilot on part of the training data -> a learning curve of random parts -> checked on a held-out pilot point
    pilot subsets chosen as `prune` would, really trained -> what they gain over random -> forecast and advice

What the perceptron theory says of rankings is a remark: it was far off where it was compared with trainings.
"""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from ..artefacts import Signals, Source, record
from ..artefacts.plan import Plan
from ..artefacts.source import positions_of
from ..core import checks
from ..core.errors import InputError
from ..core.parameter_names import argument, of, word
from ..core.request import Observations, Parameter, RunDirectory, Seed, flag, number, whole
from ..core.request import request as ask
from ..core.run import Run
from ..core.seeds import several
from ..engines import Local
from ..engines.named import Where
from ..evaluation.evaluate import network_of
from ..evaluation.test_sets import trainable
from ..models.identity import Network
from ..pruning.auto import automatic
from ..pruning.prune import HELD_OUT
from ..pruning.prune_parameters import MethodName, Observer
from ..selectors.method_string import parse_method
from ..sources.openable import Data
from ..training.recipe import How, MatchIterations
from .next_command import Options
from .pilot import Pilot, parts, run_pilot
from .pilot_arms import pool_arms
from .pilot_gains import gains_of, pilot_arms_of
from .pilot_students import NetworkStudent, Student, labels_of, linear
from .recommendation import advice_of, calibration_of, forecasts_of, how_far, pilot_of
from .remarks import on_seeds, on_theory
from .verdict import check_of, considering, forecaster, judge

__all__ = ["plan"]

OWNER = "plan"
HALF = 0.5  # kept if nothing can be forecast
SMALLEST = 200  # examples in a pool: an eighth of fewer is useless
QUICK_POOL, PILOT_POOL, HELD = 4000, 5000, 2000  # at most
SHARE = 4  # the pool of the user's network and the held-out part are each at most 1 / SHARE of the data


def _text(name: str, owner: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{of(name, owner)} must be a text; got {value!r}.")
    return value


def plan(
    source: Data,
    *,
    pilot: Annotated[bool, flag("Train your own network on small parts of the data, instead of a linear one.")] = False,
    pilot_size: Annotated[
        int | None, Parameter("Examples for the pilot; if not given, a quarter of the data, at most 5,000.")
    ] = None,
    pilot_seeds: Annotated[int, whole("Number of trainings per part.", low=2)] = 3,
    tolerance: Annotated[
        float, number("How much accuracy may be lost.", low=0, high=1, open_low=True, open_high=True)
    ] = 0.01,
    method: MethodName = "auto",
    model: Network = "auto",
    observer: Observer = None,
    recipe: How = None,
    seeds: Observations = 1,
    match_iterations: MatchIterations = 0.0,
    embeddings: Signals | ArrayLike | None = None,
    called: Annotated[str | None, Parameter("", _text, plain=None, option=None)] = None,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    **opening: Any,
) -> Plan:
    """Forecast the effect of pruning before doing it.

    A pilot of your network is trained on random parts of a pool, which give a learning curve, and on parts chosen as
    `prune` would choose them, which show what choosing and soft targets gain. The forecast at full size is that of
    random plus this gain. It is an estimate: `trust`, `reasons` and `checks` of the result say how well the curve
    forecast a pilot point that it had not seen. It covers classification only; for other tasks the plan has resources
    and a method.

    Parameters
    ----------
    source
        The training data: a Source, or anything that `wn.open` takes. Test data is never opened.
    pilot
        Whether the pilot trains your own network; otherwise a linear student is trained on random parts, which takes
        seconds and says nothing about chosen subsets.
    pilot_size
        Examples in the pilot's pool; a quarter of the data, at most 5,000, if not given.
    pilot_seeds
        Samples and trainings of each part of the pool, random or chosen.
    tolerance
        Accuracy that may be lost, against everything. A fraction is advised only if the whole interval of its loss is
        within it.
    method
        The method that the plan is about, as for `prune`. With one other than `auto` or `random`, the pilot trains on
        its choices too.
    model, observer, recipe, seeds, match_iterations
        The network, a cheaper one to observe with, the training, the number of observed seeds and how steps are
        matched, as for `prune` and its proof.
        A pilot training costs `match_iterations` of a training on the full data, plus its size's share of the rest.
    embeddings
        Input of the linear student instead of the examples: Signals with embeddings, or rows in the source's order.
    called
        The name of the data in the suggested command; the source's name if not given.
    seed
        Decides everything random.
    out
        A run directory, which stores every pilot training, `plan.json` and `plan.png`. `prune` takes it as `plan=`.
    engine
        Where trainings run.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Plan
        How far to prune, the accuracy to expect, what it costs, how far to trust it, and the command to type next.
        Printed, it is text to read.

    Raises
    ------
    InputError
        If a parameter is not what is allowed, or the data are too few for a pilot.
    NotDefinedError
        If there is nothing to train on.

    Examples
    --------
    >>> import numpy as np, winnow as wn
    >>> rows = np.arange(120.0).reshape(60, 2)
    >>> made = wn.plan((rows, rows[:, 0] / 3), recipe=wn.Recipe(epochs=1))
    >>> made.method, made.policy  # a regression target: a method and resources, no forecast
    ('auto', None)
    """
    request = ask(plan, locals())
    source, how = request.source, request.recipe
    if pilot_size is not None and not pilot:
        raise InputError(
            f"{of('pilot_size', OWNER)} is for {argument('pilot', OWNER, True)}; got {pilot_size!r} without it."
        )
    if method != "auto":
        parse_method(method)
    seen = _embeddings(source, embeddings)
    sizes = _sizes(source, pilot, pilot_size)
    if sizes is not None:
        trainable(OWNER, source)
    network = network_of(source, model) if pilot and sizes else model
    runner = Local(workers=1) if engine is None and not pilot else request.engine
    settings = {**request.settings(), "pool": sizes, "embeddings": None if seen is None else seen.fingerprint}
    name = shlex.quote(source.name) if called is None else called
    given = None if engine is None else request.engine
    count = len(several(OWNER, seeds))
    factor = float(match_iterations)
    with Run.opened(out, {"command": "plan", **settings}) as run:
        options = Options(source, method, model, observer, how, count, factor, name, seed, given, run.path)
        about = record("plan", settings, {"source": source.provenance})
        if sizes is None:
            made = _without_forecast(options, tolerance, about)
        else:
            pool, held = parts(source, *sizes, seed, pilot)
            student: Student
            arms = []
            if pilot:
                student = NetworkStudent(pool, held, network, how, factor, len(source), seed)
                common = {"recipe": how, "seeds": seeds, "match_iterations": factor, "seed": seed}
                arms = pool_arms(source, pool, len(source), method, model=network, observer=observer, **common)
            else:
                student = linear(pool, held, seen, seed)
            measured = run_pilot(student, pilot_seeds, seed, run, runner, arms)
            made = _forecast(options, measured, tolerance, pilot, about)
        if run.path is not None:
            from ..report.plan_figure import draw_plan

            made.save(run.path)
            draw_plan(made.values(), run.path / "plan.png")
    return made


def _embeddings(source: Source, given: Signals | ArrayLike | None) -> Signals | None:
    """Embeddings of every example, by id."""
    if given is None or isinstance(given, Signals):
        if given is not None:
            given.array("embeddings", OWNER)
            positions_of(given.ids, source.ids, f"embeddings of {OWNER}")
        return given
    rows = checks.array("embeddings", OWNER, given, ndim=2, rows=len(source), dtype=np.float32)
    return Signals(source.ids, {"embeddings": rows}, source.task, source.labels, source.classes)


def _sizes(source: Source, pilot: bool, wanted: int | None) -> tuple[int, int] | None:
    """Sizes of the pool and of the held-out part; None if nothing can be forecast."""
    if source.task != "classification":
        return None
    held, n = min(HELD, len(source) // SHARE), len(source)
    if pilot:
        n -= round(HELD_OUT * n)  # a proof may hold out so many, and the pilot must not see them
    if wanted is None:
        pool = min(PILOT_POOL, len(source) // SHARE) if pilot else min(QUICK_POOL, n - held)
    elif n - held < SMALLEST:
        pool = 0  # too few examples for any pilot
    else:
        pool = checks.integer("pilot_size", OWNER, wanted, low=SMALLEST, high=n - held)
    if pool >= SMALLEST and pool + held <= n:
        return pool, held
    if pilot:
        hint = f", or give a {word('pilot_size', OWNER)} from {SMALLEST} to {n - held}" if n - held >= SMALLEST else ""
        raise InputError(
            f"a pilot of {OWNER} needs a pool of at least {SMALLEST} examples and a quarter of the data held out; "
            f"source {source.name!r} has {len(source)}. Leave {word('pilot', OWNER)} out{hint}."
        )
    return None


def _without_forecast(options: Options, tolerance: float, about: dict[str, Any]) -> Plan:
    """Resources and a method, if nothing can be forecast."""
    source = options.source
    why = {
        "regression": "the target is a number, and accuracy can be forecast for classification only",
        "multilabel": "examples have several labels, and accuracy can be forecast for classification only",
        "unlabelled": "there are no labels, and accuracy can be forecast for classification only",
    }.get(source.task, f"{len(source):,} examples are too few for a pilot")
    chosen = automatic(source, HALF)
    method = options.method
    advice = [f"No forecast: {why}."]
    if method == "auto":
        advice += [f"Suggested method: auto, which chooses {chosen.name} ({chosen.why})."]
    advice += ["The estimates below are for keeping half of the data."]
    return Plan(
        tuple(advice),
        None,
        HALF,
        tolerance,
        resources=options.resources(HALF, None),
        method=method,
        command=options.command(f"--keep {HALF:g}"),
        provenance=about,
    )


def _forecast(options: Options, pilot: Pilot, tolerance: float, own: bool, about: dict[str, Any]) -> Plan:
    """Fit, check, choose and explain."""
    size = len(options.source)
    chance = 1 - float(np.bincount(labels_of(options.source)).max() / size)
    found, seen = forecaster(pilot, chance, options.seed)
    check = check_of(pilot, seen, chance)
    verdict = judge(pilot, seen, check, own, size)
    gains = gains_of(pilot, seen)
    rows = forecasts_of(found, gains, size, check)
    table = {(row.policy, row.keep): row for row in rows}
    policy = options.method if options.method in gains else "random"  # a linear student tries nothing else
    keep = how_far(table, tolerance, policy) if verdict.learns else 1.0
    best = table[policy if keep < 1 else "random", keep]
    verdict = considering(verdict, keep, -best.lost)
    arms = pilot_arms_of(pilot, seen, gains)
    near = keep if keep < 1 else HALF
    resources = options.resources(near, pilot.seconds_per_example(options.recipe.batch) if own else None)
    about_pilot = pilot_of(pilot, own, size)
    return Plan(
        advice=(
            *advice_of(policy, table, keep, tolerance, size, verdict, own, about_pilot["curve"], chance),
            *options.caveats(),
        ),
        policy="everything" if keep == 1.0 else policy,
        keep=keep,
        tolerance=tolerance,
        expected=best.accuracy,
        interval=(best.low, best.high),
        full=table["random", 1.0].accuracy,
        random=table["random", keep].accuracy,
        random_keep=how_far(table, tolerance, "random") if verdict.learns else 1.0,
        forecasts=rows,
        arms=arms,
        calibration=calibration_of(found, size, chance),
        checks=(check,),
        trust=verdict.trust,
        reasons=verdict.reasons,
        remarks=_remarks(options, pilot, resources, near)
        + tuple(on_theory(found, size, near, pilot.pool, arms, policy)),
        pilot=about_pilot,
        resources=resources,
        method=options.method,
        command=options.next(keep, own),
        provenance=about,
    )


def _remarks(options: Options, pilot: Pilot, resources: dict[str, Any], keep: float) -> tuple[str, ...]:
    """What more observation would cost and bring; a linear student observes nothing."""
    if pilot.observed is None:
        return ()
    seconds, trainings = resources["seconds_observe"], max(1, resources["trainings"])
    said = on_seeds(pilot.observed.reliability, options.seeds, seconds / trainings)
    return (*said, *options.on_proxy(keep, seconds + resources["seconds_try"]))
