"""Explanations of one example or of a data set, as plain values that can be saved and loaded.

`explaining.explain` makes them, `explanation_text` prints them, and `report.teaching_section` shows them in a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.layouts import Json
from ..core.serialiser import Saved
from . import explanation_text as words
from .notebook_view import ShownAsText
from .provenance import Provenance
from .table import data_frame

if TYPE_CHECKING:
    import pandas

__all__ = ["ClassPair", "DatasetExplanation", "Explanation", "LabelError", "Partner", "Standing"]


@dataclass(frozen=True)
class Partner:
    """Another example: id, label, cosine, and the projection of smaller absolute value, which ranks partners."""

    id: Any
    label: str
    cosine: float
    projection: float


@dataclass(frozen=True)
class ClassPair:
    """How two classes, or a class and itself, relate: pairs counted, pairs of either kind, and the mean cosine."""

    one: str
    other: str
    pairs: int
    interchangeable: int
    contradictory: int
    cosine: float


@dataclass(frozen=True)
class LabelError:
    """A label issue: a label that looks wrong.

    `score` is the probability that it is wrong; above `bound` it is listed. `suggested` is the likely class, only a
    hint, and `witness` the nearest example of it, None if none is related to this one.
    """

    id: Any
    label: str
    score: float
    bound: float
    suggested: str
    witness: Any


@dataclass(frozen=True)
class Standing:
    """How an example relates to the others: its strongest partners of either kind, and how many reach the threshold.

    For a removed example, `stand_in` is the kept example of its class that is nearest in direction.
    """

    id: Any
    label: str
    same_way: tuple[Partner, ...]
    against: tuple[Partner, ...]
    interchangeable: int
    contradictory: int
    stand_in: Partner | None = None


@dataclass(frozen=True)
class Explanation(ShownAsText, Saved, kind="explanation", layout=Json()):
    """How an example relates to the others.

    Attributes
    ----------
    id, label, predicted
        The example, its label, and the prediction of the network, which was trained on it and the others.
    source, model, examples
        What was trained on and with, and how many examples there were.
    same_way, against
        The examples that a step on this one helps most, and sets back most, strongest first by the smaller
        projection, as `neighbours` ranks them; projections within 0.05 of zero are in neither.
    interchangeable, contradictory, threshold
        How many reach the threshold in either direction.
    self_kernel, self_rank
        The squared length of its feature, and its rank among all, 1 for the longest.
    label_score, label_rank, label_bound, looks_wrong
        The probability that its label is wrong, the rank of that probability among all, the probability above which a
        label looks wrong, and whether this one does; None if too few have its label to judge.
    suggested, witness
        The likely class other than its own, only a hint, and the id of the nearest example of it; no witness if none is
        related to it.
    exact
        Whether the kernel is exact or of projected features.
    provenance
        Where the explanation came from.
    peers
        How many others have its label; None in files of winnow 0.2, if there were too many examples to judge.
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
    peers: int | None = None

    values = Saved.entries

    def to_pandas(self) -> pandas.DataFrame:
        """The strongest partners, one row each; `kind` is `same_way` or `against`."""
        kinds = {"same_way": self.same_way, "against": self.against}
        return data_frame([{"kind": kind, **asdict(one)} for kind, found in kinds.items() for one in found])

    def __str__(self) -> str:
        return words.of_example(self)

    @property
    def standing(self) -> Standing:
        """The part of it that a page shows."""
        return Standing(self.id, self.label, self.same_way, self.against, self.interchangeable, self.contradictory)

    def named(self) -> list[Any]:
        """The ids of everyone in it, each once."""
        return _named((self.standing,), [] if self.witness is None else [self.witness])


@dataclass(frozen=True)
class DatasetExplanation(ShownAsText, Saved, kind="explanation of a data set", layout=Json()):
    """How the classes of a data set relate, and its label issues.

    Attributes
    ----------
    source, model, examples
        What was trained on and with, and how many examples there were.
    judged, compared
        How many of them were searched for label issues and partners, and among how many pairs were counted: all if
        affordable, otherwise a sample by class.
    classes
        The names of the classes.
    pairs, interchangeable, contradictory, threshold
        Pairs counted, and how many of them reach the threshold in either direction.
    relations
        Each class with itself, then pairs of classes, strongest first: by the share of their pairs of either kind,
        then by the absolute mean cosine. With very many classes, only the strongest pairs.
    wrong, errors
        How many labels look wrong, None if labels were not judged, and the most likely label issues, most likely first.
    standings
        For each example on the page, what it is interchangeable with and what it contradicts.
    exact
        Whether the kernel is exact or of projected features.
    provenance
        Where the explanation came from.
    """

    source: str
    model: str
    examples: int
    judged: int
    compared: int
    classes: tuple[str, ...]
    pairs: int
    interchangeable: int
    contradictory: int
    threshold: float
    relations: tuple[ClassPair, ...]
    wrong: int | None
    errors: tuple[LabelError, ...]
    standings: tuple[Standing, ...]
    exact: bool = True
    provenance: Provenance = field(default_factory=dict)

    values = Saved.entries

    def to_pandas(self) -> pandas.DataFrame:
        """The label issues, one row each, most likely first."""
        return data_frame([asdict(one) for one in self.errors])

    def __str__(self) -> str:
        return words.of_dataset(self)

    @property
    def within(self) -> tuple[ClassPair, ...]:
        """Each class with itself."""
        return tuple(pair for pair in self.relations if pair.one == pair.other)

    @property
    def between(self) -> tuple[ClassPair, ...]:
        """Pairs of two classes, strongest first."""
        return tuple(pair for pair in self.relations if pair.one != pair.other)

    def named(self) -> list[Any]:
        """The ids of everyone in it, each once."""
        return _named(self.standings, [one.witness for one in self.errors if one.witness is not None])


def _named(standings: Iterable[Standing], others: Iterable[Any]) -> list[Any]:
    found: dict[Any, None] = dict.fromkeys(others)
    for one in standings:
        near = () if one.stand_in is None else (one.stand_in,)
        found |= dict.fromkeys([one.id, *(partner.id for partner in (*one.same_way, *one.against, *near))])
    return list(found)
