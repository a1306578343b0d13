"""The loss of training on soft targets and labels together.

With a the weight, p the soft targets of an example, y its label and q = softmax(logits):

    classification   a (- sum_k p_k log q_k) + (1 - a) (- log q_y)
    multilabel       a mean_k H(p_k, q_k) + (1 - a) mean_k H(y_k, q_k), with q_k = sigmoid(logits_k) and
                     H(p, q) = - p log q - (1 - p) log(1 - q)
    regression       a mean_j (output_j - p_j)^2 + (1 - a) mean_j (output_j - y_j)^2

The first part is the divergence KL(p || q) plus the entropy of p, which does not depend on the network: the gradients
are those of the divergence. Label smoothing is applied to the label only: soft targets are smooth already. That of
several labels moves each by its share towards one half.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from ..core import checks
from ..core.errors import InputError

__all__ = ["REDUCTIONS", "example_losses", "soft_loss"]

REDUCTIONS = ("mean", "sum", "none")


def soft_loss(
    logits: torch.Tensor,
    labels: torch.Tensor,
    soft: torch.Tensor,
    weight: float = 1.0,
    reduction: str = "mean",
    *,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """Compute the loss towards soft targets and labels: weight x soft part + (1 - weight) x label part.

    Both parts are cross-entropies if the labels are whole numbers: of the classes if there is one number per example,
    and the mean of the binary ones if there is a row of 0 and 1 per example. They are squared errors, averaged over the
    outputs, if the labels are floats.

    Parameters
    ----------
    logits
        Outputs of the network, one row per example, before the softmax.
    labels
        Class numbers, one per example; rows of 0 and 1 (whole numbers or booleans) for several labels per example; or
        regression targets, one row per example (a vector for one output).
    soft
        Soft targets, of the shape of the logits: probabilities of classes or labels, or predictions in the unit of the
        labels.
    weight
        Share of the soft part: 0 is the loss of the labels alone.
    reduction
        `mean` or `sum` over the examples, or `none` for the loss of each.
    label_smoothing
        Probability spread over all classes, in the label part only.

    Returns
    -------
    torch.Tensor
        One number, or one per example; in single precision or better.

    Raises
    ------
    InputError
        If shapes do not fit or the weight is not in [0, 1].
    UnknownNameError
        If there is no such reduction.

    Examples
    --------
    >>> import torch, winnow as wn
    >>> logits, labels = torch.tensor([[2.0, 0.0]]), torch.tensor([0])
    >>> soft = torch.tensor([[0.75, 0.25]])
    >>> round(wn.soft_loss(logits, labels, soft, weight=0.5).item(), 4)  # the mean of 0.6269 and 0.1269
    0.3769
    >>> wn.soft_loss(torch.tensor([[3.0]]), torch.tensor([1.0]), torch.tensor([[2.0]]), weight=0.5).item()
    2.5
    """
    share = checks.number("weight", "soft_loss", weight, low=0, high=1)
    checks.choice("reduction", "soft_loss", reduction, REDUCTIONS)
    _check_shapes(logits, labels, soft)
    output = logits if logits.dtype == torch.float64 else logits.float()
    losses = _losses(output, labels, soft, share, label_smoothing)
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()


def example_losses(output: torch.Tensor, targets: torch.Tensor, label_smoothing: float = 0.0) -> torch.Tensor:
    """Loss per example: cross-entropy for class numbers, the mean of binary ones for rows of 0 and 1, else squares."""
    if targets.ndim == 2 and not targets.is_floating_point():
        rows = targets.to(output) * (1 - label_smoothing) + label_smoothing / 2
        return functional.binary_cross_entropy_with_logits(output, rows, reduction="none").mean(1)
    if targets.dtype == torch.int64:
        return functional.cross_entropy(output, targets, reduction="none", label_smoothing=label_smoothing)
    return (output - targets).square().mean(1)


def _losses(
    output: torch.Tensor, labels: torch.Tensor, soft: torch.Tensor, weight: float, label_smoothing: float
) -> torch.Tensor:
    """Loss per example; a part without weight is not computed."""
    classes = not labels.is_floating_point()
    several = classes and labels.ndim == 2
    parts = []
    if weight > 0:
        near = soft.to(output)
        if several:
            part = functional.binary_cross_entropy_with_logits(output, near, reduction="none").mean(1)
        elif classes:
            part = functional.cross_entropy(output, near, reduction="none")
        else:
            part = example_losses(output, near)
        parts.append(part if weight == 1 else weight * part)
    if weight < 1:
        hard = labels.to(output.device, torch.int64) if classes else labels.to(output).reshape(output.shape)
        part = example_losses(output, hard, label_smoothing)
        parts.append(part if weight == 0 else (1 - weight) * part)
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _check_shapes(logits: torch.Tensor, labels: torch.Tensor, soft: torch.Tensor) -> None:
    """Check that there is a label and a row of soft targets for each row of logits."""
    shape = tuple(logits.shape)
    if logits.ndim != 2:
        raise InputError(f"logits of soft_loss must have one row per example; got shape {shape}.")
    if tuple(soft.shape) != shape:
        raise InputError(f"soft of soft_loss must have the shape of the logits, {shape}; got {tuple(soft.shape)}.")
    whole = not labels.is_floating_point()
    allowed = [shape[:1], shape] if whole else [shape, shape[:1]] if shape[1] == 1 else [shape]
    if tuple(labels.shape) not in allowed:
        raise InputError(
            f"labels of soft_loss must have shape {' or '.join(map(str, allowed))} to fit the logits; got "
            f"{tuple(labels.shape)} of {labels.dtype}."
        )
