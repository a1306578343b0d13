"""The pilot: a few cheap trainings on part of the training data, which `plan` uses to calibrate and check itself.

A pool and a held-out part are sampled from the training data by class and id; test data is never opened. Students are
trained on random parts of the pool (an eighth, a quarter, disjoint halves, all). The user's own network is then trained
on half and a quarter of the pool as `prune` would choose and train them (`pilot_arms`). All are tested on the held-out
part.

Each training is a step of a run and saved when finished, so that an interrupted pilot can be resumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source
from ..artefacts.pilot_training import PilotTraining
from ..core.code_digest import code_digest
from ..core.files import file_name
from ..core.run import Run
from ..core.seeds import number as seed_number
from ..engines import Engine, Job, Needs, run_jobs
from ..engines.named import describe as describe_engine
from ..pruning.prune import HELD_OUT
from ..sources.holdout import hold_out, sample
from ..training import hold
from .pilot_arms import PoolArm, PoolObservation, observed_pool
from .pilot_students import PoolPart, Student, labels_of

__all__ = ["FRACTIONS", "Pilot", "parts", "run_pilot"]

FRACTIONS = (0.125, 0.25, 0.5, 1.0)  # of the pool, drawn at random


@dataclass(frozen=True, eq=False)
class Pilot:
    """The pilot's results by policy and fraction of the pool; random halves come in disjoint pairs."""

    pool: int
    held: int
    looks: Mapping[tuple[str, float], Sequence[PilotTraining]]
    seconds: float
    observed: PoolObservation | None = None  # None if no arm was observed
    methods: Mapping[tuple[str, float], str] = field(default_factory=dict)  # of the arms that are not random

    @property
    def pairs(self) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Held-out margins of probes trained on disjoint halves, one pair per seed."""
        halves = self.looks["random", 0.5]
        return [(halves[i].margins, halves[i + 1].margins) for i in range(0, len(halves), 2)]

    def seconds_per_example(self, batch: int) -> float | None:
        """Seconds per example in one optimiser step; None if there were no steps."""
        looks = [look for group in self.looks.values() for look in group if look.steps]
        seen = sum(look.steps * min(batch, look.size) for look in looks)
        return sum(look.seconds for look in looks) / seen if seen else None


def parts(source: Source, pool: int, held: int, seed: int, own: bool) -> tuple[Source, Source]:
    """The pool and the held-out part: disjoint, sampled by class and id, sorted by id, and held in memory.

    A pilot of the user's own network leaves out the fifth that a proof with this seed would hold out without a test
    set: `prune` may use the pilot's measurements, and what a proof tests on must have no part in the choice.
    """
    whole = hold_out(source, HELD_OUT, seed)[0] if own else source
    share = held / len(whole)
    rest, asked = hold_out(whole, share, seed_number(seed, "pilot", "held out"), ("rest", "pilot test"))
    drawn = sample(rest, min(pool, len(rest)), seed_number(seed, "pilot", "pool"))
    return hold(drawn.at(drawn.order)), hold(asked.at(asked.order))


@dataclass(frozen=True, eq=False)
class _Lesson:
    """One training to run: a part of the pool and a seed."""

    policy: str
    fraction: float
    turn: int
    seed: int
    part: PoolPart

    def job(self, student: Student, engine: Engine) -> Job[_Lesson]:
        name = f"pilot/{file_name(self.policy.replace(' ', '-'))}@{self.fraction:g}/{self.turn}"
        key = [student.key, code_digest(type(student).learn), *self.part.key, self.seed, describe_engine(engine)]
        return Job(name, self, key, f"{name}.safetensors")


def run_pilot(student: Student, seeds: int, seed: int, run: Run, engine: Engine, arms: Sequence[PoolArm] = ()) -> Pilot:
    """Run all trainings of the pilot: random parts first, then the arms.

    Parameters
    ----------
    student
        The student to train, with its pool and held-out part.
    seeds
        Samples of each random part and draws of each arm; trainings of the whole pool if the seed matters.
    seed
        Seed of the sampling.
    run, engine
        Where trainings are saved, and where they run.
    arms
        What to train besides random parts.
    """
    repeats = seeds if student.varies else 1  # a linear student is the same for every seed
    random = {fraction: _random_parts(student.pool, fraction, seeds, repeats, seed) for fraction in FRACTIONS}
    lessons = [
        _Lesson("random", fraction, turn, turn, PoolPart(where))
        for fraction, found in random.items()
        for turn, where in enumerate(found)
    ]
    seen = observed_pool(student.pool, arms, seed, run, engine) if arms else None
    if seen is not None:
        for arm in arms:
            for turn in range(seeds):
                place = turn * (2 if arm.keep == 0.5 else 1)  # the random draw with the same initial weights
                part = arm.part(student.pool, seen.signals, random[arm.keep][place], turn)
                lessons.append(_Lesson(arm.policy, arm.keep, turn, place, part))
    looks: dict[tuple[str, float], list[PilotTraining]] = {}
    for lesson, look in zip(lessons, _taught(student, lessons, run, engine), strict=True):
        looks.setdefault((lesson.policy, lesson.fraction), []).append(look)
    seconds = sum(look.seconds for group in looks.values() for look in group) + (0.0 if seen is None else seen.seconds)
    methods = {(arm.policy, arm.keep): arm.request.method.name for arm in arms}
    return Pilot(len(student.pool), len(student.held), looks, seconds, seen, methods)


def _taught(student: Student, lessons: Sequence[_Lesson], run: Run, engine: Engine) -> list[PilotTraining]:
    jobs = [lesson.job(student, engine) for lesson in lessons]
    return run_jobs(
        run, engine, _look, jobs, PilotTraining, "pilot", shared=(student,), needs=Needs(gpu=True, network=True)
    )


def _random_parts(pool: Source, fraction: float, seeds: int, repeats: int, seed: int) -> list[NDArray[np.int64]]:
    """Positions of random parts of the pool, with halves in disjoint pairs."""
    if fraction == 1.0:
        return [np.arange(len(pool))] * repeats
    found = []
    for turn in range(seeds):
        number = seed_number(seed, "pilot", "part", f"{fraction:g}", turn)
        if fraction == 0.5:
            found += [np.sort(pool.positions(half.ids)) for half in hold_out(pool, 0.5, number, together=False)]
        else:
            found.append(np.sort(pool.positions(sample(pool, round(fraction * len(pool)), number).ids)))
    return found


def _look(student: Student, lesson: _Lesson) -> PilotTraining:
    """Run one training."""
    steps, seconds, held = student.learn(lesson.part, lesson.seed)
    wanted = labels_of(student.held)
    return PilotTraining(
        lesson.part.where.size,
        steps,
        (held.argmax(1) == wanted).astype(np.uint8),
        margins(held, wanted).astype(np.float32),
        seconds,
    )


def margins(logits: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Logit of the label minus the largest other logit, for each row."""
    rows = np.arange(labels.size)
    others = logits.astype(np.float64)
    own = others[rows, labels].copy()
    others[rows, labels] = -np.inf
    return np.asarray(own - others.max(1))
