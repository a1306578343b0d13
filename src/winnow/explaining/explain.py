"""explain: which examples a network learns together, and which against each other.

It takes one training on the source and computes the labelled pseudo neural tangent kernel of the trained network. For
one example, it shows which others a step on it helps, which it sets back, how far it moves the network compared with
others, and whether its class supports its label. For a data set, it shows how the classes relate, and the label issues.
The kernel is exact for up to 4,096 examples; beyond that it uses projected features.

The training that this needs is recorded, and a label looks wrong if the score `mislabelled` of the recording gives it
a probability above one half. `wn.check` does the same with more trainings, on examples that a network did not see, and
is the better way to find label issues; this shows what such a label is learned together with, and against.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, overload

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Provenance, Signals, Source, record
from ..artefacts.explanation import DatasetExplanation, Explanation, Partner
from ..artefacts.finding import FEWEST_JUDGED
from ..artefacts.gallery import Gallery
from ..core.files import file_name
from ..core.request import Parameter, RunDirectory, Seed, whole
from ..core.request import request as ask
from ..core.run import Run
from ..methods.lpntk import FeatureRows, neighbours
from ..methods.lpntk.relations import Partners
from ..models import choose
from ..models.identity import Network, describe, network_code
from ..report.explanation_page import write_explanation
from ..report.pictures import make_pictures
from ..sources.openable import Data
from ..training import predict
from ..training.recipe import How
from .asked_example import part_and_place
from .class_relations import JUDGED, THRESHOLD, Examples, drawn_by_class, relate
from .doubted_labels import LIKELY, UNRELATED, DoubtedLabels, witness
from .trained_once import Trained

__all__ = ["DatasetExplanation", "Explanation", "Partner", "explain", "page_name"]

LIMIT = "Use only this many examples, drawn at random per class; an id not drawn is added, with a new training."


@overload
def explain(source: Data, id: None = None, **how: Any) -> DatasetExplanation: ...
@overload
def explain(source: Data, id: int | str | np.integer[Any], **how: Any) -> Explanation: ...
def explain(
    source: Data,
    id: Any = None,
    *,
    model: Network = "auto",
    recipe: How = None,
    k: Annotated[int, whole("Number of other examples to list.", low=1, option="neighbours")] = 5,
    errors: Annotated[int, whole("Number of suspicious labels to list, at most.", low=1)] = 20,
    limit: Annotated[int | None, Parameter(LIMIT)] = None,
    seed: Seed = 0,
    out: RunDirectory = None,
    **opening: Any,
) -> Explanation | DatasetExplanation:
    """Train once, and show what an example is interchangeable with and contradicts, or how all classes relate.

    Parameters
    ----------
    source
        The examples, with class labels: a Source, or anything that `wn.open` takes.
    id
        The id of the example; a number may be given as text. None explains the data set: how its classes relate, and
        its label issues.
    model, recipe
        What to train and how, as for `observe`.
    k
        The most partners to list.
    errors
        The most label issues to list.
    limit
        Use only this many examples, sampled by class. If the example with the given id is not among them, it is added,
        which makes another part of the source and needs another training.
    seed
        Decides everything random.
    out
        A run directory, which stores the result as JSON and as an HTML page, and the trained network. The same call, or
        one for another example, does not train again, unless `limit` did not sample that example: each part of the
        source has its own network, and all are stored.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Explanation or DatasetExplanation
        About one example if an id is given, and otherwise about the data set. Printed, it is text to read.

    Raises
    ------
    InputError
        If a parameter is not what is allowed, or the source has no example with that id.
    NotDefinedError
        If the data have no class labels.

    Examples
    --------
    >>> import winnow as wn
    >>> found = wn.explain("digits", limit=100, recipe=wn.Recipe(epochs=2), k=3)
    >>> found.source, len(found.relations)
    ('digits', 55)
    """
    request = ask(explain, locals())
    source = request.source
    part, place = part_and_place(source, id, limit, seed)
    network = choose(part.shape, part.kind, part.outputs) if isinstance(model, str) and model == "auto" else model
    lists = {"k": k, "errors": errors}  # how much is listed decides nothing that is computed
    asked = {name: value for name, value in request.settings().items() if name not in (*lists, "source")}
    asked["model"] = describe(network)
    settings = {"command": "explain", "source": source.fingerprint, **asked}
    with Run.opened(out, settings, extend=False) as run:

        def trained() -> Trained:
            return Trained.by(run, part, network, request.recipe, seed)

        if place is None:
            made_from = record("explain", {**asked, **lists}, {"source": part.provenance})
            found: Explanation | DatasetExplanation = run.step(
                "explain/dataset",
                DatasetExplanation,
                lambda: _dataset(source, trained(), k, errors, made_from),
                key=[k, errors, network_code(network)],
                file="explanation.json",
            )
        else:
            made_from = record("explain", {**asked, "k": k}, {"source": part.provenance})
            word = page_name(part.ids[place])
            found = run.step(
                f"explain/{word}",
                Explanation,
                lambda: _example(source, trained(), place, k, made_from),
                key=[k, network_code(network)],
                file=f"{word}.json",
            )
        if run.path is not None:
            _write_page(run, part, found)
    return found


def page_name(id: Any = None) -> str:
    """The file name for an example, or for the data set."""
    return "explanation" if id is None else f"example-{file_name(str(id))}"


def _dataset(source: Source, by: Trained, k: int, errors: int, made_from: Provenance) -> DatasetExplanation:
    among = by.examples(drawn_by_class(by.labels, JUDGED, by.seed))
    about = {
        "source": source.name,
        "model": by.name,
        "examples": len(by.feed),
        "exact": not isinstance(among.kernel, FeatureRows),
        "provenance": made_from,
    }
    doubts = DoubtedLabels.of(by.signals, among.ids)
    return relate(among, about, k=k, errors=errors, seed=by.seed, doubts=doubts)


def _example(source: Source, by: Trained, place: int, k: int, made_from: Provenance) -> Explanation:
    i = int(np.flatnonzero(by.feed.order == place)[0])
    said = int(predict(by.net, by.feed, by.recipe)[i].argmax())
    among = by.examples(np.arange(len(by.feed)))
    lengths = _diagonal(among.kernel)
    near = neighbours(among.kernel, i, len(among) - 1)

    def partners(found: Partners) -> tuple[Partner, ...]:
        return tuple(
            Partner(among.id(j), among.label(j), float(cosine), float(weak))
            for j, cosine, weak in zip(found.positions[:k], found.cosine, _weaker(found), strict=False)
            if abs(weak) > UNRELATED
        )

    return Explanation(
        id=among.id(i),
        label=among.label(i),
        predicted=among.classes[said],
        source=source.name,
        model=by.name,
        examples=len(among),
        same_way=partners(near.interchangeable),
        against=partners(near.contradictory),
        interchangeable=int((_weaker(near.interchangeable) >= THRESHOLD).sum()),
        contradictory=int((_weaker(near.contradictory) <= -THRESHOLD).sum()),
        threshold=THRESHOLD,
        self_kernel=float(lengths[i]),
        self_rank=int((lengths > lengths[i]).sum()) + 1,
        **_judged(among, i, by.signals),
        exact=not isinstance(among.kernel, FeatureRows),
        provenance=made_from,
    )


def _write_page(run: Run, part: Source, found: Explanation | DatasetExplanation) -> None:
    """Write the page of an explanation, with images of the examples it mentions."""
    one = found.id if isinstance(found, Explanation) else None
    word = page_name(one)
    pictures = run.step(
        f"explain/{word}-pictures",
        Gallery,
        lambda: make_pictures(part, found.named()),
        key=sorted(map(str, found.named())),
        file=f"{word}-pictures.json",
    )
    write_explanation(found, pictures, Path(run.path or ".") / f"{word}.html")


def _judged(among: Examples, i: int, signals: Signals) -> dict[str, Any]:
    """Whether the label of an example looks wrong."""
    peers = int((among.labels == among.labels[i]).sum()) - 1
    doubts = DoubtedLabels.of(signals, among.ids)
    if doubts is None or peers + 1 < FEWEST_JUDGED:
        return {"peers": peers}
    likely = int(doubts.likely[i])
    return {
        "peers": peers,
        "label_score": float(doubts.probability[i]),
        "label_rank": doubts.rank(i),
        "label_bound": LIKELY,
        "looks_wrong": bool(doubts.probability[i] > LIKELY),
        "suggested": among.classes[likely],
        "witness": witness(among, i, likely),
    }


def _diagonal(kernel: NDArray[Any] | FeatureRows) -> NDArray[np.float64]:
    if isinstance(kernel, FeatureRows):
        return np.asarray(np.einsum("ij,ij->i", kernel.values, kernel.values, dtype=np.float64))
    return kernel.diagonal().astype(np.float64)


def _weaker(found: Partners) -> NDArray[np.float64]:
    """The projection of smaller absolute value, which is compared with the threshold."""
    return np.where(np.abs(found.own) < np.abs(found.other), found.own, found.other)
