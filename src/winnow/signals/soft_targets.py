"""soft_targets: the averaged predictions of the observed networks, as targets to train on.

Out-of-fold predictions come first where there are any: a network has not seen the labels of the examples it predicts
there, so it cannot hand on a wrong label that it knows by heart.
"""

from __future__ import annotations

import numpy as np

from ..artefacts import Signals, SoftLabels, record

__all__ = ["soft_targets"]

OUT_OF_FOLD = "oof"  # seeds x examples x classes, or outputs: predictions of networks that did not train on the example


def soft_targets(signals: Signals, weight: float = 1.0) -> SoftLabels:
    """Turn the predictions of the observed networks into soft targets.

    Parameters
    ----------
    signals
        Must have `oof`, out-of-fold predictions, which are preferred, or `predictions`, or `logits`, from which those
        follow; they are averaged over seeds.
    weight
        Share of the soft part in the loss of a training on them; the labels have the rest.

    Returns
    -------
    SoftLabels
        Probabilities of the classes, or of each label, for each example; for a regression, predictions in the units of
        the label.

    Raises
    ------
    NotDefinedError
        If the signals have no predictions.
    InputError
        If the weight is not in [0, 1].

    Examples
    --------
    >>> import winnow as wn
    >>> signals = wn.observe("digits", "mlp", wn.Recipe(epochs=2), want="predictions", limit=100)
    >>> soft_targets(signals).values.shape
    (100, 10)
    """
    name = OUT_OF_FOLD if OUT_OF_FOLD in signals else "predictions"
    values = signals.array(name, "soft_targets").mean(axis=0, dtype=np.float64)
    if signals.task not in ("regression", "multilabel"):
        values /= values.sum(axis=1, keepdims=True)
    about = {"signals": {**signals.provenance, "fingerprint": signals.fingerprint}}
    return SoftLabels(
        ids=signals.ids,
        values=values.astype(np.float32),
        classes=signals.classes,
        provenance=record("soft_targets", {"weight": weight, "array": name}, about),
        weight=weight,
        several=signals.task == "multilabel",
    )
