"""TDDS: how unevenly an example's loss changes from epoch to epoch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import checks, registry
from .arithmetic import labels_of, log_softmax, parts_of, rows_within, window_length

__all__ = ["tdds"]


@registry.score(needs={"logits"}, paper="Zhang et al. 2024 (TDDS)")
def tdds(
    signals: Signals, *, window: int = 10, decay: float = 0.9, epochs: int | None = None, difference: str = "kl"
) -> NDArray[np.float64]:
    """Variance of the loss differences within windows; later windows count more.

    Between successive recorded epochs t and t + 1 the difference d_t is, from the logits alone, either
    KL(p_{t+1} || p_t), the published approximation, or the change of the cross-entropy. A window of J epochs holds
    J - 1 differences; V_w is their variance (divided by J - 1). Windows slide by one epoch, and
    S_1 = V_1, S_w = decay V_w + (1 - decay) S_{w-1}. The score is the mean over seeds of the last S.

    Parameters
    ----------
    signals
        Must have `logits` of at least `window` epochs.
    window
        J, in recorded epochs, 3 or more.
    decay
        Weight of the newest window, in (0, 1]; 1 uses only the last window.

    epochs
        Only epochs up to this one are used; None uses all.
    difference
        `kl` or `loss`.
    """
    owner = "score 'tdds'"
    rows = rows_within(signals, epochs, owner)
    length = window_length(window, rows, owner, least=3)
    newest = checks.fraction("decay", owner, decay)
    kind = checks.choice("difference", owner, difference, ("kl", "loss"))
    total = np.zeros(len(signals))
    for seed in range(signals.logits.shape[0]):
        steps = _differences(signals.logits[seed, :rows], labels_of(signals), kind)
        smooth = steps[: length - 1].var(axis=0)
        for start in range(1, rows - length + 1):
            smooth = newest * steps[start : start + length - 1].var(axis=0) + (1.0 - newest) * smooth
        total += smooth
    return total / len(signals.logits)


def _differences(logits: NDArray[np.floating], labels: NDArray[np.int64], kind: str) -> NDArray[np.float64]:
    """Differences between successive epochs of one seed: (epochs - 1) x n."""
    out = np.empty((logits.shape[0] - 1, logits.shape[1]))
    for part in parts_of(logits[0]):
        before = log_softmax(logits[0, part])
        for row in range(1, logits.shape[0]):
            after = log_softmax(logits[row, part])
            if kind == "kl":
                out[row - 1, part] = (np.exp(after) * (after - before)).sum(axis=1)
            else:
                out[row - 1, part] = (before - after)[np.arange(len(after)), labels[part]]
            before = after
    return out
