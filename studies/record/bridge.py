"""From one study to another, one change at a time: why EL2N at a half gained in one and lost in the other.

`studies.pruning` found +1.4 points over random at a half of 20,000 images, `studies.influence` -2.6 at 60 % of 8,000.
They differ in six things. Each row here changes one more of them, so that the last row is the other study. Every repeat
has its own draw of images, observation and weights; random is trained as the hardest are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import winnow as wn
from winnow.artefacts.intervals import difference, mean
from winnow.core import seeds

from ..comparing import signed
from ..parts import written

__all__ = ["ROWS", "Step", "bridge_told", "gap_of"]

DATA, NETWORK = "fashion-mnist", "lenet5"


@dataclass(frozen=True)
class Step:
    """One way to do it.

    Attributes
    ----------
    images
        Training images, as many of each class.
    observed
        Trainings observed, and their epochs.
    epochs, batch, rate
        Of the retraining; a rate of None is the network's own.
    matched
        The matched-iterations factor.
    balance
        The share of an equal number per class that every class keeps at least.
    keep
        Fraction kept.
    """

    images: int = 20_000
    observed: tuple[int, int] = (3, 20)
    epochs: int = 8
    batch: int = 128
    rate: float | None = None
    matched: float = 0.5
    balance: float = 0.5
    keep: float = 0.5


FIRST = Step()
ROWS: dict[str, Step] = {"the pruning study": FIRST}
for name, change in {
    "8,000 images": {"images": 8_000},
    "one training of 8 epochs observed": {"observed": (1, 8)},
    "6 epochs, batch 32, rate 0.003": {"epochs": 6, "batch": 32, "rate": 3e-3},
    "the same epochs for subset and everything": {"matched": 0.0},
    "as many of each class": {"balance": 1.0},
    "60 % kept: the influence study": {"keep": 0.6},
}.items():
    ROWS[name] = replace(list(ROWS.values())[-1], **change)


def bridge_told(
    out: Path,
    repeats: int,
    rows: Mapping[str, Step] = ROWS,
    data: str = DATA,
    at_row: Callable[[list[str]], None] | None = None,
) -> list[str]:
    """Run every row, the cheapest and last first, and tell them as a table; `at_row` gets it after each row."""
    told: dict[str, str] = {}
    lines: list[str] = []
    for place, (name, step) in reversed(list(enumerate(rows.items()))):
        found = np.array([gap_of(out, place, step, repeat, data) for repeat in range(repeats)])
        gap = difference(found[:, 1], found[:, 0])
        cells = (written(mean(found[:, 0]), 2), written(mean(found[:, 1]), 2), signed(gap))
        told[name] = f"| {name} | " + " | ".join(cells) + " |"
        lines = ["| changed | random, % | EL2N, % | EL2N over random, points |", "|---|---|---|---|"]
        lines += [told.get(one, f"| {one} | | | not run |") for one in rows]
        if at_row is not None:
            at_row(lines)
    return lines


def gap_of(out: Path, place: int, step: Step, repeat: int, data: str = DATA) -> tuple[float, float]:
    """Accuracies of random and of the hardest, in per cent, of one repeat."""
    pool = wn.open(data)
    source = pool.at(drawn(pool, step.images, repeat))
    how = wn.Recipe(epochs=step.observed[1], batch=step.batch, lr=step.rate)
    watched = f"observe-{step.images}-{step.observed[0]}x{step.observed[1]}-{step.batch}-{repeat}"
    engine = wn.Local(workers=1)
    signals = wn.observe(
        source, NETWORK, how, step.observed[0], ("logits",), seed=repeat, out=out / watched, engine=engine
    )
    subset = wn.select("rank", wn.score("el2n", signals), keep=step.keep, balance=step.balance)
    study = wn.evaluate(
        source,
        {"el2n": subset},
        test=wn.open(data, split="test"),
        model=NETWORK,
        recipe=wn.Recipe(epochs=step.epochs, batch=step.batch, lr=step.rate),
        seeds=[repeat],
        match_iterations=step.matched,
        same_steps=False,
        full=False,
        seed=repeat,
        out=out / f"evaluate-{place}-{repeat}",
        engine=engine,
    )
    found = {arm.kind: study.interval(arm.name).centre for arm in study.arms}
    return 100 * found["random"], 100 * found["subset"]


def drawn(pool: wn.Source, images: int, repeat: int) -> Sequence[int]:
    """As many images of each class, of a repeat."""
    labels = np.asarray(pool.labels)
    rng = seeds.stream(0, "record", "bridge", repeat)
    each = images // len(pool.classes)
    parts = [rng.choice(np.flatnonzero(labels == one), each, replace=False) for one in range(len(pool.classes))]
    return np.sort(np.concatenate(parts))
