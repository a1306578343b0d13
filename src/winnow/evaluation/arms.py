"""The arms of a study: the subsets under test, random ones of the same sizes, and the full data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..artefacts import Source, Subset
from ..artefacts.ledger import COUNTED
from ..artefacts.quotas import class_balance
from ..artefacts.soft_labels import SoftLabels
from ..artefacts.study import Arm
from ..core import checks
from ..core.errors import InputError
from ..core.files import file_name, plain
from ..core.seeds import drawn_first
from .retrain import Training

__all__ = ["FULL", "PlannedArm", "check_soft", "cost_of", "plan"]

FULL = "full"
RANDOM = "random"
SOFT = "soft"


@dataclass(frozen=True, eq=False)
class PlannedArm:
    """An arm and its training set per seed."""

    arm: Arm
    subsets: Mapping[int, Subset]
    folder: str
    soft: bool = False

    def training(self, seed: int) -> Training:
        """Return its training under one seed."""
        return Training(self.arm.name, self.subsets[seed], seed, f"study/trainings/{self.folder}", self.soft)


def plan(
    source: Source,
    subsets: object,
    seeds: Sequence[int],
    *,
    random: bool,
    full: bool,
    seed: int,
    costs: Mapping[str, Mapping[str, float]],
    soft: SoftLabels | None = None,
) -> list[PlannedArm]:
    """Return all arms: full, random from the largest size to the smallest, the subsets as given, the soft ones."""
    given = _given(source, subsets, seeds)
    for name in costs:
        if name not in given:
            raise InputError(f"costs of evaluate name the arm {name!r}; the subsets are {', '.join(given) or 'none'}.")
    planned: list[PlannedArm] = []
    if full:
        everything = Subset(source.ids)
        planned.append(_arm(source, FULL, "full", dict.fromkeys(seeds, everything), FULL))
    baselines: dict[int, str] = {}
    if random:
        sizes = {len(next(iter(by_seed.values()))) for by_seed in given.values()}
        if full and len(source) in sizes:
            baselines[len(source)] = FULL  # a random draw of all examples is the full data
        baselines |= _random_names(sizes - set(baselines), len(source))
        for size in sorted(sizes, reverse=True):
            if baselines[size] != FULL:
                draws = {number: _draw(source, size, seed, number) for number in seeds}
                # The folder is named by the count, so that adding another size later does not rename it.
                planned.append(_arm(source, baselines[size], "random", draws, f"{RANDOM}@{size}"))
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
    return planned if soft is None else [*planned, *_soft_arms(planned, soft)]


def check_soft(source: Source, soft: object, fits: bool) -> SoftLabels | None:
    """Return soft labels with columns in the order of the source's classes; raise if they do not fit."""
    if soft is None:
        return None
    if not isinstance(soft, SoftLabels):
        raise InputError(f"soft of evaluate must be SoftLabels (wn.relabel.soft_labels); got {type(soft).__name__}.")
    if source.task != "classification" or sorted(soft.classes) != sorted(source.classes):
        ours = f"the {len(source.classes)} classes" if source.task == "classification" else "classes, and has none,"
        raise InputError(
            f"soft of evaluate must have {ours} of source {source.name!r}, by the same names; "
            f"got {len(soft.classes)}: {', '.join(soft.classes[:3])} ..."
        )
    if fits:
        raise InputError("soft of evaluate is for networks; an estimator is fitted to labels.")
    return soft.with_classes(source.classes)


def _soft_arms(planned: Sequence[PlannedArm], soft: SoftLabels) -> list[PlannedArm]:
    """Repeat each arm except full, with soft labels."""
    names = {one.arm.name for one in planned}
    paid = {"targets": soft.seconds, "pretrain": soft.prior_seconds}
    made = []
    for one in planned:
        if one.arm.kind == "full":
            continue
        name = f"{SOFT} {one.arm.name}"
        if name in names:
            raise InputError(
                f"names in subsets of evaluate must not be {name!r}, which evaluate adds itself for soft=."
            )
        for subset in {id(s): s for s in one.subsets.values()}.values():
            try:
                soft.at(subset.ids)
            except InputError as error:
                raise InputError(f"soft of evaluate lacks examples of arm {one.arm.name!r}: {error}") from None
        random = one.arm.kind == "random"
        baseline = one.arm.name if random else one.arm.baseline
        if not random and baseline is not None:
            baseline = None if baseline == FULL else f"{SOFT} {baseline}"  # full is not trained on soft labels
        known = random or bool(one.arm.selection)  # a sum with an unknown part is unknown
        cost = {**one.arm.selection} if known else {}
        for stage, seconds in paid.items() if known else ():
            cost[stage] = cost.get(stage, 0.0) + seconds
        arm = replace(one.arm, name=name, kind="subset", baseline=baseline, selection=cost)
        # A folder that no subset's name can produce: see `file_name`.
        made.append(PlannedArm(arm, one.subsets, f"{SOFT}~{one.folder}", soft=True))
    return made


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
        if name == FULL or name.startswith(RANDOM):
            raise InputError(
                f"names in subsets of evaluate must not be {FULL!r} or start with {RANDOM!r}, which "
                f"evaluate adds itself; got {name!r}."
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


def _random_names(sizes: set[int], total: int) -> dict[int, str]:
    """`random@FRACTION` for each size, `random@COUNT` for sizes whose fractions round to the same."""
    short = {size: f"{size / total:.3g}" for size in sizes}
    alike = [text for text in short.values() if list(short.values()).count(text) > 1]
    return {size: f"{RANDOM}@{size if text in alike else text}" for size, text in short.items()}


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
        Arm(name, kind, size, size / len(source), baseline, balance, dict(cost or {}), certificate), subsets, folder
    )
