"""audit: what a subset is like, whoever chose it and with whatever tool.

One training on the data gives embeddings, difficulty and the labels that look wrong; or all of this is given. A head is
trained on the subset and compared with the head of all data; moments, coverage and class balance are compared with
those of all data. Every number stands beside that of random subsets of the same size, because that is what is free.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ..artefacts import Signals, Source, Subset, record
from ..artefacts.audit import Audit, Measure
from ..artefacts.gallery import Gallery
from ..checking.check_parameters import Rows, Seen, is_network
from ..core import checks
from ..core.errors import InputError
from ..core.parameter_names import of
from ..core.request import Parameter, RunDirectory, Seed, VerbRequest, request, whole
from ..core.run import Run
from ..core.seeds import drawn_first
from ..methods.lpntk import features
from ..models import choose
from ..models.identity import Network, describe, network_code
from ..models.text_transformers import gives_example_gradients
from ..report.audit_page import write_audit
from ..report.pictures import make_pictures
from ..signals.embed import embed, embeddings_of
from ..sources.openable import Data, test_sets
from ..training import Feed
from ..training.recipe import How
from .given_subset import given_subset
from .reduced_features import reduced
from .subset_measures import DIMS, Compared, kernel_coverage, measures_of
from .subset_profile import class_shares, inside_issues, kept_by_difficulty, worth_a_look
from .trained_once import PROJECTED, Trained

__all__ = ["audit"]

SAMPLED = 1_500  # most examples whose lpNTK features are compared

Given = Annotated[Any, Parameter("", plain=None, option=None)]
Test = Annotated[
    Any,
    Parameter("Test data for the forecast; the test split of the data if not given.", plain=None, kind=str | None),
]


def audit(
    subset: Given,
    source: Data,
    *,
    test: Test = None,
    signals: Seen = None,
    embeddings: Rows = None,
    model: Network = "auto",
    recipe: How = None,
    draws: Annotated[int, whole("Number of random subsets to compare with.", low=0, high=1000)] = 10,
    seed: Seed = 0,
    out: RunDirectory = None,
    **opening: Any,
) -> Audit:
    """Say what a subset is like, whoever chose it: coverage, balance, moments, a head's change, issues, a forecast.

    Parameters
    ----------
    subset
        A Subset; ids, or positions in the order of the data; or a file of them: a subset that winnow saved, parquet,
        CSV, TSV, JSON, .npy or text. A column `weight` is used if there is one.
    source
        The data it was chosen from: a Source, or anything that `wn.open` takes.
    test
        Test data for the forecast. If not given, the test split of the source, if it has one; otherwise, and with given
        embeddings, the forecast is for the examples that are not in the subset.
    signals
        What a training has recorded (`wn.observe`, a `Recorder`): difficulty and label issues come from there. Nothing
        is trained if they have embeddings, or `embeddings` is given.
    embeddings
        Signals with embeddings, an array with one row per example, or what `wn.embed` takes. Then nothing is trained,
        and difficulty, label issues and kernel coverage are left out unless `signals` has them.
    model, recipe
        What to train and how, as for `observe`, if neither signals nor embeddings are given.
    draws
        The number of random subsets of the same size to compare with.
    seed
        Decides everything random.
    out
        A run directory, which stores `audit.json`, `audit.html` and the trained network.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Audit
        Measures beside those of random subsets, classes, difficulty, issues inside, and notes. Printed, it is text.

    Raises
    ------
    InputError
        If the subset is not of this data, or a parameter has an invalid value.

    Examples
    --------
    >>> import winnow as wn
    >>> found = wn.audit(range(60), "digits", limit=200, embeddings="raw", draws=3)
    >>> found.size, found.measure("head change").value > 0
    (60, True)
    """
    asked = request(audit, locals())
    data: Source = asked.source
    chosen, name = given_subset(subset, data)
    if asked.test is not None and not _trains(asked):
        raise InputError(
            f"{of('test', 'audit')} needs a network that audit trains itself; with given embeddings leave it out, and "
            "the forecast is for the examples that are not in the subset."
        )
    other = test_sets(asked) if _trains(asked) else None
    settings = {
        "command": "audit",
        **asked.settings(),
        "model": describe(_network(asked)) if _trains(asked) else None,
        "subset": chosen.fingerprint,
        "test": None if other is None else other.fingerprint,
    }
    with Run.opened(out, settings, extend=False) as run:
        made_from = record("audit", settings, {"source": data.provenance})

        def made() -> Audit:
            return _audited(asked, chosen, name, other, run, made_from)

        code = network_code(_network(asked)) if _trains(asked) else None
        found = run.step("audit/result", Audit, made, key=code, file="audit.json")
        if run.path is not None:
            shown = list(dict.fromkeys(one.id for one in found.issues))
            pictures = run.step(
                "audit/pictures",
                Gallery,
                lambda: make_pictures(data, shown),
                key=list(map(str, shown)),
                file="pictures.json",
            )
            write_audit(found, pictures, Path(run.path) / "audit.html")
    return found


def _trains(asked: VerbRequest) -> bool:
    held = asked.signals is not None and "embeddings" in asked.signals
    return asked.embeddings is None and not held and asked.source.task == "classification"


def _network(asked: VerbRequest) -> Any:
    source = asked.source
    if isinstance(asked.model, str) and asked.model == "auto":
        return choose(source.shape, source.kind, source.outputs)
    return asked.model


def _audited(
    asked: VerbRequest, chosen: Subset, name: str, other: Source | None, run: Run, made_from: Mapping[str, Any]
) -> Audit:
    data, seed = asked.source, asked.seed
    seen, trained = asked.signals, None
    if _trains(asked):
        trained = Trained.by(run, data, _network(asked), asked.recipe, seed, "audit", gradients=False)
        seen = trained.signals if seen is None else seen
        points, beyond, named = _embedded_by(trained, other)
    else:
        points, named = _embedded(asked)
        beyond = None
    order = data.order  # everything is in the order of the ids, which decides ties and rounding
    flat, others = reduced(points[order], beyond, DIMS)
    compared = Compared(
        points=flat,
        labels=None if data.labels is None else np.asarray(data.labels)[order],
        task=data.task,
        classes=len(data.classes),
        kept=np.searchsorted(data.ids[order], chosen.ids),
        weights=chosen.weights,
        ids=data.ids[order],
        seed=seed,
        draws=asked.draws,
        other=others,
        truth=None if other is None or others is None else np.asarray(other.labels),
    )
    measures = measures_of(compared)
    if trained is not None and gives_example_gradients(trained.net):
        measures.append(_kernel(trained, compared, seed))
    kept = data.positions(chosen.ids)
    shares, balance = class_shares(data, kept, chosen.weights)
    issues, found = inside_issues(data, kept, seen, seed)
    deciles = kept_by_difficulty(seen, chosen)
    return Audit(
        subset=name,
        source=data.name,
        examples=len(data),
        size=len(chosen),
        weighted=chosen.weighted,
        effective_size=float(chosen.weights.sum() ** 2 / np.square(chosen.weights).sum()),
        features=named,
        measures=tuple(measures),
        draws=asked.draws,
        classes=shares,
        class_balance=balance,
        deciles=deciles,
        found=found,
        issues=issues,
        notes=tuple(worth_a_look(measures, shares, deciles, found, len(chosen))),
        provenance=made_from,
    )


def _embedded_by(trained: Trained, other: Source | None) -> tuple[Any, Any, str]:
    """Embeddings of the trained network, of the data and of test data in their own order, and their name."""

    def rows(feed: Feed) -> Any:
        found = embeddings_of(trained.net, feed, trained.recipe, None)[0]
        out = np.empty((len(found), found[0].size))
        out[feed.order] = found.reshape(len(found), -1)
        return out

    beyond = None if other is None else rows(Feed(other, trained.feed.scaling))
    return rows(trained.feed), beyond, f"features of {trained.name}, trained on all data"


def _embedded(asked: VerbRequest) -> tuple[Any, str]:
    """Embeddings as given, or the inputs themselves, in the order of the data; and their name."""
    data, given = asked.source, asked.embeddings
    if given is None and asked.signals is not None and "embeddings" in asked.signals:
        given = asked.signals
    if isinstance(given, Signals):
        if "embeddings" not in given:
            raise InputError("embeddings of audit must be Signals with embeddings; those given have none.")
        return given.take(data.ids).embeddings.reshape(len(data), -1), "given embeddings"
    if given is None or is_network(given):
        network = "raw" if given is None else given
        told = f"features of {network if isinstance(network, str) else 'the given network'}"
        rows = embed(data, network, seed=asked.seed).embeddings.reshape(len(data), -1)
        return rows, "scaled inputs" if network == "raw" else told
    return checks.array("embeddings", "audit", given, ndim=2, rows=len(data)), "given embeddings"


def _kernel(trained: Trained, compared: Compared, seed: int) -> Measure:
    """Coverage by lpNTK, over a sample of the examples; the feed has the order of the ids."""
    where = np.sort(drawn_first(seed, "audit kernel", compared.ids, SAMPLED))
    rows = features(trained.net, trained.feed.inputs(where), trained.labels[where], project=PROJECTED, seed=seed)
    return kernel_coverage(compared, np.asarray(rows, dtype=np.float64), where)
