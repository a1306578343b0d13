"""The pilot: a few cheap trainings on part of the training data, which `plan` uses to calibrate and check itself.

A pool and a held-out part are sampled from the training data by class and id; test data is never opened. Students are
trained on random parts of the pool (an eighth, a quarter, disjoint halves, all), then on its hardest and easiest half
and quarter, ranked by the margins of students trained on the whole pool. All are tested on the held-out part. The
protocol is the same for a linear student and for the user's own network (`pilot_students`).

Each training is a step of a run and saved when finished, so that an interrupted pilot can be resumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores, Source
from ..artefacts.pilot_training import PilotTraining
from ..core.files import fingerprint
from ..core.run import Run
from ..core.seeds import number as seed_number
from ..engines import Engine, Job, run_jobs
from ..engines.local import describe as describe_engine
from ..selectors.select import select
from ..sources.holdout import hold_out, sample
from ..training import hold
from .pilot_students import Student, labels_of

__all__ = ["FRACTIONS", "PRUNED", "Pilot", "parts", "run_pilot"]

FRACTIONS = (0.125, 0.25, 0.5, 1.0)  # of the pool, drawn at random
PRUNED = (0.5, 0.25)  # of the pool, kept by difficulty; both are in FRACTIONS, so that random can be compared


@dataclass(frozen=True, eq=False)
class Pilot:
    """The pilot's results by policy and fraction of the pool; halves come in disjoint pairs."""

    pool: int
    held: int
    looks: Mapping[tuple[str, float], Sequence[PilotTraining]]
    seconds: float

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


def parts(source: Source, pool: int, held: int, seed: int) -> tuple[Source, Source]:
    """The pool and the held-out part: disjoint, sampled by class and id, sorted by id, and held in memory."""
    rest, asked = hold_out(source, held / len(source), seed_number(seed, "pilot", "held out"), ("rest", "pilot test"))
    drawn = sample(rest, pool, seed_number(seed, "pilot", "pool"))
    return hold(drawn.at(drawn.order)), hold(asked.at(asked.order))


@dataclass(frozen=True, eq=False)
class _Lesson:
    """One training to run: a part of the pool, by canonical position, and a seed."""

    policy: str
    fraction: float
    turn: int
    seed: int
    where: NDArray[np.int64]

    def job(self, student: Student, engine: Engine) -> Job[tuple[Student, _Lesson]]:
        name = f"pilot/{self.policy}@{self.fraction:g}/{self.turn}"
        key = [student.key, fingerprint(self.where.tobytes()), self.seed, describe_engine(engine)]
        return Job(name, (student, self), key, f"{name}.safetensors")


def run_pilot(student: Student, seeds: int, seed: int, run: Run, engine: Engine) -> Pilot:
    """Run all trainings of the pilot: random parts first, then the hardest and easiest parts by their margins.

    Parameters
    ----------
    student
        The student to train, with its pool and held-out part.
    seeds
        Samples of each random part, and trainings of each part if the seed matters.
    seed
        Seed of the sampling.
    run, engine
        Where trainings are saved, and where they run.
    """
    repeats = range(seeds if student.varies else 1)  # a linear student is the same for every seed
    lessons = [
        _Lesson("random", fraction, turn, turn, where)
        for fraction in FRACTIONS
        for turn, where in enumerate(_random_parts(student.pool, fraction, seeds, len(repeats), seed))
    ]
    looks: dict[tuple[str, float], list[PilotTraining]] = {}
    for lesson, look in zip(lessons, _taught(student, lessons, run, engine), strict=True):
        looks.setdefault((lesson.policy, lesson.fraction), []).append(look)
    margin = np.mean([look.pool_margins for look in looks["random", 1.0]], axis=0)
    ranked = Scores(
        "margin", student.pool.ids, -margin, None, "classification", labels_of(student.pool), student.pool.classes
    )
    lessons = [
        _Lesson(
            policy,
            keep,
            turn,
            turn,
            select("rank", ranked, keep=keep, policy=policy, seed=seed).indices(student.pool),
        )
        for policy in ("hard", "easy")
        for keep in PRUNED
        for turn in repeats
    ]
    for lesson, look in zip(lessons, _taught(student, lessons, run, engine), strict=True):
        looks.setdefault((lesson.policy, lesson.fraction), []).append(look)
    seconds = sum(look.seconds for group in looks.values() for look in group)
    return Pilot(len(student.pool), len(student.held), looks, seconds)


def _taught(student: Student, lessons: Sequence[_Lesson], run: Run, engine: Engine) -> list[PilotTraining]:
    return run_jobs(run, engine, _look, [lesson.job(student, engine) for lesson in lessons], PilotTraining, "pilot")


def _random_parts(pool: Source, fraction: float, seeds: int, repeats: int, seed: int) -> list[NDArray[np.int64]]:
    """Positions of random parts of the pool, with halves in disjoint pairs."""
    if fraction == 1.0:
        return [np.arange(len(pool))] * repeats
    found = []
    for turn in range(seeds):
        number = seed_number(seed, "pilot", "part", f"{fraction:g}", turn)
        if fraction == 0.5:
            found += [np.sort(pool.positions(half.ids)) for half in hold_out(pool, 0.5, number)]
        else:
            found.append(np.sort(pool.positions(sample(pool, round(fraction * len(pool)), number).ids)))
    return found


def _look(item: tuple[Student, _Lesson]) -> PilotTraining:
    """Run one training."""
    student, lesson = item
    steps, seconds, held, pool = student.learn(lesson.where, lesson.seed)
    wanted = labels_of(student.held)
    own = margins(pool, labels_of(student.pool)) if lesson.fraction == 1.0 else np.zeros(0)
    return PilotTraining(
        lesson.where.size,
        steps,
        seconds,
        (held.argmax(1) == wanted).astype(np.uint8),
        margins(held, wanted).astype(np.float32),
        own.astype(np.float32),
    )


def margins(logits: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Logit of the label minus the largest other logit, for each row."""
    rows = np.arange(labels.size)
    others = logits.astype(np.float64)
    own = others[rows, labels].copy()
    others[rows, labels] = -np.inf
    return np.asarray(own - others.max(1))
