"""Training: `Recipe`, the one training loop for every model in winnow, and the `Recorder`."""

from __future__ import annotations

from .feed import Feed, Scaling, hold
from .loop import WEIGHTINGS, predict, train
from .recipe import Recipe

__all__ = ["WEIGHTINGS", "Feed", "Recipe", "Scaling", "hold", "predict", "train"]
