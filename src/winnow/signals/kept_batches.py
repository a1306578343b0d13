"""Batches of a pass over all examples, kept in the run directory now and then: after a kill, it goes on from there.

    RUN/unfinished/STEP/PASS-0.safetensors    the first rows of a pass; 1 holds the next ones, and so on

The name of a pass comes from all that decides its rows: the weights of the network, the ids and the scaling of its
examples, and what is computed. A training that went on from a checkpoint, or was made again, ends with the same
weights, so its passes find what was kept; with other weights they find nothing. Each file has a digest of its own
content. One that is damaged, or of another step, ends what is known, and the pass goes on in front of it.

A pass that takes less than the time between two checkpoints, and gives little, writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts.canonical_bytes import id_bytes
from ..core.files import fingerprint
from ..core.unfinished import Piece, piece_named
from ..models.frozen import state_of as weights_in
from ..training import Feed
from ..training.checkpoint import MINUTE, keep_state, state_of

__all__ = ["kept_batches"]

BYTES = 64 << 20  # of rows that wait to be kept
Batch = tuple[NDArray[Any], ...]


def kept_batches(
    what: Sequence[object],
    model: torch.nn.Module,
    feed: Feed,
    batches: Callable[[int], Iterator[Batch]],
    size: int,
    minutes: float,
) -> Iterator[Batch]:
    """Yield the batches of a pass, those that an earlier process kept without computing them again.

    Parameters
    ----------
    what
        What is computed, with its parameters.
    model, feed
        The network and the examples, which the pass leaves as they are.
    batches
        Returns the batches from a position on: arrays with one row per example each.
    size
        Examples per batch; the last may have fewer.
    minutes
        Minutes between two times at which rows are kept; 0 for none.
    """
    if minutes <= 0 or piece_named("") is None:
        yield from batches(0)
        return
    scaling = [value.numpy().tobytes() for value in vars(feed.scaling).values()]
    name = fingerprint(list(what), size, id_bytes(feed.ids, None), *scaling, *weights_in(model))[:16]
    start = number = 0
    while (rows := _rows(_piece(name, number), start)) is not None:
        for at in range(0, len(rows[0]), size):
            yield tuple(each[at : at + size] for each in rows)
        start, number = start + len(rows[0]), number + 1
    held: list[Batch] = []
    last = time.monotonic()
    for batch in batches(start):
        held.append(batch)
        waiting = sum(each.nbytes for one in held for each in one)
        if waiting >= BYTES or time.monotonic() - last >= minutes * MINUTE:
            joined = [np.concatenate(each) for each in zip(*held, strict=True)]
            tensors = {str(place): torch.from_numpy(each) for place, each in enumerate(joined)}
            keep_state(_piece(name, number), tensors, {"start": start})
            start, number, held, last = start + len(joined[0]), number + 1, [], time.monotonic()
        yield batch


def _piece(name: str, number: int) -> Piece:
    piece = piece_named(f"{name}-{number}")
    assert piece is not None
    return piece


def _rows(piece: Piece, start: int) -> Batch | None:
    """The rows of a file, if they are those from this position on."""
    state = state_of(piece)
    if state is None or state.about.get("start") != start:
        return None
    return tuple(state.tensors[str(place)].numpy() for place in range(len(state.tensors)))
