"""The result of a search within a tolerance: every look, the smallest size that held, and the claim in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from ..artefacts import Subset
from ..artefacts.class_metrics import WORDS

__all__ = ["Search", "ToleranceLook"]

PARTS = {5: "four fifths", 10: "nine tenths"}  # what is trained on while a fold is measured on
PROCEDURE = (
    "This is about subsets found in this way from each fold's training part; the subset here was found in the same way "
    "from all examples, and was not measured itself."
)


@dataclass(frozen=True)
class ToleranceLook:
    """One look at one size.

    Parameters
    ----------
    fraction, size
        What the subset keeps.
    seeds
        Number of seeds it was trained with so far.
    confidence
        Confidence of this limit, by alpha spending.
    value
        Its metric, mean over seeds; with folds, of the folds' subsets, whose mean size is `size`.
    loss, upper
        The mean loss, and its upper limit.
    holds
        Whether the limit is within the tolerance.
    """

    fraction: float
    size: int
    seeds: int
    confidence: float
    value: float
    loss: float
    upper: float
    holds: bool


@dataclass(frozen=True, eq=False)
class Search:
    """The result of a search.

    Parameters
    ----------
    keep
        The smallest fraction that held; 1 if none did.
    subset
        Its examples; None if none held and everything is kept, or if it is still to be chosen (`folds`).
    looks
        All looks, in order.
    sequence
        The fractions that were to be tested, in order; the search ends at the first that does not hold.
    tolerance, confidence
        The arguments.
    metric
        `accuracy`, `balanced_accuracy`, `macro_f1`, `auroc`, `map` or `r2`.
    reference
        What losses are measured against, in words.
    full_size
        The number of examples of the reference.
    full_value
        The metric of the reference on the validation set, mean over seeds; None if nothing could be tested.
    validation
        Number of validation examples.
    seeds
        The numbers of seeds at which a size is looked at.
    settings
        Further settings, for the certificate.
    folds
        The number of rotating folds; 0 if validation examples were given or held out once. With folds, what was tested
        is a way of choosing, and the subset is chosen in that way from the whole source.
    """

    keep: float
    subset: Subset | None
    looks: tuple[ToleranceLook, ...]
    sequence: tuple[float, ...]
    tolerance: float
    confidence: float
    metric: str
    reference: str
    full_size: int
    full_value: float | None
    validation: int
    seeds: tuple[int, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    folds: int = 0

    @property
    def winner(self) -> ToleranceLook | None:
        """The last look that held: the smallest size that did."""
        return next((look for look in reversed(self.looks) if look.holds), None)

    @property
    def sentence(self) -> str:
        """The result as a sentence."""
        sure = f"with {100 * self.confidence:g} % confidence"
        tried = len({look.size for look in self.looks})
        word = self.metric if self.metric == "r2" else WORDS[self.metric]
        within = f"within {self.tolerance:g} of the {word} of {self.reference}"
        won = self.winner
        if won is not None and self.folds:
            return (
                f"{won.fraction:.3g} is the smallest of {tried} fractions tried whose subsets stay {within}, "
                f"{self._measured} over {won.seeds} trainings {sure}; they lose {won.loss:.3g}, at most "
                f"{won.upper:.3g}. {PROCEDURE}"
            )
        if won is not None:
            return (
                f"{won.fraction:.3g} is the smallest of {tried} fractions tried that stays {within}, measured on "
                f"{self.validation} validation examples over {won.seeds} seeds {sure}; it loses {won.loss:.3g}, at "
                f"most {won.upper:.3g}."
            )
        if not self.looks:
            return f"No subset of {self.reference} is small enough to test and large enough to train on. All is kept."
        last = self.looks[-1]
        why = f"{last.fraction:.3g}, the largest fraction tried, loses {last.loss:.3g}, at most {last.upper:.3g}"
        if last.loss < self.tolerance and (not self.folds or last.seeds == self.seeds[-1]):
            # The width of the limit falls about as the square root of the number of examples.
            needed = self.validation * ((last.upper - last.loss) / (self.tolerance - last.loss)) ** 2
            of = "examples" if self.folds else "validation examples"
            why += f" (about {math.ceil(needed):,} {of} might show that it holds)"
        return (
            f"No fraction was shown to hold: none stays {within}, {self._measured} {sure}. {why}. Everything is kept."
        )

    @property
    def _measured(self) -> str:
        if not self.folds:
            return f"measured on {self.validation} validation examples"
        left = PARTS.get(self.folds, f"{self.folds - 1} of {self.folds} parts")
        return f"measured on all {self.validation} examples by {self.folds} rotating folds of {left}"

    def certificate(self) -> dict[str, Any]:
        """Return what was requested and measured, every look of it, as JSON-like values."""
        return {
            "claim": self.sentence,
            "holds": self.winner is not None,
            "metric": self.metric,
            "tolerance": self.tolerance,
            "confidence": self.confidence,
            "rule": f"one-sided limits over {'folds, ' if self.folds else ''}seeds and validation examples; a fixed "
            "sequence of sizes from large to small, each tested at the full confidence, ended by the first that does "
            "not hold; the error allowed at a size is divided among looks at "
            f"{', '.join(map(str, self.seeds))} {'trainings' if self.folds else 'seeds'} (alpha spending)",
            "sequence": list(self.sequence),
            "reference": self.reference,
            "full_size": self.full_size,
            "full_value": self.full_value,
            "validation_examples": self.validation,
            **({"folds": self.folds} if self.folds else {}),
            "measured": [asdict(look) for look in self.looks],
            **self.settings,
        }
