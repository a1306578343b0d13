"""The candidate of a pruning: its soft targets, its draws without suspects, and its trial by the veto."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores, Signals, Source, Subset
from ..artefacts.soft_labels import SoftLabels
from ..core import checks
from ..core.run import Run
from ..engines import Engine
from ..scores.mislabelled import label_evidence
from ..scores.target_evidence import target_evidence
from ..scores.wrong_share import SUREST
from ..selectors.method_string import parse_method
from ..signals.soft_targets import soft_targets
from ..training.mixing_weight import mixing_weight
from .auto import Chosen
from .continuation import KeptTrial
from .resolved_request import Request
from .selector_call import choose
from .veto import Untried, Veto, can_be_tried
from .veto import veto as measured_veto

__all__ = [
    "all_but_suspects",
    "at_random",
    "bare",
    "drawn_candidate",
    "suspects",
    "targets_for",
    "tried_candidate",
    "weighted_targets",
    "with_targets",
    "without_suspects",
]

SUSPECT = 0.5  # probability from which on a label counts as wrong
WORTH = 0.02  # share of suspects below which leaving them out gains nothing to be seen, and may cost hard examples
SURE = 0.75  # mean probability of the likeliest class for the surest fifth; with less, a network knows too little


def weighted_targets(
    source: Source, signals: Signals | None, request: Request, keep: float | None
) -> SoftLabels | None:
    """The soft targets of all examples, weighted for this fraction."""
    return targets_for(source, signals, keep or 0.5) if request.soft and signals is not None else None


def targets_for(source: Source, signals: Signals, keep: float) -> SoftLabels:
    """The soft targets that signals hold for a source, with the weight for a fraction."""
    made = soft_targets(signals.take(source.ids))
    classes = len(source.classes) if source.task == "classification" else 0
    weight = mixing_weight(keep, _accuracy(made, source), classes)
    return dataclasses.replace(made.with_classes(source.classes), weight=weight)


def _accuracy(soft: SoftLabels, source: Source) -> float:
    """Share of the labels that the soft targets predict, or R2; of several labels, the mean R2 of their probabilities.

    It is held-out accuracy if they are out of fold. Otherwise it is accuracy during training: a network that has not
    memorised its data does about as well on new data, and one that has is not a weak one.
    """
    if source.task == "classification":
        return soft.agreement(source)
    order = source.order  # of the ids, so that sums are the same to the last digit whatever the order of the source
    truth = np.asarray(source.labels, dtype=np.float64).reshape(len(source), -1)[order]
    told = truth.var(0) > 0  # a label that all examples have, or none, has nothing to predict
    missed = ((soft.at(source.ids[order]) - truth) ** 2).mean(0)
    return float((1 - missed[told] / truth.var(0)[told]).mean())


def without_suspects(source: Source, signals: Signals | None, request: Request) -> NDArray[Any] | None:
    """The ids left after likely wrong labels, which the observation shows for free; None leaves nothing out.

    They are left out if `auto` chooses, and if enough others remain to choose from.
    """
    flagged = suspects(source, signals)
    if request.asked != "auto" or request.keep_suspects or flagged is None:
        return None
    flagged = flagged & ~request.trusted(source.ids)
    if not flagged.any():
        return None
    left = source.ids[~flagged]
    enough = request.keep is not None and left.size >= 1.2 * request.keep * len(source)
    return left if enough else None


def suspects(source: Source, signals: Signals | None) -> NDArray[np.bool_] | None:
    """Whose labels or targets are likely wrong, by what training revealed; None if that cannot be said."""
    if signals is None or "predictions" not in signals or source.task not in ("classification", "regression"):
        return None
    seen = signals.take(source.ids)
    if source.task == "classification":
        return _suspect_labels(source, seen) if "margins" in seen else None
    truth = np.asarray(source.labels, dtype=np.float64).reshape(len(source), -1)
    predicted = seen.array("predictions", "prune").mean(axis=0, dtype=np.float64).reshape(truth.shape)
    return np.asarray(target_evidence(truth, predicted).probability >= SUSPECT)


def _suspect_labels(source: Source, seen: Signals) -> NDArray[np.bool_]:
    """Whose class is likely wrong.

    A network that ends up predicting the label has learned it, early or late, so such a label is no suspect: on clean
    data most of the labels learned late are right but hard. Nobody is one if they are few, or if the network has not
    learned enough to be sure of anything: then it disagrees with half of the labels, and they are right.
    """
    chances = seen.array("predictions", "prune").mean(axis=0)
    surest = np.sort(chances.max(axis=1))[-max(1, len(chances) // SUREST) :]
    if surest.mean() < SURE:
        return np.zeros(len(chances), dtype=bool)
    learned = chances.argmax(axis=1) == np.asarray(source.labels)
    flagged = np.asarray((label_evidence(seen).probability >= SUSPECT) & ~learned)
    return flagged if flagged.mean() >= WORTH else np.zeros_like(flagged)


def all_but_suspects(source: Source, signals: Signals | None) -> Subset | None:
    """Everything but likely wrong labels; None if there are none, or nothing is known of them."""
    flagged = suspects(source, signals)
    if flagged is None or not flagged.any():
        return None
    words = f"{wrong_labels(int(flagged.sum()), source)} are left out"
    about = {"method": "clean", "why": words}
    return Subset(source.ids[~flagged], certificate={**about, "suspects_left_out": int(flagged.sum())})


def wrong_labels(count: int, source: Source) -> str:
    """So many likely wrong labels, in words; targets if the labels are numbers."""
    return f"{count} likely wrong {'target' if source.task == 'regression' else 'label'}{'' if count == 1 else 's'}"


def drawn_candidate(
    source: Source,
    signals: Signals | None,
    given: Signals | Scores,
    clean: NDArray[Any] | None,
    request: Request,
    number: int,
) -> Subset:
    """One draw of the candidate from a source, without suspects if there are any."""
    if clean is None:
        near = None if signals is None else signals.take(source.ids)
        return choose(near, given.take(source.ids), request, request.keep, number)
    ids = source.ids[np.isin(source.ids, clean)]
    size = checks.size_from("prune", len(source), request.keep)
    near = None if signals is None else signals.take(ids)
    subset = choose(near, given.take(ids), request, None, number, size=min(size, ids.size))
    about = {"fraction": len(subset) / len(source), "suspects_left_out": len(source) - ids.size}
    return dataclasses.replace(subset, certificate={**subset.certificate, **about})


def with_targets(
    subset: Subset, soft: SoftLabels | None, tried: Veto | Untried | KeptTrial | None, request: Request
) -> Subset:
    """The subset with its soft targets, and what was tried in its certificate."""
    about: dict[str, Any] = {} if soft is None else {"soft_weight": soft.weight}
    left_out = subset.certificate.get("suspects_left_out")
    if left_out:
        about["why"] = f"{subset.certificate['why']}; {wrong_labels(left_out, request.source)} are left out"
    if tried is not None:
        said = tried.sentence(request.metric)
        about["why"] = f"{about.get('why', subset.certificate['why'])}; {said}" if tried.holds else said
        about["veto"] = tried.certificate()
    return dataclasses.replace(subset, targets=soft, certificate={**subset.certificate, **about})


def tried_candidate(
    source: Source,
    signals: Signals | None,
    given: Signals | Scores,
    clean: NDArray[Any] | None,
    soft: SoftLabels | None,
    request: Request,
    run: Run,
    engine: Engine,
) -> Veto | Untried:
    """Measure the candidate of `auto` against random, if there are enough examples."""
    if not can_be_tried(source):
        return Untried(request.method.name, holds=request.method.covers, soft=request.soft)
    plain = at_random(request)

    def candidate(part: Source, number: int) -> Subset:
        return trained(drawn_candidate(part, signals, given, clean, request, number + 1))

    def random(part: Source, number: int) -> Subset:
        return trained(choose(None, bare(part), plain, request.keep, number + 1))

    def trained(subset: Subset) -> Subset:
        return dataclasses.replace(subset, targets=soft)

    def measured(pairs: int | None, folder: str = "veto") -> Veto:
        return measured_veto(
            request.method.name,
            source,
            candidate,
            random,
            keep=request.keep or 0.5,
            model=request.observer,
            recipe=request.recipe,
            match_iterations=request.match_iterations,
            seed=request.seed,
            pairs=pairs,
            run=run,
            engine=engine,
            folder=folder,
            metric=request.metric,
        )

    if request.earlier:
        found = measured(1, "veto/beside-plan").joined(request.earlier)  # apart, so that both are kept and counted
        if found is not None:
            return found
    return measured(request.pairs)


def at_random(request: Request) -> Request:
    """The same request by random draws."""
    return dataclasses.replace(request, method=Chosen("random", "drawn at random"), plan=parse_method("random"))


def bare(source: Source) -> Scores:
    """The ids and labels of a source, for a selector that needs nothing else."""
    made_from = {"step": "open", "inputs": {"source": source.provenance}}
    zeros = np.zeros(len(source))
    return Scores("none", source.ids, zeros, None, source.task, source.labels, source.classes, provenance=made_from)
