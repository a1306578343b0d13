"""Digits with several labels: even, large, and drawn with a loop; a few hundred of them, and a network for them."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.datasets import load_digits

import winnow as wn
from winnow.sources.holdout import hold_out

NAMES = ("even", "large", "loop")
RECIPE = wn.Recipe(epochs=6)
ALONE = wn.Local(workers=1)


@cache
def digits(size: int = 600) -> wn.Source:
    inputs, digit = load_digits(return_X_y=True)
    rows = np.stack([digit % 2 == 0, digit > 4, np.isin(digit, (0, 6, 8, 9))], axis=1)
    return wn.open((inputs[:size], rows[:size]), classes=NAMES, name="digits", ids=np.arange(size))


@cache
def parts() -> tuple[wn.Source, wn.Source]:
    return hold_out(digits(), 0.3)


@cache
def seen() -> wn.Signals:
    want = ("logits", "predictions", "embeddings")
    return wn.observe(parts()[0], "mlp", RECIPE, 2, want, engine=ALONE)
