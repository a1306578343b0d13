"""Narrowing: hidden vectors with fewer neurons, each of which counts for several, that train like the wide ones.

`narrow` is the door. `fold` makes the result plain for export, `restore` builds it again from saved weights, and
`find_pairs` says beforehand which layers of a model can be narrowed and why others cannot.
"""

from __future__ import annotations

from .layer_pairs import Found, Pair, find_pairs
from .narrow import narrow
from .narrowed import Narrowed, NarrowedPair
from .surgery import fold, restore

__all__ = ["Found", "Narrowed", "NarrowedPair", "Pair", "find_pairs", "fold", "narrow", "restore"]
