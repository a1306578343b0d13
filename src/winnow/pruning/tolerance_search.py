"""The smallest subset within a tolerance: tried at one size after another, on rotating folds or on held-out examples.

If validation data are given, or the source cannot rotate (`rotating_folds`), the source is observed and scored once and
its subsets are measured on the validation examples. Otherwise each fold's training part is observed and scored by
itself, so that neither a choice nor soft targets come from a network that has seen the examples it is measured on. The
subset that is returned is then chosen from the whole source, at the smallest fraction that held.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..artefacts import Scores, Signals, Source, Subset, record
from ..artefacts.soft_labels import SoftLabels
from ..core.run import Run
from ..core.run_part import RunPart
from ..core.work_clock import begin, seconds_since
from ..engines import Engine
from ..evaluation.rotating_folds import rotating_folds
from ..evaluation.rotating_search import Turn, smallest_rotating
from ..evaluation.tolerance import Search, smallest_within
from ..sources.holdout import hold_out
from ..training import hold
from .candidate import all_but_suspects, drawn_candidate, weighted_targets, with_targets, without_suspects
from .found_subset import HELD_OUT, FoundSubset, codes_of, kept_subset
from .method_inputs import for_selector, observed_signals, scored
from .resolved_request import Request
from .selector_call import choose

__all__ = ["searched"]

SMALLEST = 0.05  # fraction where the search ends
IN_VIEW = (
    "The signals were given: they were recorded by a training on all examples, with those in view that each fold was "
    "measured on."
)


def searched(source: Source, request: Request, run: Run, engine: Engine) -> FoundSubset:
    """Search for the smallest subset within the tolerance."""
    parts = rotating_folds(hold(source), request.seed) if request.validation is None else None
    if parts is None:
        return _held_out(source, request, run, engine)
    return _rotated(source, parts, request, run, engine)


@dataclass
class _Chooser:
    """Chooses subsets of a source as `prune(keep=)` does, from one observation; counts the seconds."""

    source: Source
    request: Request
    signals: Signals | None
    scores: Scores | None
    seconds: float = 0.0

    @classmethod
    def of(cls, source: Source, request: Request, run: Run, engine: Engine) -> _Chooser:
        """Observe and score a source."""
        signals = observed_signals(source, request, run, engine)
        return cls(source, request, signals, scored(signals, request, run))

    def __call__(self, keep: float) -> Subset:
        """The subset of a fraction, with soft targets and without suspects."""
        start = begin()
        asked = dataclasses.replace(self.request, keep=keep)
        clean = without_suspects(self.source, self.signals, asked)
        drawn = drawn_candidate(self.source, self.signals, self.given, clean, asked, 0)
        made = with_targets(drawn, self.soft(keep), None, self.request)
        self.seconds += seconds_since(start)
        return made

    @property
    def given(self) -> Signals | Scores:
        """What the selector works on."""
        return for_selector(self.source, self.signals, self.scores)

    def soft(self, keep: float) -> SoftLabels | None:
        """The soft targets of all examples, weighted for a fraction."""
        return weighted_targets(self.source, self.signals, self.request, keep)


def _rotated(
    source: Source, parts: Sequence[tuple[Source, Source]], request: Request, run: Run, engine: Engine
) -> FoundSubset:
    """Search by rotating folds, then choose from everything."""
    assert request.tolerance is not None
    choosers = [
        _Chooser.of(rest, request, RunPart(run, f"search/fold-{fold}"), engine) for fold, (rest, _) in enumerate(parts)
    ]
    found = smallest_rotating(
        request.tolerance,
        [Turn(rest, part, chooser) for (rest, part), chooser in zip(parts, choosers, strict=True)],
        smallest=_smallest([rest for rest, _ in parts], request),
        model=request.model,
        recipe=request.recipe,
        seed=request.seed,
        metric=request.metric,
        run=run,
        engine=engine,
    )
    choosing = sum(chooser.seconds for chooser in choosers)
    if request.signals is not None and request.needs:
        found = dataclasses.replace(found, settings={**found.settings, "signals": IN_VIEW})
    if found.winner is None:
        subset = kept_subset(run, lambda: _everything(source, found, request), choosing, [found.certificate()])
        return FoundSubset(subset, None, None, None, None)
    whole = _Chooser.of(source, request, run, engine)

    def made() -> Subset:
        drawn = whole(found.keep)
        return dataclasses.replace(drawn, certificate={**drawn.certificate, **found.certificate()})

    subset = kept_subset(run, made, choosing, [whole.given.fingerprint, found.certificate(), codes_of(request)])
    clean = all_but_suspects(source, whole.signals)
    return FoundSubset(subset, whole.scores, whole.signals, whole.soft(found.keep), None, clean)


def _held_out(source: Source, request: Request, run: Run, engine: Engine) -> FoundSubset:
    """Search on validation examples: those given, or a fifth of the source, which is then in no subset."""
    whole, validation, reference = source, request.validation, f"all {len(source)} training examples"
    if validation is None:
        source, validation = hold_out(source, HELD_OUT, request.seed, ("train", "validation"))
        reference = f"all {len(source)} training examples"
        reference += f" ({len(validation)} of {len(whole)} are held out as validation examples)"
    signals = observed_signals(source, request, run, engine)
    scores = scored(signals, request, run)
    given = for_selector(source, signals, scores)
    choosing = 0.0

    def timed(keep: float) -> Subset:
        nonlocal choosing
        start = begin()
        subset = choose(signals, given, request, keep)
        soft = weighted_targets(source, signals, request, keep)
        choosing += seconds_since(start)
        return subset if soft is None else dataclasses.replace(subset, targets=soft)

    assert request.tolerance is not None
    found = smallest_within(
        request.tolerance,
        timed,
        source,
        validation,
        model=request.model,
        recipe=request.recipe,
        seed=request.seed,
        metric=request.metric,
        reference=reference,
        run=run,
        engine=engine,
    )
    sizes = None if found.subset is None else found.subset.fingerprint
    subset = kept_subset(
        run, lambda: _found(whole, found, request), choosing, [given.fingerprint, sizes, codes_of(request)]
    )
    soft = None if subset.targets is None else weighted_targets(source, signals, request, len(subset) / len(source))
    return FoundSubset(subset, scores, signals, None if soft is None else _with_labels(soft, whole), None)


def _smallest(sources: Sequence[Source], request: Request) -> float:
    """The fraction where the search ends: there is room for another example beside those marked to be kept."""
    room = max((int(request.always(source.ids).sum()) + 2) / len(source) for source in sources)
    return min(max(SMALLEST, room), 0.8)


def _with_labels(soft: SoftLabels, whole: Source) -> SoftLabels:
    """Soft targets of all examples: the labels themselves where the search held out and nothing was observed."""
    seen = np.isin(whole.ids, soft.ids)
    if seen.all() or whole.labels is None:
        return soft
    labels = np.asarray(whole.labels)
    one_hot = whole.task == "classification"
    rows = np.eye(len(whole.classes))[labels] if one_hot else labels.reshape(len(whole), -1).astype(np.float64)
    rows[seen] = soft.at(whole.ids[seen])
    return dataclasses.replace(soft, ids=whole.ids, values=rows, columns=None)


def _found(whole: Source, found: Search, request: Request) -> Subset:
    """Return the subset found by a search on held-out examples, or everything, with its certificate."""
    if found.subset is None:
        return _everything(whole, found, request)
    return dataclasses.replace(found.subset, certificate={**found.subset.certificate, **found.certificate()})


def _everything(whole: Source, found: Search, request: Request) -> Subset:
    """Return all examples, because no fraction held, with the measurements as their certificate."""
    return Subset(
        whole.ids,
        certificate={
            "method": "everything",
            "why": "no smaller part was shown to stay within the tolerance",
            **found.certificate(),
        },
        provenance=record("prune", dict(request.settings), {"source": whole.provenance}),
    )
