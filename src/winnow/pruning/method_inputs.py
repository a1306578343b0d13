"""What a method chooses by: observed once, scored, and handed to its selector, each as a step of the run."""

from __future__ import annotations

import warnings

from ..artefacts import Scores, Signals, Source
from ..core import registry
from ..core.run import Run
from ..engines import Engine
from ..models.identity import is_estimator
from ..scores.score import score as score_signals
from ..signals.observe import observe
from .candidate import bare
from .continuation import Arrival, continued_signals, keep_digests
from .resolved_request import Request, wanted_signals
from .unlabelled_features import unlabelled_features

__all__ = ["for_selector", "observed_signals", "scored"]

UNRELIABLE = 0.3  # below this rank correlation between halves of the seeds, a score says little


def observed_signals(
    source: Source, request: Request, run: Run, engine: Engine, arrival: Arrival | None = None
) -> Signals | None:
    """Record everything the method needs in one observation; None if it needs nothing."""
    needs = request.needs
    if request.signals is not None:
        return request.signals.take(source.ids)
    if not needs:
        return None
    embedded = None
    fits = is_estimator(request.observer)
    if "embeddings" in needs and (source.task == "unlabelled" or fits):
        model = "raw" if fits else request.observer
        embedded = run.step(
            "observe/embeddings",
            Signals,
            lambda: unlabelled_features(source, model, request.seed, run),
            file="signals.safetensors",
        )
        needs = needs - {"embeddings"}
    want = wanted_signals(needs)
    if not want:
        return embedded
    later = run.folder == ""  # a later run can go on from this one, but not from a fold of a search
    if later:
        keep_digests(source, run)
    if arrival is not None and embedded is None:
        return continued_signals(arrival, request, run, engine)
    seen = observe(
        source,
        request.observer,
        None if fits else request.recipe,
        request.numbers,
        want,
        keep_networks=later and not fits,
        seed=request.seed,
        out=run,
        engine=engine,
    )
    return seen if embedded is None else embedded.merge(seen)


def scored(signals: Signals | None, request: Request, run: Run) -> Scores | None:
    """Score what was observed, if the method has a score; warn of one that says little."""
    name = request.plan.score
    if name is None or signals is None:
        return None
    scores = run.step(
        f"score/{name}",
        Scores,
        lambda: score_signals(name, signals, **request.plan.score_parameters),
        key=[signals.fingerprint, *registry.codes(("score", name))],
        file=f"scores/{name}.parquet",
    )
    if scores.reliability is not None and scores.reliability < UNRELIABLE:
        warnings.warn(
            f"score {name!r} is unreliable here (rank correlation {scores.reliability:.2f} between halves of the "
            "seeds); use more seeds or epochs, or another method",
            stacklevel=4,
        )
    return scores


def for_selector(source: Source, signals: Signals | None, scores: Scores | None) -> Signals | Scores:
    """Return what the selector works on; a method that needs nothing still needs the ids."""
    if scores is not None:
        return scores
    if signals is not None:
        return signals
    return bare(source)
