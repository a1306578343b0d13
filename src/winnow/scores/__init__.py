"""Scores: one pure function per file, from Signals to one number per example; higher means harder.

To add one: write `scores/NAME.py` with a function `NAME(signals, *, parameters)` under
`@registry.score(needs=..., paper=..., tasks=...)`, with its formula in the docstring, and add its import line here. The
listing, the docs table, the report, `plan` and `winnow.testing` then include it; a slow reference implementation
belongs in `tests/oracles/scores.py`. Functions may assume what `score.score` has checked: the arrays they need exist,
the task fits, and labels are within the classes.
"""

from __future__ import annotations

from .aum import aum
from .class_prototype import class_prototype
from .confidence import confidence
from .contradiction import contradiction
from .dichotomous import dichotomous
from .difficulty import difficulty
from .disagreement import disagreement
from .dual import dual
from .dynamic_uncertainty import dynamic_uncertainty
from .el2n import el2n
from .ensemble_influence import ensemble_influence
from .entropy import entropy
from .forgetting import forgetting
from .grand import grand
from .influence_norm import influence_norm
from .instruction_difficulty import instruction_difficulty
from .interchangeability import interchangeability
from .loss_influence import loss_influence
from .margin import margin
from .memorization import memorization
from .mislabelled import mislabelled
from .prototype import prototype
from .random import random
from .tdds import tdds
from .token_loss import token_loss
from .uncertainty import uncertainty

__all__ = [
    "aum",
    "class_prototype",
    "confidence",
    "contradiction",
    "dichotomous",
    "difficulty",
    "disagreement",
    "dual",
    "dynamic_uncertainty",
    "el2n",
    "ensemble_influence",
    "entropy",
    "forgetting",
    "grand",
    "influence_norm",
    "instruction_difficulty",
    "interchangeability",
    "loss_influence",
    "margin",
    "memorization",
    "mislabelled",
    "prototype",
    "random",
    "tdds",
    "token_loss",
    "uncertainty",
]
