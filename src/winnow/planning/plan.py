"""plan: before any long training, what to keep, how much, and what accuracy to expect.

    a pilot on part of the training data -> the theory calibrated -> checked on held-out pilot points -> advice

The link from theory to data is an estimate (`forecast`). The result includes how well it forecast pilot points that it
was not fitted to (`verdict`). If the pilot's measurements contradict it, the advice follows the measurements.
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
from ..engines.local import Where
from ..evaluation.evaluate import network_of
from ..evaluation.test_sets import trainable
from ..models.identity import Model
from ..pruning.auto import automatic
from ..pruning.resolved_request import MethodName
from ..selectors.method_string import parse_method
from ..sources.openable import Data
from ..training.recipe import How, MatchIterations
from .next_command import Options
from .pilot import Pilot, parts, run_pilot
from .pilot_students import NetworkStudent, Student, labels_of, linear
from .recommendation import advice_of, calibration_of, choice_of, failed, forecasts_of, how_far, pilot_of
from .verdict import checks_of, considering, forecaster, judge

__all__ = ["plan"]

OWNER = "plan"
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
    model: Model = "auto",
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

    The forecast combines the perceptron theory of pruning with a small pilot. It is an estimate: `trust`, `reasons` and
    `checks` of the result say how well it forecast pilot points that it had not seen. It covers classification only;
    for other tasks the plan has resources and a method.

    Parameters
    ----------
    source
        The training data: a Source, or anything that `wn.open` takes. Test data is never opened.
    pilot
        Whether the pilot trains your own network; otherwise it trains a linear student, which takes seconds.
    pilot_size
        Examples in the pilot's pool; a quarter of the data, at most 5,000, if not given.
    pilot_seeds
        Samples and trainings of each part of the pool.
    tolerance
        Accuracy that may be lost.
    method
        The method to run, as for `prune`; `auto` follows the forecast.
    model, recipe, seeds, match_iterations
        The network, its training, the number of observed seeds and how steps are matched, as for `prune` and its proof.
        A pilot training costs `match_iterations` of a training on the full data, plus its size's share of the rest.
    embeddings
        Input of the linear student instead of the examples: Signals with embeddings, or rows in the source's order.
    called
        The name of the data in the suggested command; the source's name if not given.
    seed
        Decides everything random.
    out
        A run directory, which stores every pilot training, `plan.json` and `plan.png`.
    engine
        Where trainings run.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Plan
        What to keep and how far, the accuracy to expect, what it costs, how far to trust it, and the command to type
        next. Printed, it is text to read.

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
    ('difficulty+strata', None)
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
    options = Options(source, method, model, how, count, float(match_iterations), name, seed, given)
    with Run.opened(out, {"command": "plan", **settings}) as run:
        about = record("plan", settings, {"source": source.provenance})
        if sizes is None:
            made = _without_forecast(options, tolerance, about)
        else:
            pool, held = parts(source, *sizes, seed)
            student: Student = (
                NetworkStudent(pool, held, network, how, float(match_iterations), len(source), seed)
                if pilot
                else linear(pool, held, seen, seed)
            )
            measured = run_pilot(student, pilot_seeds, seed, run, runner)
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
    n = len(source)
    held = min(HELD, n // SHARE)
    if wanted is None:
        pool = min(PILOT_POOL, n // SHARE) if pilot else min(QUICK_POOL, n - held)
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
            f"source {source.name!r} has {n}. Leave {word('pilot', OWNER)} out{hint}."
        )
    return None


def _without_forecast(options: Options, tolerance: float, about: dict[str, Any]) -> Plan:
    """Resources and a method, if the theory does not apply."""
    source = options.source
    why = {
        "regression": "the target is a number, and the theory of pruning covers classification only",
        "unlabelled": "there are no labels, and the theory of pruning covers classification only",
    }.get(source.task, f"{len(source):,} examples are too few for a pilot")
    chosen = automatic(source, 0.5)  # the fraction of the command below
    method = chosen.name if options.method == "auto" else options.method
    advice = [f"No forecast: {why}."]
    advice += [f"Suggested method: {method} ({chosen.why})."] if options.method == "auto" else []
    advice += ["The estimates below are for keeping half of the data."]
    return Plan(
        tuple(advice),
        None,
        0.5,
        tolerance,
        resources=options.resources(method, 0.5, None),
        method=method,
        command=options.command("--keep 0.5", method),
        provenance=about,
    )


def _forecast(options: Options, pilot: Pilot, tolerance: float, own: bool, about: dict[str, Any]) -> Plan:
    """Calibrate, check, choose and explain."""
    source = options.source
    share = np.bincount(labels_of(source)).max() / len(source)
    found, seen = forecaster(pilot, 1 - float(share), options.seed)
    held_out = checks_of(pilot, seen, found, 1 - float(share))
    verdict = judge(pilot, seen, found, held_out, own, len(source))
    rows = forecasts_of(found, len(source), held_out)
    table = {(row.policy, row.keep): row for row in rows}
    policy, keep = choice_of(table, tolerance, verdict, held_out)
    if options.method == "random" and policy not in ("everything", "random"):
        policy, keep = how_far(table, tolerance, lambda _: ("random",))
    alone = how_far(table, tolerance, lambda _: ("random",))[1]
    method, extra = options.chosen("random" if policy == "everything" else policy, keep)
    best = table["random" if policy == "everything" else policy, keep]
    verdict = considering(verdict, keep, best.accuracy - table["random", 1.0].accuracy)
    pace = pilot.seconds_per_example(options.recipe.batch) if own else None
    about_pilot = pilot_of(pilot, own, len(source))
    return Plan(
        advice=(
            *advice_of(
                policy,
                table,
                keep,
                alone,
                tolerance,
                len(source),
                verdict,
                own,
                failed(held_out),
                about_pilot["curve"],
                1 - float(share),
            ),
            *options.caveats(policy),
        ),
        policy=policy,
        keep=keep,
        tolerance=tolerance,
        expected=best.accuracy,
        interval=(best.low, best.high),
        full=table["random", 1.0].accuracy,
        random=table["random", keep].accuracy,
        random_keep=alone,
        forecasts=rows,
        calibration=calibration_of(found, len(source), 1 - float(share)),
        checks=tuple(held_out),
        trust=verdict.trust,
        reasons=verdict.reasons,
        pilot=about_pilot,
        resources={} if policy == "everything" else options.resources(method, keep, pace),
        method="" if policy == "everything" else method,
        command=options.next(policy, keep, method, extra, own),
        provenance=about,
    )
