"""A heap of positions by keys that only fall, for greedy choices that refresh a key when it reaches the top.

The largest key is on top, the smaller position of equal ones. The heap is an array of positions, changed in place; a
key that fell is put right by `sink` at its place.
"""

from __future__ import annotations

from typing import Any

from ..core.jit import compiled

__all__ = ["heapify", "sink"]


@compiled
def above(key: Any, i: int, j: int) -> bool:
    """Whether a position comes before another."""
    return bool(key[i] > key[j] or (key[i] == key[j] and i < j))


@compiled
def sink(key: Any, heap: Any, at: int) -> None:
    """Move the entry at a place down to where it belongs."""
    moved = heap[at]
    while 2 * at + 1 < heap.size:
        child = 2 * at + 1
        if child + 1 < heap.size and above(key, heap[child + 1], heap[child]):
            child += 1
        if not above(key, heap[child], moved):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


@compiled
def heapify(key: Any, heap: Any) -> None:
    """Put every entry in its place."""
    for at in range(heap.size // 2 - 1, -1, -1):
        sink(key, heap, at)
