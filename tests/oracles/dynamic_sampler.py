"""The epochs of a DynamicSampler, one example at a time."""

from __future__ import annotations

import math

from winnow.core.seeds import stream


def epoch(seed: int, number: int, losses: list[float | None], prune: float, everything: bool) -> dict[int, float]:
    """The examples of one epoch under InfoBatch's rule, in order, with their weights; a loss of None is not known."""
    known = [loss for loss in losses if loss is not None]
    middle = sum(known) / len(known) if known else 0.0
    low = [loss is not None and loss < middle and prune > 0 and not everything for loss in losses]
    rng = stream(seed, "dynamic sampler", number)
    line = [int(position) for position in rng.permutation(len(losses))]
    u = float(rng.random())
    sure = [position for position in line if not low[position]]
    reached, drawn = 0.0, []
    for position in line:
        if low[position]:
            begin, reached = reached, reached + (1 - prune)
            point = math.ceil(begin - u) + u  # the first of the points u, u + 1, ... at or after the beginning
            if begin <= point < reached:
                drawn.append(position)
    visited = [*sure, *drawn]
    order = [visited[int(index)] for index in rng.permutation(len(visited))]
    return {position: 1 / (1 - prune) if low[position] else 1.0 for position in order}


def batches(order: list[int], batch: int) -> list[list[int]]:
    """An epoch in as few batches as possible, of sizes that differ by one at most."""
    count = math.ceil(len(order) / batch)
    return [order[index * len(order) // count : (index + 1) * len(order) // count] for index in range(count)]
