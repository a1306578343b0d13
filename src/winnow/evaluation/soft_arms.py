"""Arms trained on soft labels: each subset and each free alternative once more, from the same weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..artefacts import Source
from ..artefacts.soft_labels import SoftLabels
from ..artefacts.study import Arm
from ..core.errors import InputError
from .arms import FULL, PlannedArm

__all__ = ["check_soft", "with_soft"]

SOFT = "soft"
OBSERVED = "soft_targets"  # the step in the provenance of soft labels that are predictions of observed networks


def check_soft(source: Source, soft: object, fits: bool) -> SoftLabels | None:
    """Return soft labels with columns in the order of the source's classes; raise if they do not fit."""
    if soft is None:
        return None
    if not isinstance(soft, SoftLabels):
        raise InputError(f"soft of evaluate must be SoftLabels (wn.relabel.soft_labels); got {type(soft).__name__}.")
    if source.task == "regression" and not soft.classes:
        if soft.values.shape[1] != source.outputs:
            raise InputError(
                f"soft of evaluate must have {source.outputs} columns, one per output of source {source.name!r}; got "
                f"{soft.values.shape[1]}."
            )
    elif sorted(soft.classes) != sorted(source.classes) or not soft.classes:
        ours = f"the {len(source.classes)} classes" if source.classes else "classes, and has none,"
        raise InputError(
            f"soft of evaluate must have {ours} of source {source.name!r}, by the same names; "
            f"got {len(soft.classes)}: {', '.join(soft.classes[:3])} ..."
        )
    if soft.several != (source.task == "multilabel"):
        needs = "a probability per label" if not soft.several else "probabilities of classes"
        raise InputError(f"soft of evaluate must hold {needs} for source {source.name!r}, which is {source.task}.")
    if fits:
        raise InputError("soft of evaluate is for networks; an estimator is fitted to labels.")
    return soft.with_classes(source.classes) if soft.classes else soft


def with_soft(planned: Sequence[PlannedArm], soft: SoftLabels) -> list[PlannedArm]:
    """Repeat with soft labels what is trained on labels, except full; those with targets of their own stay as they are.

    Where a subset has targets of its own, the free alternatives of its size are trained with its weight, and its
    baseline is the random one with soft labels.
    """
    own = {one.arm.size: _weight(one) for one in planned if one.arm.soft}
    names = {one.arm.name for one in planned}
    observed = _observed(planned, soft)
    made = []
    for one in planned:
        if one.arm.kind == "full" or one.arm.soft:
            continue
        name = f"{SOFT} {one.arm.name}"
        if name in names:
            raise InputError(
                f"names in subsets of evaluate must not be {name!r}, which evaluate adds itself for soft=."
            )
        if one.arm.kind != "subset" and not _covered(one, soft):
            continue  # soft labels were made for a part of the source, such as the part that is not held out
        _check_ids(one, soft)
        weight = soft.weight if one.arm.kind == "subset" else own.get(one.arm.same_steps or one.arm.size, soft.weight)
        paid = _paid(one.arm, soft, observed)
        arm = replace(one.arm, name=name, soft=True, baseline=_baseline(one.arm), selection=paid)
        arm = replace(arm, kind="subset") if arm.kind == "random" else arm
        # A folder that no subset's name can produce: see `file_name`.
        made.append(PlannedArm(arm, one.subsets, f"{SOFT}~{one.folder}", soft=weight))
    added = {one.arm.name for one in made}
    kept = [
        replace(one, arm=replace(one.arm, baseline=f"{SOFT} {one.arm.baseline}"))
        if one.arm.soft and f"{SOFT} {one.arm.baseline}" in added
        else one
        for one in planned
    ]
    return [*kept, *made]


def _weight(one: PlannedArm) -> float:
    targets = next(iter(one.subsets.values())).targets
    return 1.0 if targets is None else targets.weight


def _covered(one: PlannedArm, soft: SoftLabels) -> bool:
    return all(bool(np.isin(subset.ids, soft.ids).all()) for subset in one.subsets.values())


def _check_ids(one: PlannedArm, soft: SoftLabels) -> None:
    for subset in {id(s): s for s in one.subsets.values()}.values():
        try:
            soft.take(subset.ids)
        except InputError as error:
            raise InputError(f"soft of evaluate lacks examples of arm {one.arm.name!r}: {error}") from None


def _baseline(arm: Arm) -> str | None:
    """For random, the same with labels; for a subset, the random one with soft labels."""
    if arm.kind == "random":
        return arm.name
    return None if arm.baseline in (None, FULL) else f"{SOFT} {arm.baseline}"  # full is not trained on soft labels


def _observed(planned: Sequence[PlannedArm], soft: SoftLabels) -> float | None:
    """Seconds of the observation that gave the soft labels; None if they came from elsewhere, NaN if unknown.

    If the soft labels do not say, it is what the subsets under test paid for theirs: soft targets that come with a
    subset are of the same observation.
    """
    if soft.provenance.get("step") != OBSERVED:
        return None
    if soft.prior_seconds > 0:
        return soft.prior_seconds
    return max((one.arm.selection["observe"] for one in planned if "observe" in one.arm.selection), default=math.nan)


def _paid(arm: Arm, soft: SoftLabels, observed: float | None) -> dict[str, float]:
    """The cost of the arm and of the soft labels; a sum with an unknown part is unknown.

    An arm that was itself chosen by an observation pays for one.
    """
    if (arm.kind == "subset" and not arm.selection) or (observed is not None and math.isnan(observed)):
        return {}
    cost = dict(arm.selection)
    if observed is None:
        cost["pretrain"] = cost.get("pretrain", 0.0) + soft.prior_seconds
    else:
        cost["observe"] = max(cost.get("observe", 0.0), observed)
    cost["targets"] = cost.get("targets", 0.0) + soft.seconds
    return cost
