"""The exact kernel of all pairs of examples, panel by panel: n x parameters are never held.

As many examples as fit a memory budget are captured into a panel, each block multiplied with those before it; then the
examples behind the panel are captured block by block and multiplied with all of it. What fits is captured once; with p
panels, an example is captured (p + 1) / 2 times on average.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ...core import checks
from ...core.progress import task
from .gradient_factors import Capture, Panel
from .kernel_inputs import KernelInputs
from .layer_trust import by_plan
from .layers import LayerPlan, capture

__all__ = ["BATCH", "batches", "fill_by_panels", "fill_from_rows"]

BLOCK = 128  # examples multiplied with a panel at a time
BATCH, LEAST = 256, 32  # examples per backward pass, at most and at least
CACHED = 1 << 22  # captured numbers per backward pass: they should stay in the processor's cache


def fill_from_rows(rows: NDArray[Any], kernel: NDArray[Any]) -> None:
    """Write the products of all pairs of feature rows."""
    for first in range(0, len(rows), BLOCK):
        kernel[first : first + BLOCK] = rows[first : first + BLOCK] @ rows.T


def fill_by_panels(
    owner: str, kernel: NDArray[Any], first: KernelInputs, second: KernelInputs, memory: int, plan: LayerPlan
) -> None:
    """Write the products of all pairs of two sets, panel by panel; within one set, each pair once."""
    itself = first is second

    def work(plan: LayerPlan) -> None:
        span, step, batch = _sizes(first, second, memory, plan)
        panels, every = _spans(0, len(first.inputs), span), len(second.inputs)
        block = Panel(step)
        with task("kernel", sum(every - at.start if itself else every for at in panels)) as advance:
            for rows_at in panels:
                panel = Panel(rows_at.stop - rows_at.start)
                for some in _spans(rows_at.start, rows_at.stop, step):
                    _capture(first, some, plan, panel, batch)
                    if itself:
                        _write(
                            kernel,
                            some,
                            slice(rows_at.start, some.stop),
                            panel.capture(some.start - rows_at.start),
                            panel,
                        )
                        advance(some.stop - some.start)
                for some in _spans(rows_at.stop if itself else 0, every, step):
                    block.empty()
                    _capture(second, some, plan, block, batch)
                    if itself:
                        _write(kernel, some, rows_at, block.capture(), panel)
                    else:
                        kernel[rows_at, some] = panel.capture().gram(block.capture()).numpy()
                    advance(some.stop - some.start)

    by_plan(first.net, plan, work)
    for row in range(0, len(kernel), 1024):
        checks.finite("kernel", owner, kernel[row : row + 1024])


def _write(kernel: NDArray[Any], some: slice, panel_at: slice, mine: Capture, panel: Panel) -> None:
    """Write the products of a block with a panel on both sides of the diagonal."""
    found = panel.capture().gram(mine).numpy()
    kernel[panel_at, some] = found
    kernel[some, panel_at] = found.T


def _sizes(first: KernelInputs, second: KernelInputs, memory: int, plan: LayerPlan) -> tuple[int, int, int]:
    """How many examples fit a panel, a block beside it, and a backward pass."""
    each = max(_captured(first, plan), _captured(second, plan) if second is not first else 0)
    batch = _batch(each)
    room = memory // max(each * next(first.net.parameters()).element_size(), 1)
    step = int(max(batch, min(BLOCK, room // 6 // batch * batch)))
    return int(max(step, (room - step) // step * step)), step, batch


def batches(looked: KernelInputs, plan: LayerPlan, most: int) -> list[slice]:
    """Return consecutive parts of all inputs, each for one backward pass and of at most `most` examples."""
    return _spans(0, len(looked.inputs), min(most, _batch(_captured(looked, plan))))


def _captured(looked: KernelInputs, plan: LayerPlan) -> int:
    """How many numbers are captured per example."""
    net, inputs, signs_of = looked
    return sum(piece.numbers() for piece in capture(net, inputs[:1], signs_of(slice(0, 1)), plan).pieces)


def _batch(each: int) -> int:
    """How many examples go through a backward pass at a time."""
    return min(BATCH, max(LEAST, CACHED // max(each, 1)))


def _spans(start: int, stop: int, step: int) -> list[slice]:
    return [slice(a, min(a + step, stop)) for a in range(start, stop, step)]


def _capture(looked: KernelInputs, where: slice, plan: LayerPlan, panel: Panel, batch: int) -> None:
    """Write the gradients of consecutive examples to a panel, one batch at a time."""
    net, inputs, signs_of = looked
    for part in _spans(where.start, where.stop, batch):
        panel.append(capture(net, inputs[part], signs_of(part), plan, panel.room(part.stop - part.start)))
