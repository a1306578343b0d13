"""Influence vectors of a torch network: features and outputs are read at its named head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError, UnknownNameError
from .fit_head import fit_head
from .heads import checked_head
from .lissa import Lissa
from .vectors import Influence, vectors_of

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = ["from_model"]

OWNER = "influence.from_model"
BATCH = 512


def from_model(
    model: nn.Module,
    head: str,
    x: ArrayLike | torch.Tensor,
    y: ArrayLike | torch.Tensor,
    damping: float,
    *,
    loss: str = "softmax",
    refit: bool = True,
    convention: str = "1/(n-m)",
    solver: str | Lissa = "auto",
    dtype: str = "float64",
    out: NDArray[Any] | None = None,
) -> Influence:
    """Compute how removing each example changes the head of a network, with all layers before it fixed.

    Parameters
    ----------
    model
        Any network. Its mode and weights are unchanged afterwards.
    head
        Name of the linear layer whose output is the network's, as in `model.named_modules()`. A column of ones is
        added to its inputs if it has a bias.
    x, y
        Inputs as the network takes them, and class labels or targets.
    damping
        lam of mean loss + lam / 2 |theta|^2; above 0 for softmax.
    loss
        `softmax` or `squared`.
    refit
        Whether to train the head to its optimum on its own features first, starting from the network's weights. A
        network that was stopped early is not at an optimum, and predictions about it are off accordingly.
    convention, solver, dtype, out
        As in `vectors`.

    Returns
    -------
    Influence
        One row per example, and the head.

    Raises
    ------
    InputError
        If the head is not a linear layer that gives the network's output, or an argument is out of range.
    UnknownNameError
        If the network has no layer of that name.

    Examples
    --------
    >>> import torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    >>> from_model(net, "2", torch.eye(2), [0, 1], damping=0.1).values.shape  # (3 features and a bias) x 2 classes
    (2, 8)
    """
    import torch
    from torch import nn

    if not isinstance(model, nn.Module):
        raise InputError(f"model of {OWNER} must be a torch module; got {type(model).__name__}.")
    layer = _layer(model, head)
    labels = y.detach().cpu().numpy() if isinstance(y, torch.Tensor) else y
    features, outputs = _read(model, layer, head, x)
    theta = layer.weight.detach().cpu().numpy().T.astype(np.float64)
    if layer.bias is not None:
        features = np.concatenate([features, np.ones((len(features), 1))], axis=1)
        theta = np.concatenate([theta, layer.bias.detach().cpu().numpy()[None].astype(np.float64)])
    if refit:
        classes = theta.shape[1] if loss == "softmax" else None
        outputs = fit_head(features, labels, damping, loss=loss, classes=classes, start=theta).outputs
    elif loss == "softmax":
        outputs = torch.softmax(torch.from_numpy(outputs), 1).numpy()
    return vectors_of(checked_head(OWNER, features, outputs, labels, damping, loss), convention, solver, dtype, out)


def _layer(model: nn.Module, head: object) -> nn.Linear:
    from torch import nn

    layers = dict(model.named_modules())
    linear = {name: layer for name, layer in layers.items() if isinstance(layer, nn.Linear)}
    if not linear:
        raise InputError(
            f"model of {OWNER} must have a linear layer for its head; this {type(model).__name__} has none."
        )
    if not isinstance(head, str) or head not in layers:
        raise UnknownNameError.of(f"head of a {type(model).__name__}:", head, sorted(linear))
    if head not in linear:
        raise InputError(
            f"head of {OWNER} must name a linear layer ({', '.join(sorted(linear))}); {head!r} is a "
            f"{type(layers[head]).__name__}."
        )
    return linear[head]


def _read(model: nn.Module, layer: nn.Linear, name: str, x: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Inputs and outputs of the head for every example, after checking that its output is the network's."""
    import torch

    from ...models.modes import eval_mode

    inputs = x if isinstance(x, torch.Tensor) else torch.as_tensor(np.require(x, requirements="W"))
    first = next(model.parameters())
    caught: list[torch.Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _module, given: caught.append(given[0]))
    rows, made = [], []
    try:
        with eval_mode(model), torch.no_grad():
            for part in torch.split(inputs, BATCH):
                caught.clear()
                real = part.to(first.device, first.dtype) if part.is_floating_point() else part.to(first.device)
                outputs = model(real)
                if len(caught) != 1 or caught[0].ndim != 2 or not _same(outputs, layer(caught[0])):
                    raise InputError(
                        f"head of {OWNER} must be the layer whose output is the network's, used once on one row per "
                        f"example; {name!r} of this {type(model).__name__} is not."
                    )
                rows.append(caught[0].double().cpu().numpy())
                made.append(outputs.double().cpu().numpy())
    finally:
        hook.remove()
    return checks.finite("x", OWNER, np.concatenate(rows)), checks.finite("x", OWNER, np.concatenate(made))


def _same(outputs: Any, from_head: torch.Tensor) -> bool:
    import torch

    if not isinstance(outputs, torch.Tensor) or outputs.shape != from_head.shape:
        return False
    return bool(torch.allclose(outputs, from_head, rtol=1e-4, atol=1e-5))
