"""What a job needs of the machine that does it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["Needs"]


@dataclass(frozen=True)
class Needs:
    """What each job of a map needs.

    Parameters
    ----------
    gpu
        Whether it computes on a GPU where there is one; GPUs are handed out, one job each.
    network
        Whether it trains a torch network; what torch loads for that is not counted in its seconds.
    numbers
        How many numbers it reads, roughly: examples times their size times epochs. A few are not worth starting a
        worker. None if that is not known.
    """

    gpu: bool = False
    network: bool = False
    numbers: float | None = None

    @classmethod
    def to_train(cls, source: Any, model: Any, recipe: Any) -> Needs:
        """What it takes to train a model on a source: a network by a recipe, or an estimator.

        A network of the user's own may be of any size, so how much work it is is not known.
        """
        network = isinstance(model, str) or not hasattr(model, "fit")
        known = not network or (isinstance(model, str) and ":" not in model)
        many = len(source) * math.prod(source.shape) * (recipe.epochs if network else 1)
        return cls(network and recipe.device != "cpu", network, float(many) if known else None)
