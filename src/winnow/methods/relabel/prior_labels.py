"""Soft labels: a trained classifier's class probabilities per example, to train on instead of the labels.

With f the classifier's outputs and T the temperature, example x gets the probabilities softmax(f(x) / T). A student is
trained on them by the cross-entropy - sum_k p_k log q_k, which differs from the divergence KL(p || q) only by the
entropy of p. The temperature only softens the targets; the student has none.

A classifier trained on these labels passes on what it learned from all of them. This is distillation: a subset with its
soft labels carries more information than the labels of the subset (Sun et al. 2024, Appendix I).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax

from ...artefacts import Source, record
from ...artefacts.soft_labels import SoftLabels
from ...core import checks
from ...core.errors import InputError, NotDefinedError, WinnowError
from ...core.request import request
from ...models import build, eval_mode
from ...models.identity import describe
from ...signals.embed import scaling_given, weights_of
from ...sources.openable import Data
from ...training import Feed, Recipe, predict

__all__ = ["soft_labels"]


def soft_labels(
    source: Data,
    prior: torch.nn.Module | str,
    *,
    weights: str | Path | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    temperature: float = 1.0,
    prior_seconds: float = 0.0,
    batch: int = 512,
    device: str = "auto",
    **opening: Any,
) -> SoftLabels:
    """Compute a trained classifier's probabilities for every example, in eval mode, without augmentation.

    The labels of the source are not used. `wn.evaluate(..., soft=...)` trains with the result.

    Parameters
    ----------
    source
        The examples, a Source or anything that `wn.open` takes, with the classes of the classifier's outputs, in the
        same order.
    prior
        A torch module, used with its current weights; or the name of a network, with its `weights`.
    weights
        File of weights for a named network.
    mean, std
        How the classifier expects its inputs to be scaled, one number per channel (images in 0 to 1); if not given,
        measured on the source.
    temperature
        Outputs are divided by this before the softmax: above 1 is softer, below 1 is harder.
    prior_seconds
        Training time of the classifier, if it was trained for this; it is counted as cost.
    batch
        Examples per forward pass.
    device
        Where to compute; `auto` uses a GPU if there is one.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    SoftLabels
        Probabilities per example, by id.

    Raises
    ------
    InputError
        If the prior does not give one finite output per class, or an argument is out of range.
    NotDefinedError
        If the source has no classes.

    Examples
    --------
    >>> import torch, winnow as wn
    >>> data = ([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> wn.relabel.soft_labels(data, torch.nn.Linear(1, 2)).values.shape
    (3, 2)
    """
    source = request(soft_labels, locals()).source
    if source.task != "classification":
        raise NotDefinedError(f"soft_labels needs one class per example; source {source.name!r} is {source.task}.")
    heat = checks.number("temperature", "soft_labels", temperature, low=0, open_low=True)
    checks.number("prior_seconds", "soft_labels", prior_seconds, low=0)
    checks.integer("batch", "soft_labels", batch, low=1)
    scaling = scaling_given("soft_labels", source, mean, std)
    network, about = _classifier(source, prior, weights)
    start = time.perf_counter()
    feed = Feed(source, scaling)
    outputs = _outputs(network, feed, Recipe(device=device), batch)
    back = np.argsort(feed.order, kind="stable")
    values = softmax(outputs.astype(np.float64) / heat, axis=1).astype(np.float32)[back]
    asked = {**about, "mean": mean, "std": std, "temperature": heat}
    return SoftLabels(
        source.ids,
        values,
        source.classes,
        seconds=time.perf_counter() - start,
        prior_seconds=prior_seconds,
        provenance=record("soft_labels", asked, {"source": source.provenance}),
    )


def _classifier(source: Source, prior: object, weights: str | Path | None) -> tuple[torch.nn.Module, dict[str, Any]]:
    """Return the network, and its description as plain values."""
    if isinstance(prior, torch.nn.Module):
        if weights is not None:
            raise InputError("weights of soft_labels are only for a named network; a module has its own.")
        print_ = weights_of(prior)  # first, because it raises for weights that are not initialised yet
        return prior, {"prior": describe(prior), "weights": print_}
    if not isinstance(prior, str):
        raise InputError(
            f"prior of soft_labels must be a torch module or the name of a network; got {type(prior).__name__}."
        )
    if weights is None:
        raise InputError(
            f"weights of soft_labels must be given for network {prior!r}: the output of an untrained one is noise."
        )
    network = build(prior, classes=len(source.classes), shape=source.shape, kind=source.kind, weights=weights)
    return network, {"prior": prior, "weights": weights_of(network)}


def _outputs(network: torch.nn.Module, feed: Feed, recipe: Recipe, batch: int) -> NDArray[np.float32]:
    """Compute one output per class for every example, in canonical order, and check them."""
    kind, classes = type(network).__name__, len(feed.source.classes)
    try:
        with eval_mode(network):  # `predict` alone would switch layers that were frozen one by one back to training
            outputs = predict(network, feed, recipe, batch)
    except WinnowError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"prior of soft_labels, a {kind}, cannot take examples of shape {feed.source.shape}: {why}."
        ) from None
    if outputs.shape != (len(feed), classes):
        raise InputError(
            f"prior of soft_labels, a {kind}, must give one output for each of the {classes} classes; "
            f"got shape {outputs.shape[1:]} per example."
        )
    bad = int((~np.isfinite(outputs)).any(1).sum())
    if bad:
        raise InputError(f"prior of soft_labels, a {kind}, gives NaN or infinite outputs for {bad} example(s).")
    return outputs
