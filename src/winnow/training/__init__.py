"""Training: `Recipe`, the one loop that every model in winnow is trained by, and the `Recorder`."""

from __future__ import annotations

from .feed import Feed, Scaling, hold
from .loop import WEIGHTINGS, predict, train
from .recipe import Recipe

__all__ = ["WEIGHTINGS", "Feed", "Recipe", "Scaling", "hold", "predict", "train"]
