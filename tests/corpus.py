"""A toy corpus: short reviews made from templates, good and bad, so that tests of text need no data set."""

from __future__ import annotations

import numpy as np

GOOD = ("lovely", "brilliant", "warm", "moving", "clever", "charming", "superb", "fresh")
BAD = ("dull", "clumsy", "cold", "tedious", "stupid", "bland", "awful", "stale")
THINGS = ("film", "plot", "cast", "score", "script", "camera", "ending", "dialogue", "hero", "villain")
PLACES = ("Lisbon", "Oslo", "Kyoto", "Quito", "Turin", "Perth", "Delhi", "Cairo", "Lyon", "Bergen", "Malmo", "Porto")
TIMES = ("in spring", "last winter", "on a Monday", "after lunch", "at dawn", "by chance", "twice", "with my uncle")


def reviews(count: int = 200, seed: int = 0) -> tuple[list[str], list[str]]:
    """Return reviews, all different, and what they are: `good` or `bad`, half of each."""
    rng = np.random.default_rng(seed)
    texts: dict[str, str] = {}
    while len(texts) < count:
        label = ("good", "bad")[len(texts) % 2]
        one, two = rng.choice(GOOD if label == "good" else BAD, 2, replace=False)
        thing, other = rng.choice(THINGS, 2, replace=False)
        place, when = rng.choice(PLACES), rng.choice(TIMES)
        text = f"Seen in {place} {when}: the {thing} was {one}, the {other} {two} (row {rng.integers(9999)})."
        texts.setdefault(text, label)
    return list(texts), list(texts.values())
