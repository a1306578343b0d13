"""Mistakes: errors on test data and the training examples that taught them, as plain values to save and load.

`explaining.why` makes them, `report.mistakes_page` shows them in a page.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.layouts import Json
from ..core.serialiser import Saved
from .notebook_view import ShownAsText
from .provenance import Provenance
from .table import data_frame

if TYPE_CHECKING:
    import pandas

__all__ = ["Mistake", "Mistakes", "Teacher"]


@dataclass(frozen=True)
class Teacher:
    """A training example: how its removal changes the loss on the test example, and its lpNTK cosine with the mistake.

    `influence` is below 0 if the loss would fall, that is, if the example taught the mistake. `cosine` is with the test
    example under the wrong class; None if the network does not give it.
    """

    id: Any
    label: str
    influence: float
    cosine: float | None = None


@dataclass(frozen=True)
class Mistake:
    """A test example that was predicted wrongly, and what taught it.

    Attributes
    ----------
    id, label, predicted
        The test example, its label, and what the network says.
    loss
        The loss of the head on it.
    teachers
        The training examples whose removal lowers that loss most, strongest first.
    alike
        The training examples nearest to the mistake by lpNTK: a step on them pushes the test example to the wrong
        class. Empty if the network does not give gradients per example.
    foretold, found
        The change of the loss if the teachers are removed: predicted, and after training the head again without them.
    found_alike
        The same after removing `alike`; None if there are none.
    random
        The changes after removing as many random examples of the test example's class.
    matched
        The changes after removing as many random examples with the labels of the teachers.
    """

    id: Any
    label: str
    predicted: str
    loss: float
    teachers: tuple[Teacher, ...]
    alike: tuple[Teacher, ...] = ()
    foretold: float = 0.0
    found: float | None = None
    found_alike: float | None = None
    random: tuple[float, ...] = ()
    matched: tuple[float, ...] = ()

    @property
    def confirmed(self) -> bool | None:
        """Whether training again changed the loss in the predicted direction, and by more than random removals."""
        if self.found is None or not self.random:
            return None
        beyond = abs(self.found) > max(abs(one) for one in self.random)
        return self.found * self.foretold > 0 and beyond


@dataclass(frozen=True)
class Mistakes(ShownAsText, Saved, kind="mistakes", layout=Json()):
    """The worst errors on test data, and the training examples that taught them.

    Attributes
    ----------
    source, test, model
        Training data, test data and the network.
    examples, tested, wrong
        How many examples were trained on and tested, and how many of the latter the network gets wrong.
    k, damping
        How many examples were named per mistake, and the regulariser of the head.
    mistakes
        The mistakes, largest loss first.
    provenance
        Where they came from.
    """

    source: str
    test: str
    model: str
    examples: int
    tested: int
    wrong: int
    k: int
    damping: float
    mistakes: tuple[Mistake, ...]
    provenance: Provenance = field(default_factory=dict)

    values = Saved.entries

    @property
    def confirmed(self) -> tuple[int, int]:
        """How many mistakes were confirmed by training again, of how many that were checked."""
        known = [one.confirmed for one in self.mistakes if one.confirmed is not None]
        return sum(known), len(known)

    def to_pandas(self) -> pandas.DataFrame:
        """One row per mistake and teacher."""
        return data_frame(
            [
                {"mistake": one.id, "truth": one.label, "predicted": one.predicted, "loss": one.loss, **asdict(teacher)}
                for one in self.mistakes
                for teacher in one.teachers
            ]
        )

    def __str__(self) -> str:
        lines = [
            f"{self.model}, trained on {self.examples:,} examples of {self.source}: {self.wrong:,} of {self.tested:,} "
            f"test examples are wrong"
        ]
        if self.confirmed[1]:
            lines.append(f"checked by training again: {self.confirmed[0]} of {self.confirmed[1]} confirmed")
        for one in self.mistakes:
            lines.append(f"\n{one.id}: {one.label}, predicted {one.predicted}, loss {one.loss:.2f}")
            if one.found is not None:
                usual = f"; random removals {min(one.random):+.3f} to {max(one.random):+.3f}" if one.random else ""
                lines.append(
                    f"  without the {len(one.teachers)} below: {one.found:+.3f} (predicted {one.foretold:+.3f}{usual})"
                )
            for teacher in one.teachers:
                near = "" if teacher.cosine is None else f"  cosine {teacher.cosine:+.2f}"
                lines.append(f"  {teacher.id}  {teacher.label}  {teacher.influence:+.4f}{near}")
        return "\n".join(lines)
