"""plan: before anything is spent, what to keep, how far, and what to expect of it.

    a pilot on part of the training data -> the theory calibrated -> checked on held-out pilot points -> advice

The link from theory to data is an estimate (`forecasting`); how well it forecast pilot points it was not fitted to is
part of the answer (`judging`). Where the pilot's measurements contradict it, the advice follows the measurements.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..artefacts import Signals, Source, record
from ..artefacts.source import positions_of
from ..engine import Engine, Local, engine_of
from ..engine.local import describe as describe_engine
from ..errors import InputError
from ..evaluation.evaluating import network_of
from ..evaluation.exams import trainable
from ..models.identity import describe
from ..selectors.methods import parse_method
from ..store import Run
from ..training.recipe import Recipe, recipe_of
from .advising import advice_of, calibration_of, choice_of, failed, forecasts_of, how_far, pilot_of
from .asking import choose_method
from .judging import checks_of, considering, forecaster, judge
from .piloting import Pilot, parts, run_pilot
from .plans import Plan
from .resources import estimate
from .students import Network, Student, labels_of, linear

__all__ = ["plan"]

OWNER = "plan"
SMALLEST = 200  # examples in a pool: an eighth of fewer says nothing
QUICK_POOL, PILOT_POOL, HELD = 4000, 5000, 2000  # at most
SHARE = 4  # a pool for the user's network, and a held-out part, are at most one part in so many


def plan(
    source: Source,
    *,
    pilot: bool = False,
    pilot_size: int | None = None,
    pilot_seeds: int = 3,
    tolerance: float = 0.01,
    method: str = "auto",
    model: Any = "auto",
    recipe: Recipe | None = None,
    seeds: int = 3,
    match_iterations: float = 0.0,
    embeddings: Signals | ArrayLike | None = None,
    called: str | None = None,
    seed: int = 0,
    out: Run | str | Path | None = None,
    engine: Engine | None = None,
) -> Plan:
    """Forecast what pruning would do, before it is done.

    The forecast joins the perceptron theory of pruning to a small pilot. It is an estimate: `trust`, `reasons` and
    `checks` of the result say how well it forecast pilot points that it had not seen. Classification only; other
    tasks get resources and a method.

    Parameters
    ----------
    source
        The training data. Test data are never opened.
    pilot
        Whether the pilot trains your own network; otherwise a linear student, which takes seconds, stands in.
    pilot_size
        Examples in the pilot's pool; a quarter of the data, at most 5,000, unless given.
    pilot_seeds
        Draws and trainings of each part of the pool.
    tolerance
        Accuracy that may be lost.
    method
        What would be run, as for `prune`; `auto` follows the forecast.
    model, recipe, seeds, match_iterations
        The network, its training, how many to observe and how steps are matched, as for `prune` and its proof. A
        pilot training costs `match_iterations` of a training on everything, and its size's share of the rest.
    embeddings
        What the linear student sees instead of the inputs: Signals with embeddings, or rows in the source's order.
    called
        What to call the data in the command line; the source's name unless given.
    seed
        Decides everything random.
    out
        A run directory: pilot trainings are kept there one by one, and so are `plan.json` and `plan.png`.
    engine
        Where trainings run.
    """
    if not isinstance(source, Source):
        raise InputError(f"source of {OWNER} must be a Source (open it with wn.open); got {type(source).__name__}.")
    if not isinstance(pilot, bool):
        raise InputError(f"pilot of {OWNER} must be True or False; got {pilot!r}.")
    if not (out is None or isinstance(out, Run | str | Path)):
        raise InputError(f"out of {OWNER} must be a directory; got {out!r}.")
    if called is not None and not isinstance(called, str):
        raise InputError(f"called of {OWNER} must be a text; got {called!r}.")
    how = recipe_of(OWNER, recipe)
    checks.number("tolerance", OWNER, tolerance, low=0, high=1, open_low=True, open_high=True)
    checks.number("match_iterations", OWNER, match_iterations, low=0, high=1)
    checks.integer("pilot_seeds", OWNER, pilot_seeds, low=2)
    checks.integer("seeds", OWNER, seeds, low=1)
    checks.integer("seed", OWNER, seed, low=0)
    if pilot_size is not None and not pilot:
        raise InputError(f"pilot_size of {OWNER} is for pilot=True; got {pilot_size!r} without it.")
    if method != "auto":
        parse_method(method)
    seen = _embeddings(source, embeddings)
    sizes = _sizes(source, pilot, pilot_size)
    if sizes is not None:
        trainable(OWNER, source)
    network = network_of(source, model) if pilot and sizes else model
    runner = engine_of(OWNER, Local(workers=1) if engine is None and not pilot else engine)
    settings = {
        "pilot": pilot,
        "pool": sizes,
        "pilot_seeds": pilot_seeds,
        "tolerance": tolerance,
        "method": method,
        "model": describe(model),
        "recipe": how.settings(),
        "seeds": seeds,
        "match_iterations": match_iterations,
        "embeddings": None if seen is None else seen.fingerprint,
        "seed": seed,
        **describe_engine(runner),
    }
    asked = {"command": "plan", "source": source.fingerprint, **settings}
    name = shlex.quote(source.name) if called is None else called
    options = _Options(source, method, model, how, seeds, float(match_iterations), name, seed, engine)
    with Run.opened(out, asked) as run:
        about = record("plan", settings, {"source": source.provenance})
        if sizes is None:
            made = _without_forecast(options, tolerance, about)
        else:
            pool, held = parts(source, *sizes, seed)
            student: Student = (
                Network(pool, held, network, how, float(match_iterations), len(source), seed)
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


@dataclass(frozen=True, eq=False)
class _Options:
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

    def chosen(self, policy: str, keep: float) -> tuple[str, str]:
        """The method for a policy, and its option on the command line."""
        if self.method != "auto" or policy == "random":
            return (self.method if self.method != "auto" else "random"), ""
        early = max(1, round(0.1 * self.recipe.epochs)) * self.recipe.batches(len(self.source))
        near = min(keep, 0.49) if policy == "window" else max(keep, 0.5)  # auto ranks from a half on, and covers below
        name = choose_method(self.source.task, near, self.recipe.epochs, early).name
        return (f"{name}+rank", " --set policy=easy") if policy == "easy" else (name, "")

    def command(self, goal: str, method: str, extra: str = "", start: str = "prune") -> str:
        """The line to type; only what differs from the usual is said."""
        usual, how = Recipe(), self.recipe
        said = [f"winnow {start} {self.called} {goal}" + (f" --method {method}{extra}" if method != "auto" else "")]
        said += [f"--model {self.model}"] if isinstance(self.model, str) and self.model != "auto" else []
        for name in ("epochs", "batch", "optimizer", "lr"):
            if getattr(how, name) != getattr(usual, name):
                said.append(f"--{name} {getattr(how, name)}")
        said += [f"--augment {word}" for word in how.augment]
        said += [f"--seeds {self.seeds}"] if self.seeds != 3 else []
        said += [f"--match-iterations {self.match_iterations:g}"] if self.match_iterations else []
        return " ".join(said + ([f"--seed {self.seed}"] if self.seed else []))

    def next(self, policy: str, keep: float, method: str, extra: str, own: bool) -> str:
        """What to type next: the pruning, or a pilot of one's own network where a linear student stood in."""
        if not own:
            return self.command("--pilot", self.method, start="plan")
        return "" if policy == "everything" else self.command(f"--keep {keep:g}", method, extra)

    def caveats(self, policy: str) -> list[str]:
        """What the forecast or the command line does not cover."""
        said = []
        if self.method not in ("auto", "random") and policy != "everything":
            said.append(
                f"The forecast is for that policy, not for {self.method}, which may keep other examples: nothing is "
                "forecast of it but its cost."
            )
        usual = Recipe()
        unsaid = [
            name
            for name in vars(usual)
            if name not in ("epochs", "batch", "optimizer", "lr", "augment")
            and getattr(self.recipe, name) != getattr(usual, name)
        ]
        unsaid += [] if isinstance(self.model, str) else ["model"]
        if unsaid and policy != "everything":
            said.append(f"The command line cannot say your {', '.join(unsaid)}: run it from Python with wn.prune.")
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


def _embeddings(source: Source, given: Signals | ArrayLike | None) -> Signals | None:
    """Embeddings by id, of every example."""
    if given is None or isinstance(given, Signals):
        if given is not None:
            given.array("embeddings", OWNER)
            positions_of(given.ids, source.ids, f"embeddings of {OWNER}")
        return given
    rows = checks.array("embeddings", OWNER, given, ndim=2, rows=len(source), dtype=np.float32)
    return Signals(source.ids, {"embeddings": rows}, source.task, source.labels, source.classes)


def _sizes(source: Source, pilot: bool, wanted: int | None) -> tuple[int, int] | None:
    """Examples of the pool and of the held-out part; None where nothing can be forecast."""
    if source.task != "classification":
        return None
    n = len(source)
    held = min(HELD, n // SHARE)
    if wanted is None:
        pool = min(PILOT_POOL, n // SHARE) if pilot else min(QUICK_POOL, n - held)
    else:
        pool = checks.integer("pilot_size", OWNER, wanted, low=SMALLEST, high=max(SMALLEST, n - held))
    if pool >= SMALLEST and pool + held <= n:
        return pool, held
    if pilot:
        raise InputError(
            f"a pilot of {OWNER} needs a pool of at least {SMALLEST} examples and a quarter of the data to ask about; "
            f"source {source.name!r} has {n}. Leave pilot out, or give a smaller pilot_size than {n - held}."
        )
    return None


def _without_forecast(options: _Options, tolerance: float, about: dict[str, Any]) -> Plan:
    """Resources and a method, where the theory has nothing to say."""
    source = options.source
    why = {
        "regression": "the target is a number, and the theory of pruning is about classes",
        "unlabelled": "there are no labels, and the theory of pruning is about classes",
    }.get(source.task, f"{len(source):,} examples are too few for a pilot")
    early = max(1, round(0.1 * options.recipe.epochs)) * options.recipe.batches(len(source))
    chosen = choose_method(source.task, None, options.recipe.epochs, early)
    method = chosen.name if options.method == "auto" else options.method
    advice = [f"Nothing is forecast: {why}."]
    advice += [f"Winnow would take {method}: {chosen.why}."] if options.method == "auto" else []
    advice += ["The figures below are for half of the data."]
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


def _forecast(options: _Options, pilot: Pilot, tolerance: float, own: bool, about: dict[str, Any]) -> Plan:
    """Calibrate, check, choose and say."""
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
