"""eval_pass: record one epoch by a pass over a data set in eval mode, beside any training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import InputError
from .logged_batch import OWNER

if TYPE_CHECKING:
    import torch

    from .recorder import Recorder

__all__ = ["eval_pass"]


def eval_pass(
    recorder: Recorder,
    model: torch.nn.Module,
    dataset: Any,
    *,
    batch: int = 256,
    forward: Callable[[Any], tuple[torch.Tensor, torch.Tensor]],
    collate: Callable[[list[Any]], Any] | None = None,
) -> None:
    """Record one epoch by a pass over a data set in order, in eval mode, without gradients.

    Neither torch's random state nor the mode of any layer is changed, so that a training runs the same with this pass
    and without it.

    Parameters
    ----------
    recorder
        Where to record; its epoch is ended.
    model
        The network that `forward` uses.
    dataset
        A map-style data set; its order gives the positions. It should not augment.
    batch
        Examples per forward pass; the result does not depend on it.
    forward
        Maps a batch to logits and targets.
    collate
        Maps a list of examples to a batch; if not given, torch's own function.
    """
    import torch
    from torch.utils.data import DataLoader

    from ..models.modes import eval_mode

    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise InputError(f"dataset of eval_pass must have a length and be indexable; got a {type(dataset).__name__}.")
    if len(dataset) != recorder.n:
        raise InputError(
            f"n of {OWNER} must be the length of the data set it records, {len(dataset)}; got {recorder.n}."
        )
    loader = DataLoader(dataset, batch_size=batch, shuffle=False, collate_fn=collate)
    start = 0
    with eval_mode(model), torch.random.fork_rng(devices=[]), torch.no_grad():
        for each in loader:
            logits, targets = forward(each)
            recorder.log(np.arange(start, min(start + batch, recorder.n)), logits, targets)
            start += batch
    recorder.end_epoch()
