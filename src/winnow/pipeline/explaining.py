"""explain: what a network learns an example together with, and what it learns against it.

One training on the source, then the labelled pseudo neural tangent kernel of the trained network: which examples a step
on this one helps, which it sets back, how far it moves the network compared with others, and whether its own class
stands by its label. The kernel is exact for up to `EXACT` examples and of projected features beyond.

A label looks wrong if its contradiction score is far out among those of its class: above the upper quartile by more
than three times the distance of the quartiles. That is a reason to look, not a proof; how many wrong labels it finds
has not been studied here yet.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .. import checks
from ..artefacts import Provenance, Source, record
from ..data.holdout import sample
from ..errors import InputError, NotDefinedError
from ..lpntk import FeatureRows, contradictions, features, gram, neighbours
from ..lpntk.relating import Partners
from ..models import build, choose
from ..models.identity import describe
from ..seeds import number as seed_number
from ..training import Feed, Recipe, predict, train
from ..training.recipe import recipe_of

__all__ = ["Explanation", "Partner", "explain"]

EXACT = 4096  # examples whose kernel is held whole
PROJECTED = 2048  # length of the features beyond that; the standard deviation of a cosine is then at most 0.03
JUDGED = 20_000  # examples among which labels are judged: a class is compared with itself, pair by pair
THRESHOLD = 0.75  # of `relations`
FAR = 3.0  # distances of the quartiles above the upper one


@dataclass(frozen=True)
class Partner:
    """Another example: its id, its label, the cosine, and the smaller of the two projections by size."""

    id: Any
    label: str
    cosine: float
    projection: float


@dataclass(frozen=True)
class Explanation:
    """How an example stands to the others.

    Attributes
    ----------
    id, label, predicted
        The example, its label, and what the network says that was trained on it and the others.
    source, model, examples
        What was trained on and with, and how many examples there were.
    same_way, against
        The examples that a step on this one helps most, and sets back most, the strongest first by the smaller
        projection, as `neighbours` ranks them.
    interchangeable, contradictory, threshold
        How many reach the threshold in either sense.
    self_kernel, self_rank
        The squared length of its feature, and its place among all, 1 for the longest.
    label_score, label_rank, label_bound, looks_wrong
        How little its class supports it (0 fully, 1/2 not at all, 1 contradicts), the place of that among all, the
        score from which a label of its class looks wrong, and whether this one does; None where there are too many
        examples to judge.
    suggested, witness
        The class it is nearest to other than its own, a hint only, and the id of the nearest example there.
    exact
        Whether the kernel is exact or of projected features.
    provenance
        Where the explanation came from.
    """

    id: Any
    label: str
    predicted: str
    source: str
    model: str
    examples: int
    same_way: tuple[Partner, ...]
    against: tuple[Partner, ...]
    interchangeable: int
    contradictory: int
    threshold: float
    self_kernel: float
    self_rank: int
    label_score: float | None = None
    label_rank: int | None = None
    label_bound: float | None = None
    looks_wrong: bool | None = None
    suggested: str | None = None
    witness: Any = None
    exact: bool = True
    provenance: Provenance = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        """Everything in plain values."""
        return {"winnow": "explanation", **dataclasses.asdict(self)}

    def __str__(self) -> str:
        others = self.examples - 1
        lines = [
            f"Example {self.id} of {self.source}, label {self.label}. {self.model}, trained on {self.examples:,} "
            f"examples with this one among them, says {self.predicted}.",
            "",
            f"Learned together with it ({self.interchangeable:,} of {others:,} interchangeable at {self.threshold:g}):",
            *_listed(self.same_way, self.threshold, "interchangeable"),
            "",
            f"Learned against it ({self.contradictory:,} of {others:,} contradictory at -{self.threshold:g}):",
            *_listed(self.against, self.threshold, "contradictory"),
            "",
            f"Self-kernel {self.self_kernel:.4g}, number {self.self_rank:,} of {self.examples:,} from the largest.",
            _about_label(self),
        ]
        if not self.exact:
            lines.append("The kernel is of projected features: cosines are good to about 0.03.")
        return "\n".join(lines)


def explain(
    source: Source,
    id: Any,
    *,
    model: Any = "auto",
    recipe: Recipe | None = None,
    k: int = 5,
    limit: int | None = None,
    seed: int = 0,
) -> Explanation:
    """Train once and say what an example is interchangeable with, what it contradicts, and whether its label fits.

    Parameters
    ----------
    source
        The examples, with class labels.
    id
        The id of the example; digits in a string will do for a number.
    model, recipe
        What to train and how, as for `observe`.
    k
        The longest list of other examples.
    limit
        Use only so many examples, drawn by class; the one asked about is always among them.
    seed
        Decides everything random.
    """
    part, place = _chosen(source, id, limit, seed)
    checks.integer("k", "explain", k, low=1)
    how = recipe_of("explain", recipe)
    network = choose(part.shape, part.kind, part.outputs) if isinstance(model, str) and model == "auto" else model
    net = build(network, classes=part.outputs, shape=part.shape, seed=seed_number(seed, "init", 0))
    feed = Feed(part)
    train(net, feed, how, seed_number(seed, "training", 0))
    i = int(np.flatnonzero(feed.order == place)[0])
    said = int(predict(net, feed, how)[i].argmax())
    labels = _labels(part)[feed.order]
    kernel, lengths = _kernel(net, feed, labels, seed)
    near = neighbours(kernel, i, len(feed) - 1)

    def partners(found: Partners) -> tuple[Partner, ...]:
        return tuple(
            Partner(_plain(feed.ids[j]), part.classes[labels[j]], float(cosine), float(weak))
            for j, cosine, weak in list(zip(found.positions, found.cosine, _weaker(found), strict=True))[:k]
        )

    return Explanation(
        id=_plain(feed.ids[i]),
        label=part.classes[labels[i]],
        predicted=part.classes[said],
        source=source.name,
        model=_name(describe(network)),
        examples=len(feed),
        same_way=partners(near.interchangeable),
        against=partners(near.contradictory),
        interchangeable=int((_weaker(near.interchangeable) >= THRESHOLD).sum()),
        contradictory=int((_weaker(near.contradictory) <= -THRESHOLD).sum()),
        threshold=THRESHOLD,
        self_kernel=float(lengths[i]),
        self_rank=int((lengths > lengths[i]).sum()) + 1,
        **_judged(kernel, labels, i, part.classes, feed.ids),
        exact=not isinstance(kernel, FeatureRows),
        provenance=record(
            "explain",
            {
                "model": describe(network),
                "recipe": how.settings(),
                "k": k,
                "limit": limit,
                "seed": seed,
            },
            {"source": part.provenance},
        ),
    )


def _chosen(source: object, id: Any, limit: int | None, seed: int) -> tuple[Source, int]:
    """The part of the source to train on, and the position of the example in it."""
    if not isinstance(source, Source):
        raise InputError(f"source of explain must be a Source (open it with wn.open); got {type(source).__name__}.")
    if source.task != "classification":
        raise NotDefinedError(f"explain is for class labels; source {source.name!r} is of task {source.task}.")
    if len(np.unique(_labels(source))) < 2:
        raise InputError(f"explain needs at least two classes among the examples of source {source.name!r}; got one.")
    numbered = source.ids.dtype.kind in "iu"
    wanted = int(id) if numbered and isinstance(id, str) and id.lstrip("-").isdigit() else id
    found = np.flatnonzero(source.ids == wanted) if isinstance(wanted, str) != numbered else np.zeros(0, dtype=np.int64)
    if found.size == 0:
        raise InputError(f"source {source.name!r} has no example with id {id!s}; its ids look like {source.ids[0]!s}.")
    place = int(found[0])
    if limit is None or checks.integer("limit", "explain", limit, low=2) >= len(source):
        return source, place
    drawn = source.positions(sample(source, limit, seed).ids)
    part = source.at(np.union1d(drawn, [place]))
    return part, int(part.positions(source.ids[[place]])[0])


def _kernel(
    net: torch.nn.Module, feed: Feed, labels: NDArray[np.int64], seed: int
) -> tuple[NDArray[Any] | FeatureRows, NDArray[np.float64]]:
    """The kernel of all examples and its diagonal."""
    x = feed.inputs(np.arange(len(feed)))
    if len(feed) <= EXACT:
        whole = gram(net, x, labels)
        return whole, whole.diagonal().astype(np.float64)
    rows = features(net, x, labels, project=PROJECTED, seed=seed)
    return FeatureRows(rows), np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def _judged(
    kernel: NDArray[Any] | FeatureRows,
    labels: NDArray[np.int64],
    i: int,
    classes: tuple[str, ...],
    ids: NDArray[Any],
) -> dict[str, Any]:
    """What the others of its class, and other classes, say about the label of an example."""
    if len(labels) > JUDGED:
        return {}
    found = contradictions(kernel, labels)
    at = int(np.flatnonzero(found.positions == i)[0])
    low, high = np.quantile(found.every[labels == labels[i]], (0.25, 0.75))
    bound = float(high + FAR * (high - low))
    return {
        "label_score": float(found.every[i]),
        "label_rank": at + 1,
        "label_bound": bound,
        "looks_wrong": bool(found.every[i] > bound),
        "suggested": classes[found.suggested[at]],
        "witness": _plain(ids[found.witness[at]]),
    }


def _weaker(found: Partners) -> NDArray[np.float64]:
    """The smaller by size of the two projections, the one that is held against the threshold."""
    return np.where(np.abs(found.own) < np.abs(found.other), found.own, found.other)


def _labels(source: Source) -> NDArray[np.int64]:
    return np.asarray(source.labels)


def _plain(id: Any) -> Any:
    return id.item() if isinstance(id, np.generic) else id


def _name(model: Any) -> str:
    """What people call a described network."""
    return str(model.get("module") or model.get("factory")) if isinstance(model, Mapping) else str(model)


def _listed(partners: tuple[Partner, ...], threshold: float, word: str) -> list[str]:
    if not partners:
        return ["  nothing"]
    wide = max(2, *(len(str(one.id)) for one in partners))
    broad = max(5, *(len(one.label) for one in partners))
    lines = [f"  {'id':<{wide}}  {'label':<{broad}}  cosine"]
    for one in partners:
        mark = f"  {word}" if abs(one.projection) >= threshold else ""
        lines.append(f"  {one.id!s:<{wide}}  {one.label:<{broad}}  {one.cosine:>6.3f}{mark}")
    return lines


def _about_label(about: Explanation) -> str:
    if about.label_score is None or about.label_bound is None:
        return f"Its label was not judged: that is done for up to {JUDGED:,} examples (--limit)."
    place = f"score {about.label_score:.3f}, number {about.label_rank:,} of {about.examples:,} from the least supported"
    if about.looks_wrong:
        return (
            f"Its label looks wrong: others of label {about.label} hardly support it ({place}; far out in its class "
            f"from {about.label_bound:.3f}). A hint at another class: {about.suggested}, by example {about.witness}."
        )
    return f"Its label looks right: others of label {about.label} support it ({place})."
