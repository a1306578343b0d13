"""Narrowing: make hidden layers narrower so that the network computes and trains like the wide one.

Each remaining neuron counts for several of the wide network. `narrow` is the function to call. `fold` turns the result
into a plain network for export, `restore` rebuilds it from saved weights, and `find_pairs` tells in advance which
layers of a model can be narrowed, and why others cannot.
"""

from __future__ import annotations

from .layer_pairs import Found, Pair, find_pairs
from .narrow import narrow
from .narrowed import Narrowed, NarrowedPair
from .surgery import fold, restore

__all__ = ["Found", "Narrowed", "NarrowedPair", "Pair", "find_pairs", "fold", "narrow", "restore"]
