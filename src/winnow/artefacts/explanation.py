"""What explaining found: about one example, or about a data set; plain values that are saved and read again.

`explaining.explain` makes them, `explanation_text` says them in a terminal, `teaching_section` puts them in a page.
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
    """Another example: id, label, cosine, and the smaller projection by size, which partners are ranked by."""

    id: Any
    label: str
    cosine: float
    projection: float


@dataclass(frozen=True)
class ClassPair:
    """How two classes relate, or one with itself: pairs counted, those of either kind, and the mean cosine of all."""

    one: str
    other: str
    pairs: int
    interchangeable: int
    contradictory: int
    cosine: float


@dataclass(frozen=True)
class LabelError:
    """A label that looks wrong.

    `score` says how little its class supports it (0 fully, 1/2 not at all, 1 contradicts); from `bound` it is far out
    in that class. `suggested` is the nearest other class, a hint only, and `witness` the nearest example there.
    """

    id: Any
    label: str
    score: float
    bound: float
    suggested: str
    witness: Any


@dataclass(frozen=True)
class Standing:
    """How an example stands to the others: its strongest partners of either kind, and how many reach the threshold.

    `stand_in` is, for one that was removed, the kept example of its class that is nearest in direction.
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
    """How an example stands to the others.

    Attributes
    ----------
    id, label, predicted
        The example, its label, and what the network says that was trained on it and the others.
    source, model, examples
        What was trained on and with, and how many examples there were.
    same_way, against
        The examples that a step on this one helps most, and sets back most, the strongest first by the smaller
        projection, as `neighbours` ranks them; those whose projection is within 0.05 of zero are in neither.
    interchangeable, contradictory, threshold
        How many reach the threshold in either sense.
    self_kernel, self_rank
        The squared length of its feature, and its place among all, 1 for the longest.
    label_score, label_rank, label_bound, looks_wrong
        How little its class supports it (0 fully, 1/2 not at all, 1 contradicts), the place of that among all, the
        score from which a label of its class looks wrong, and whether this one does; None where there are too many
        examples to judge, or too few of its label.
    suggested, witness
        The class it is nearest to other than its own, a hint only, and the id of the nearest example there.
    exact
        Whether the kernel is exact or of projected features.
    provenance
        Where the explanation came from.
    peers
        How many others have its label; None where there are too many examples to judge.
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
        """What a page shows of it."""
        return Standing(self.id, self.label, self.same_way, self.against, self.interchangeable, self.contradictory)

    def named(self) -> list[Any]:
        """The ids of everyone in it, each once."""
        return _named((self.standing,), [] if self.witness is None else [self.witness])


@dataclass(frozen=True)
class DatasetExplanation(ShownAsText, Saved, kind="explanation of a data set", layout=Json()):
    """How the classes of a data set relate, and which labels look wrong.

    Attributes
    ----------
    source, model, examples
        What was trained on and with, and how many examples there were.
    judged, compared
        How many of them the labels and partners were looked for among, and how many the pairs were counted among: all
        where that is affordable, else a sample by class.
    classes
        The names of the classes.
    pairs, interchangeable, contradictory, threshold
        Pairs counted, and how many of them reach the threshold in either sense.
    relations
        Each class with itself, then pairs of classes, the strongest first: by the share of their pairs of either kind,
        then by the size of the mean cosine. Of very many classes only the strongest pairs.
    wrong, errors
        How many labels look wrong, and the likeliest of them, the likeliest first.
    standings
        For the examples that a page shows, what each is interchangeable with and what it contradicts.
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
    wrong: int
    errors: tuple[LabelError, ...]
    standings: tuple[Standing, ...]
    exact: bool = True
    provenance: Provenance = field(default_factory=dict)

    values = Saved.entries

    def to_pandas(self) -> pandas.DataFrame:
        """The labels that look wrong, one row each, the likeliest first."""
        return data_frame([asdict(one) for one in self.errors])

    def __str__(self) -> str:
        return words.of_dataset(self)

    @property
    def within(self) -> tuple[ClassPair, ...]:
        """Each class with itself."""
        return tuple(pair for pair in self.relations if pair.one == pair.other)

    @property
    def between(self) -> tuple[ClassPair, ...]:
        """Pairs of two classes, the strongest first."""
        return tuple(pair for pair in self.relations if pair.one != pair.other)

    def named(self) -> list[Any]:
        """The ids of everyone in it, each once."""
        return _named(self.standings, [one.witness for one in self.errors])


def _named(standings: Iterable[Standing], others: Iterable[Any]) -> list[Any]:
    found: dict[Any, None] = dict.fromkeys(others)
    for one in standings:
        near = () if one.stand_in is None else (one.stand_in,)
        found |= dict.fromkeys([one.id, *(partner.id for partner in (*one.same_way, *one.against, *near))])
    return list(found)
