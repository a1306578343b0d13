"""The arms of a study: the subsets under test, and what is free: random ones of the same sizes, and everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..artefacts import Source, Subset
from ..artefacts.ledger import COUNTED
from ..artefacts.quotas import class_balance
from ..artefacts.study import Arm
from ..core import checks
from ..core.errors import InputError
from ..core.files import file_name, plain
from ..core.seeds import drawn_first
from .retrain import Training

__all__ = ["FULL", "PlannedArm", "cost_of", "plan"]

FULL = "full"
EVERYTHING = "everything"
RANDOM = "random"
REPEATED = "repeated random"
DYNAMIC = "dynamic sampling"


@dataclass(frozen=True, eq=False)
class PlannedArm:
    """An arm and its training set per seed."""

    arm: Arm
    subsets: Mapping[int, Subset]
    folder: str
    soft: float | None = None

    def without_targets(self) -> PlannedArm:
        """The same trained on labels only."""
        plain = {seed: replace(subset, targets=None) for seed, subset in self.subsets.items()}
        return replace(self, arm=replace(self.arm, soft=False), subsets=plain) if self.arm.soft else self

    def training(self, seed: int) -> Training:
        """Return its training under one seed."""
        where = f"study/trainings/{self.folder}"
        steps, repeated = self.arm.same_steps, bool(self.arm.repeated)
        dynamic = bool(self.arm.dynamic)
        return Training(self.arm.name, self.subsets[seed], seed, where, self.soft, steps, repeated, dynamic)


def plan(
    source: Source,
    subsets: object,
    seeds: Sequence[int],
    *,
    random: bool,
    full: bool,
    seed: int,
    costs: Mapping[str, Mapping[str, float]],
    same_steps: bool = False,
    repeated: bool = False,
    dynamic: bool = False,
) -> list[PlannedArm]:
    """Return all arms with labels.

    These are: full; everything for as many steps as each size gets, in full passes, in parts drawn anew for each
    epoch and with dynamic sampling, and random, each from the largest size to the smallest; and the subsets as given.
    """
    given = _given(source, subsets, seeds)
    for name in costs:
        if name not in given:
            raise InputError(f"costs of evaluate name the arm {name!r}; the subsets are {', '.join(given) or 'none'}.")
    planned: list[PlannedArm] = []
    everything = Subset(source.ids)
    sizes = {len(next(iter(by_seed.values()))) for by_seed in given.values()}
    if full:
        planned.append(_arm(source, FULL, "full", dict.fromkeys(seeds, everything), FULL))
    for word, wanted in ((EVERYTHING, same_steps), (REPEATED, repeated), (DYNAMIC, dynamic)):
        if not wanted:
            continue
        for size, name in _names(word, sizes - {len(source)}, len(source)).items():
            made = _arm(source, name, "everything", dict.fromkeys(seeds, everything), f"{word}@{size}")
            again, sampled = word == REPEATED or None, word == DYNAMIC or None
            arm = replace(made.arm, same_steps=size, repeated=again, dynamic=sampled)
            planned.append(replace(made, arm=arm))
    baselines: dict[int, str] = {}
    if random:
        if full and len(source) in sizes:
            baselines[len(source)] = FULL  # a random draw of all examples is the full data
        baselines |= (named := _names(RANDOM, sizes - set(baselines), len(source)))
        for size, name in named.items():
            draws = {number: _draw(source, size, seed, number) for number in seeds}
            # The folder is named by the count, so that adding another size later does not rename it.
            planned.append(_arm(source, name, "random", draws, f"{RANDOM}@{size}"))
    for name, by_seed in given.items():
        size = len(next(iter(by_seed.values())))
        planned.append(
            _arm(
                source,
                name,
                "subset",
                by_seed,
                file_name(name),
                baselines.get(size),
                cost_of("evaluate", name, costs.get(name, {})),
            )
        )
    if not planned:
        raise InputError("evaluate needs something to train on: a subset in subsets=, or full=True.")
    return planned


def _given(source: Source, subsets: object, seeds: Sequence[int]) -> dict[str, dict[int, Subset]]:
    """Check the subsets; return those of each arm by seed."""
    if not isinstance(subsets, Mapping):
        raise InputError(
            "subsets of evaluate must be a mapping from names to Subsets, such as {'mine': subset}; got "
            f"{type(subsets).__name__}."
        )
    given: dict[str, dict[int, Subset]] = {}
    for name, value in subsets.items():
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"names in subsets of evaluate must be words; got {name!r}.")
        if name == FULL or name.startswith((RANDOM, REPEATED, DYNAMIC, f"{EVERYTHING}@")):
            raise InputError(
                f"names in subsets of evaluate must not be {FULL!r} or start with {RANDOM!r}, {REPEATED!r}, "
                f"{DYNAMIC!r} or '{EVERYTHING}@', which evaluate adds itself; got {name!r}."
            )
        given[name] = _by_seed(name, value, seeds)
        for subset in {id(s): s for s in given[name].values()}.values():
            _check(source, name, subset)
    return given


def _by_seed(name: str, value: object, seeds: Sequence[int]) -> dict[int, Subset]:
    """Return one Subset per seed: the same for all, or one each."""
    owner = f"subsets of evaluate: {name!r}"
    found: dict[Any, Any]
    if isinstance(value, Subset):
        return dict.fromkeys(seeds, value)
    if isinstance(value, Mapping):
        missing = [number for number in seeds if number not in value]
        if missing:
            raise InputError(f"{owner} must have a Subset for each seed; seed {missing[0]} has none.")
        found = {number: value[number] for number in seeds}
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != len(seeds):
            raise InputError(f"{owner} must have one Subset a seed, {len(seeds)} in all; got {len(value)}.")
        found = dict(zip(seeds, value, strict=True))
    else:
        raise InputError(f"{owner} must be a Subset, or one a seed; got {type(value).__name__}.")
    for subset in found.values():
        if not isinstance(subset, Subset):
            raise InputError(f"{owner} must hold Subsets; got {type(subset).__name__}.")
    sizes = sorted({len(subset) for subset in found.values()})
    if len(sizes) > 1:
        raise InputError(f"{owner} must have the same size under every seed; got {sizes[0]} to {sizes[-1]}.")
    return found


def _check(source: Source, name: str, subset: Subset) -> None:
    if len(subset) < 2:
        raise InputError(f"subset {name!r} of evaluate must have at least 2 examples to train on; got {len(subset)}.")
    try:
        subset.indices(source)
    except InputError as error:
        raise InputError(f"subset {name!r} of evaluate was not chosen from this data: {error}") from None


def _names(word: str, sizes: set[int], total: int) -> dict[int, str]:
    """`word@FRACTION` for each size, largest first; `word@COUNT` for sizes whose fractions round to the same."""
    short = {size: f"{size / total:.3g}" for size in sorted(sizes, reverse=True)}
    alike = [text for text in short.values() if list(short.values()).count(text) > 1]
    return {size: f"{word}@{size if text in alike else text}" for size, text in short.items()}


def _draw(source: Source, size: int, seed: int, number: int) -> Subset:
    """Draw a random subset; a smaller one of the same seed and number is part of a larger one."""
    ids = source.ids[source.order]
    return Subset(ids[drawn_first(seed, ("random arm", number), ids, size)])


def cost_of(owner: str, name: str, stages: object) -> dict[str, float]:
    """Check and return the cost of an arm by stage."""
    if not isinstance(stages, Mapping):
        raise InputError(f"costs of {owner} must map {name!r} to seconds by stage; got {type(stages).__name__}.")
    for stage in stages:
        checks.choice("costs", owner, stage, COUNTED)
    return {
        stage: checks.number(f"costs ({stage} of {name!r})", owner, seconds, low=0) for stage, seconds in stages.items()
    }


def _arm(
    source: Source,
    name: str,
    kind: Any,
    subsets: Mapping[int, Subset],
    folder: str,
    baseline: str | None = None,
    cost: Mapping[str, float] | None = None,
) -> PlannedArm:
    different = list({subset.fingerprint: subset for subset in subsets.values()}.values())
    size = len(different[0])
    balance = None
    if source.task == "classification" and source.labels is not None:
        labels = source.labels
        balance = float(np.mean([class_balance(labels[s.indices(source)], len(source.classes)) for s in different]))
    # Subsets drawn per seed have different certificates, none of which represents the arm.
    certificate = plain(different[0].certificate) if len(different) == 1 else {}
    return PlannedArm(
        Arm(
            name,
            kind,
            size,
            size / len(source),
            baseline,
            balance,
            dict(cost or {}),
            certificate,
            redrawn=len(different) > 1,
            soft=any(subset.targets is not None for subset in different),
        ),
        subsets,
        folder,
    )
