"""What the parts share: one draw of images per repeat, one observation of it, and trainings on subsets of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts.intervals import Interval, difference
from winnow.core import seeds
from winnow.engines import Local

from ..comparing import claimed, signed
from ..parts import Asked, interval

NETWORK, BATCH, RATE = "lenet5", 32, 3e-3
FULL, CHANCE = "full", "random"
Cell = Mapping[str, Mapping[str, float]]  # accuracies in per cent: arm, then test set


@dataclass(frozen=True)
class Sizes:
    """Images per draw, epochs observed and trained, and the test limit. The paper: ImageNet, ResNet-50."""

    images: int = 2_000
    observed: int = 10
    epochs: int = 10
    tests: int | None = 4_000


QUICK = Sizes(200, 2, 1, 100)


def sizes_of(asked: Asked) -> Sizes:
    return QUICK if asked.quick else Sizes()


def recipe(epochs: int) -> wn.Recipe:
    """How everything is trained."""
    return wn.Recipe(epochs=epochs, batch=BATCH, lr=RATE)


def described(asked: Asked, *more: str) -> str:
    """Data, sizes, network and training in a sentence, and what a part adds."""
    sizes = sizes_of(asked)
    steps = sizes.epochs * -(-sizes.images // BATCH)
    said = (
        f"{asked.data[0]}: {asked.seeds} repeats, each with {sizes.images:,} training images, weights and an "
        f"observation of its own; LeNet-5, {sizes.observed} epochs observed, {sizes.epochs} epochs ({steps:,} "
        f"steps of everything) trained, batch {BATCH}, AdamW at {RATE:g} falling to zero; "
        f"{'all' if sizes.tests is None else f'{sizes.tests:,}'} test images; ± is half a 95 % interval over repeats."
    )
    return " ".join([said, *more])


def drawn(asked: Asked, repeat: int) -> wn.Source:
    """The images of a repeat."""
    pool = wn.open(asked.data[0])
    rng = seeds.stream(0, "metrics", "draw", asked.data[0], repeat)
    return pool.at(np.sort(rng.choice(len(pool), sizes_of(asked).images, replace=False)))


def observed(asked: Asked, repeat: int, **how: Any) -> wn.Signals:
    """What one training of a repeat shows, kept for all parts; `how` replaces what `wn.observe` is given."""
    sizes = sizes_of(asked)
    usual: dict[str, Any] = {"recipe": recipe(sizes.observed), "seeds": 1, "want": ("logits", "embeddings")}
    name = "-".join([Path(asked.data[0]).name, str(sizes.images), str(repeat), *map(str, sorted(how))])
    out = asked.out.parent / "observed" / name
    return wn.observe(drawn(asked, repeat), NETWORK, **{**usual, **how}, seed=repeat, out=out, engine=Local(workers=1))


def retrained(
    asked: Asked,
    name: str,
    subsets: Mapping[str, wn.Subset],
    repeat: int,
    *,
    matched: float = 0.0,
    test: Any = None,
    full: bool = True,
) -> dict[str, dict[str, float]]:
    """Accuracies of networks trained on each subset, on random ones of the same sizes, and on everything.

    A random subset of size n is the arm "random n"; of a study with one size it is also "random".
    """
    sizes = sizes_of(asked)
    study = wn.evaluate(
        drawn(asked, repeat),
        subsets,
        test=wn.open(asked.data[0], split="test", limit=sizes.tests) if test is None else test,
        model=NETWORK,
        recipe=recipe(sizes.epochs),
        seeds=[repeat],
        match_iterations=matched,
        same_steps=False,
        full=full,
        seed=repeat,
        out=asked.out / "evaluate" / f"{name}-{sizes.images}-{repeat}",
        engine=Local(workers=1),
    )
    found: dict[str, dict[str, float]] = {}
    for outcome in study.outcomes:
        found.setdefault(outcome.arm, {})[outcome.test] = 100 * outcome.value
    for arm in study.arms:
        if arm.kind == "random":
            found[f"{CHANCE} {arm.size}"] = found.pop(arm.name)
    return found


def values(cells: Sequence[Cell], arm: str, test: str | None = None) -> NDArray[np.float64]:
    """One accuracy per repeat; on the first test set if none is named."""
    return np.array([cell[arm][test if test is not None else next(iter(cell[arm]))] for cell in cells])


def gap(cells: Sequence[Cell], arm: str, other: str, test: str | None = None) -> Interval:
    """The paired difference of two arms, in points."""
    return difference(values(cells, arm, test), values(cells, other, test))


def row(cells: Sequence[Cell], name: str, arm: str, chance: str) -> str:
    """A line of a table: accuracy, and the difference to random of the same size."""
    return f"| {name} | {interval(values(cells, arm), 2)} | {signed(gap(cells, arm, chance))} |"


def said(cells: Sequence[Cell], arm: str, other: str) -> str:
    """A difference and what it says of the claim that it is positive."""
    one = gap(cells, arm, other)
    return f"{signed(one)} points, {claimed(one)}"
