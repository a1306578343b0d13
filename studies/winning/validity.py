"""Do the intervals of a study hold, and do they still find what is there?

    python -m studies.winning.validity --out runs/validity [--studies 200]

Each simulated study compares a way of choosing, trained with several seeds, with random subsets drawn anew for each
seed, on one test set. What is chosen is one subset for all seeds, or one per seed, as `winnow prune` does if its method
draws at random. In half of the studies it is itself random, so that every "different from random" is false; in the
other half it is 2 points better or worse. Counted are the false claims, the differences found, and how often the
interval holds the population's difference: that of all such draws, seeds and test examples. "Findable" is how many an
interval would find that knew the variance, which nobody does who has trained each arm five times. "By Student's t" is
how many would be found if the whole variance had to be estimated from the seeds, as a t interval does.

Two kinds of studies. In the first, a model is right on example i if its difficulty, the luck of the draw and the luck
of training, each with a part that all examples share and one of its own, add up to more than zero. In the second, real
models are trained: a linear one, whose seeds hardly differ, and a small network.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from winnow.artefacts.intervals import difference, paired

from .small_models import Bank, trained

Pair = tuple[NDArray[np.bool_], NDArray[np.bool_]]
BETTER = 0.02
HARD = 2.0  # spread of the difficulty of examples, beside which the luck is measured


@dataclass(frozen=True)
class Luck:
    """Spread of the luck of a draw and of training: what all examples share, and what each has of its own."""

    name: str
    draw: float
    draw_each: float
    training: float
    training_each: float


LUCKS = (
    Luck("draws vary, seeds hardly", 0.06, 0.6, 0.005, 0.1),
    Luck("the same, smaller", 0.03, 0.4, 0.003, 0.05),
    Luck("draws as seeds", 0.05, 0.6, 0.05, 0.6),
    Luck("the same, smaller", 0.025, 0.4, 0.025, 0.4),
    Luck("seeds vary, draws hardly", 0.02, 0.3, 0.06, 0.9),
    Luck("little luck", 0.01, 0.2, 0.01, 0.2),
)


@dataclass
class Row:
    """One kind of study: what was counted, as shares of the studies."""

    kind: str
    accuracy: float
    seeds: int
    examples: int
    studies: int
    difference: float
    per_seed: bool = False  # one subset per seed; otherwise one for all seeds
    false_claims: float = 0.0
    false_by_seeds_alone: float = 0.0
    found: float = 0.0
    findable: float = 0.0
    by_student: float = 0.0
    inside: float = 0.0
    half_width: float = 0.0


def measured(row: Row, null: Iterator[Pair], other: Iterator[Pair]) -> Row:
    """Fill a row from studies without and with a difference."""
    inside = 0
    centres: tuple[list[float], list[float]] = ([], [])
    fixed: Literal["ours"] | None = None if row.per_seed else "ours"
    for a, b in null:
        found = paired(a, b, fixed=fixed, apart=row.per_seed)
        row.false_claims += found.excludes_zero / row.studies
        row.false_by_seeds_alone += difference(a.mean(1), b.mean(1)).excludes_zero / row.studies
        row.half_width += found.half_width / row.studies
        inside += found.low <= 0 <= found.high
        centres[0].append(found.centre)
    for a, b in other:
        found = paired(a, b, fixed=fixed, apart=row.per_seed)
        row.found += found.excludes_zero / row.studies
        inside += found.low <= row.difference <= found.high
        centres[1].append(found.centre)
    row.findable = float(np.mean(np.abs(centres[1]) > 1.96 * np.std(centres[0])))
    row.by_student = power_of_student(abs(float(np.mean(centres[1]))) / float(np.std(centres[0])), row.seeds)
    row.inside = inside / (2 * row.studies)
    return row


def power_of_student(effect: float, seeds: int) -> float:
    """How often a t interval leaves zero out, for an effect in standard errors."""
    reach = stats.t.ppf(0.975, seeds - 1)
    below, above = np.nan_to_num(stats.nct.cdf((-reach, reach), seeds - 1, effect))  # scipy's tails end in NaN, not 0
    return float(below + 1 - above)


def modelled(luck: Luck, accuracy: float, seeds: int, examples: int, studies: int, per_seed: bool) -> Row:
    """Studies of the first kind."""
    rng = np.random.default_rng(0)
    spread = np.sqrt(HARD**2 + luck.draw**2 + luck.draw_each**2 + luck.training**2 + luck.training_each**2)

    def answers(difficulty: NDArray[np.float64], right: float, draws: int) -> NDArray[np.bool_]:
        """Who is right on what: with one draw for all seeds, or as many as there are seeds."""
        level = difficulty + stats.norm.ppf(right) * spread
        level = level + luck.draw * rng.normal(size=(draws, 1)) + luck.draw_each * rng.normal(size=(draws, examples))
        level = level + luck.training * rng.normal(size=(seeds, 1))
        return np.asarray(level + luck.training_each * rng.normal(size=(seeds, examples)) > 0)

    def made(better: float) -> Iterator[Pair]:
        for _ in range(studies):
            difficulty = HARD * rng.normal(size=examples)
            ours = answers(difficulty, accuracy + better, seeds if per_seed else 1)
            yield ours, answers(difficulty, accuracy, seeds)

    return measured(Row(luck.name, accuracy, seeds, examples, studies, BETTER, per_seed), made(0.0), made(BETTER))


def real(bank: Bank, other: Bank, name: str, examples: int, studies: int, per_seed: bool) -> Row:
    """Studies of the second kind, put together from models that are trained once."""
    rng = np.random.default_rng(0)
    draws, seeds, population = bank.right.shape

    def made(ours: Bank) -> Iterator[Pair]:
        for number in range(studies):
            drawn = rng.permutation(np.delete(np.arange(draws), number % draws))
            mine = drawn[seeds : 2 * seeds] if per_seed else np.full(seeds, number % draws)
            test = rng.choice(population, examples, replace=False)
            chosen, random = (one.right[of, np.arange(seeds)] for one, of in ((ours, mine), (bank, drawn[:seeds])))
            yield chosen[:, test], random[:, test]

    gap = float(other.right.mean() - bank.right.mean())
    row = Row(name, float(bank.right.mean()), seeds, examples, studies, gap, per_seed)
    return measured(row, made(bank), made(other))


def of_real_models(name: str, hidden: int, wrong: float, studies: int, per_seed: bool, quick: bool) -> Row:
    """Studies of the second kind with models of one kind, good ones beside such as learned from wrong labels too."""
    size = {"draws": 12, "population": 2500} if quick else {"draws": 50, "population": 20_000}
    return real(trained(hidden, **size), trained(hidden, wrong=wrong, **size), name, 2000, studies, per_seed)


def table(rows: list[Row]) -> list[str]:
    """The rows as a Markdown table."""
    head = (
        "| luck | subsets | accuracy | seeds | test examples | false claims | by seeds alone | difference, points "
        "| found | findable | by Student's t | inside | half width, points |"
    )
    lines = [head, "|" + "---|" * 13]
    for row in rows:
        subsets = "one per seed" if row.per_seed else "one"
        lines.append(
            f"| {row.kind} | {subsets} | {row.accuracy:.2f} | {row.seeds} | {row.examples:,} | {row.false_claims:.1%} "
            f"| {row.false_by_seeds_alone:.1%} | {100 * row.difference:+.1f} | {row.found:.0%} "
            f"| {row.findable:.0%} | {row.by_student:.0%} | {row.inside:.1%} | {100 * row.half_width:.2f} |"
        )
    return lines


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.winning.validity", description="Do intervals hold?")
    parser.add_argument("--out", type=Path, required=True, help="folder for validity.json and validity.md")
    parser.add_argument("--studies", type=int, default=200, help="studies of each kind")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, proves nothing")
    return parser.parse_args()


def main() -> None:
    given = asked()
    given.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    jobs: list[Callable[[], Row]] = []
    for per_seed in (False, True):
        for seeds, examples in ((5, 2000),) if given.quick else ((5, 2000), (5, 500), (3, 2000)):
            for luck in LUCKS:
                for accuracy in (0.92, 0.8):
                    jobs.append(partial(modelled, luck, accuracy, seeds, examples, given.studies, per_seed))
    for name, hidden, wrong in (("linear model", 0, 0.18), ("small network", 64, 0.09)):  # about 2 points
        jobs += [partial(of_real_models, name, hidden, wrong, given.studies, one, given.quick) for one in (False, True)]
    for job in jobs:
        rows.append(job())
        print(table(rows)[-1], flush=True)
    (given.out / "validity.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))
    (given.out / "validity.md").write_text("\n".join(table(rows)) + "\n")


if __name__ == "__main__":
    main()
