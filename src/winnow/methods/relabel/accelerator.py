"""`Accelerator`: train a student towards stored targets until the switch, in any training loop.

    tgt = wn.relabel.targets(src, prior, dim)
    acc = wn.Accelerator(in_dim, dim, planned_steps=steps)
    optimizer.add_param_group({"params": acc.parameters()})
    ...
    loss = acc.loss(features, tgt.at(ids)) if acc.active else method(features)
    acc.update(loss)

The loss of stage 1 is 1 - cos(W phi(x) + b, target), averaged over examples and views, with W and b learned along with
phi. Only one loss is computed per step. The averages of the switch are plain Python numbers, so they are equally exact
on a GPU, in half precision and after a checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from ...core import checks, seeds
from ...core.errors import InputError
from .stage_switch import Switch

__all__ = ["Accelerator"]

Views = torch.Tensor | Sequence[torch.Tensor]


class Accelerator(nn.Module):
    """Stage 1 of ReLA as a module: a linear head, its loss, and the switch to stage 2.

    Parameters
    ----------
    in_dim
        The number of features per example that the student gives.
    dim
        The length of a target.
    planned_steps
        The number of steps of the whole training, both stages; None keeps the paper's own constants, which suit 3,900
        steps.
    switch
        "adaptive" for Algorithm 1, a number of steps, or None to stay in stage 1; 0 is the method alone.
    train_head
        Whether the head is trained. Its parameters must also be in your optimiser.
    seed
        Seed of the head's initial weights.

    Attributes
    ----------
    head
        The linear map from features to targets.
    switch
        The `Switch`, with its averages.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> acc = Accelerator(8, 4, planned_steps=100, switch=2)
    >>> features, targets = torch.ones(3, 8, requires_grad=True), torch.ones(3, 4)
    >>> for _ in range(2):
    ...     loss = acc.loss(features, targets)
    ...     acc.update(loss)
    >>> acc.active, acc.switched_at
    (False, 2)
    """

    def __init__(
        self,
        in_dim: int,
        dim: int,
        planned_steps: int | None = None,
        *,
        switch: str | int | None = "adaptive",
        train_head: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__()
        in_dim = checks.integer("in_dim", "Accelerator", in_dim, low=1)
        dim = checks.integer("dim", "Accelerator", dim, low=1)
        if not isinstance(train_head, bool):
            raise InputError(f"train_head of Accelerator must be True or False; got {train_head!r}.")
        self.switch = Switch(planned_steps, switch)
        self.head = _linear(in_dim, dim, seed).requires_grad_(train_head)
        self._total: torch.Tensor | None = None  # of the losses since the last update
        self._count = 0
        self._looked = False  # whether the targets were checked, which is done once

    @property
    def active(self) -> bool:
        """Whether stage 1 is still running."""
        return self.switch.active

    @property
    def switched_at(self) -> int | None:
        """The number of steps in stage 1, once it is over; None before."""
        return self.switch.switched_at

    def loss(self, features: Views, targets: torch.Tensor | NDArray[Any]) -> torch.Tensor:
        """Compute the loss of stage 1, a scalar to call `backward` on.

        It is computed in single precision, also under autocast. It may be called after the switch, to monitor it.

        Parameters
        ----------
        features
            The student's features of a batch, (n, in_dim); a list or tuple of these for several views.
        targets
            The targets of the same examples in the same order, (n, dim). Their lengths do not matter, but no row may be
            zero. On a GPU only the first batch is checked, because the check waits for the device; later a zero target
            makes the loss NaN.

        Returns
        -------
        torch.Tensor
            The mean of 1 - cosine.

        Raises
        ------
        InputError
            If the shapes do not match, or a target is zero or not finite.
        """
        views: list[Any] = list(features) if isinstance(features, list | tuple) else [features]
        wanted = self._checked(views, targets)
        with torch.autocast(views[0].device.type, enabled=False):
            outputs = [self.head(view.to(self.head.weight.dtype)).float() for view in views]
            loss = torch.stack([_apart(output, wanted) for output in outputs]).mean()
        if torch.is_grad_enabled() and self.active:
            now = loss.detach()
            self._total = now if self._total is None else self._total.to(now.device) + now
            self._count += 1
        return loss

    def forward(self, features: Views, targets: torch.Tensor | NDArray[Any]) -> torch.Tensor:
        """`loss`, for wrappers such as DistributedDataParallel, which see only this."""
        return self.loss(features, targets)

    def update(self, loss_value: float | torch.Tensor | None = None) -> None:
        """End a step of stage 1; after the switch this does nothing.

        Under `torch.distributed` every process must call it. The mean over processes decides, so that all switch at the
        same step. The adaptive switch waits for the device to read a tensor; a fixed one reads nothing.

        Parameters
        ----------
        loss_value
            The step's loss, without the factor of a gradient scaler. None uses the mean of the values that `loss`
            returned, with gradients enabled, since the last update; use this with gradient accumulation.

        Raises
        ------
        InputError
            If the value is not a single number, or None is given and `loss` was not called.
        DivergedError
            If the loss is not finite.
        """
        if not self.active:
            return
        if loss_value is None:
            if self._total is None:
                raise InputError("loss_value of Accelerator.update must be given if loss was not called before it.")
            loss_value = self._total / self._count
        self._total, self._count = None, 0
        if isinstance(loss_value, torch.Tensor) and loss_value.numel() != 1:
            raise InputError(
                f"loss_value of Accelerator.update must be one number; got shape {tuple(loss_value.shape)}."
            )
        if not isinstance(loss_value, torch.Tensor):
            loss_value = _number(loss_value)
        self.switch.update(_shared(loss_value) if self.switch.adaptive else 0.0)

    def check_optimizer(self, *optimizers: torch.optim.Optimizer) -> None:
        """Check that the optimisers hold the head, if it should be trained.

        Parameters
        ----------
        optimizers
            The optimisers of the training.

        Raises
        ------
        InputError
            If parameters of the head are missing from them.
        """
        if not all(hasattr(optimizer, "param_groups") for optimizer in optimizers):
            raise InputError("optimizers of Accelerator.check_optimizer must be torch optimisers.")
        held = {id(p) for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}
        missing = [name for name, p in self.head.named_parameters() if p.requires_grad and id(p) not in held]
        if missing:
            raise InputError(
                f"the optimiser must hold the parameters of the Accelerator's head, or train_head must be False; "
                f"missing: {', '.join(missing)}."
            )

    def get_extra_state(self) -> torch.Tensor:
        """Return the switch as part of `state_dict`: a tensor, so that safetensors can store it."""
        return torch.tensor([value for _, value in sorted(self.switch.state_dict().items())], dtype=torch.float64)

    def set_extra_state(self, state: torch.Tensor) -> None:
        """Restore the switch from a `state_dict`."""
        names = sorted(self.switch.state_dict())
        if not isinstance(state, torch.Tensor) or state.shape != (len(names),) or state.dtype != torch.float64:
            raise InputError(f"the switch in an Accelerator's state must be {len(names)} numbers in double precision.")
        self.switch.load_state_dict(dict(zip(names, state.tolist(), strict=True)))
        self._total, self._count = None, 0

    def extra_repr(self) -> str:
        """Show the switch when the module is printed."""
        stage = "stage 1" if self.active else f"stage 2 since step {self.switched_at}"
        return f"planned_steps={self.switch.planned_steps}, switch={self.switch.at!r}, {stage}"

    def _checked(self, views: list[torch.Tensor], targets: torch.Tensor | NDArray[Any]) -> torch.Tensor:
        """Check features and targets; return the targets on the same device, in single precision."""
        if not views or not all(isinstance(view, torch.Tensor) and view.is_floating_point() for view in views):
            raise InputError("features of Accelerator.loss must be a tensor of floats, or a non-empty list of them.")
        in_dim, dim, n = self.head.in_features, self.head.out_features, len(views[0])
        for view in views:
            if view.ndim != 2 or view.shape != (n, in_dim) or not n:
                raise InputError(
                    f"features of Accelerator.loss must be (examples, {in_dim}), the same number in every view; got "
                    f"{', '.join(str(tuple(v.shape)) for v in views)}."
                )
        wanted = _tensor(targets)
        if wanted.shape != (n, dim) or not wanted.is_floating_point():
            raise InputError(
                f"targets of Accelerator.loss must be ({n}, {dim}) floats, one row per example; got shape "
                f"{tuple(wanted.shape)} of {wanted.dtype}."
            )
        if wanted.device.type == "cpu" or not self._looked:
            _refuse_without_direction(wanted)
            self._looked = True
        return _of_size_one(wanted.to(views[0].device, non_blocking=True))


def _linear(in_dim: int, dim: int, seed: int) -> nn.Linear:
    """Initialise like `nn.Linear`, but from a separate stream, so that torch's random state does not change."""
    head = nn.Linear(in_dim, dim, device="meta").to_empty(device="cpu")
    own = torch.Generator().manual_seed(seeds.number(seed, "accelerator", "head"))
    bound = 1 / math.sqrt(in_dim)
    for parameter in head.parameters():
        nn.init.uniform_(parameter, -bound, bound, generator=own)
    return head


def _tensor(targets: torch.Tensor | NDArray[Any]) -> torch.Tensor:
    if isinstance(targets, torch.Tensor):
        return targets.detach()
    try:
        rows = np.array(targets)  # a copy: torch accepts neither read-only rows nor another byte order
        return torch.from_numpy(
            rows.astype(np.float64 if rows.itemsize > 4 else np.float32) if rows.dtype.kind == "f" else rows
        )
    except (TypeError, ValueError):
        raise InputError(
            f"targets of Accelerator.loss must be a tensor or an array of floats; got {type(targets).__name__}."
        ) from None


def _of_size_one(targets: torch.Tensor) -> torch.Tensor:
    """Scale each row in single precision to a largest value of 1; otherwise very large or small rows give cosine 0."""
    targets = targets.to(torch.promote_types(targets.dtype, torch.float32))
    largest = targets.abs().amax(1, keepdim=True)
    return (targets / torch.where(largest > 0, largest, 1)).float()


def _apart(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The mean of 1 - cosine; NaN if a target has no direction, but still with finite gradients."""
    cosine = functional.cosine_similarity(outputs, targets, dim=1)
    return torch.where(_has_direction(targets), 1 - cosine, math.nan).mean()


def _has_direction(targets: torch.Tensor) -> torch.Tensor:
    largest = targets.abs().amax(1)
    return (largest > 0) & largest.isfinite()


def _refuse_without_direction(targets: torch.Tensor) -> None:
    bad = ~_has_direction(targets)
    if bad.any():
        raise InputError(
            f"targets of Accelerator.loss must be finite and not zero, since a zero target has no direction; "
            f"{int(bad.sum())} of {len(bad)} are not, the first in row {int(bad.nonzero()[0])}."
        )


def _number(loss: object) -> float:
    if not isinstance(loss, str | bool):
        try:
            return float(loss)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            pass
    raise InputError(f"loss_value of Accelerator.update must be one number; got {loss!r}.")


def _shared(loss: float | torch.Tensor) -> float:
    """Return the loss as a number: the mean over processes, if there are several."""
    if isinstance(loss, torch.Tensor):
        loss = loss.detach()  # torch warns if a number is read from a tensor with gradients
    several = torch.distributed.is_available() and torch.distributed.is_initialized()
    if not several or torch.distributed.get_world_size() == 1:
        return float(loss)
    device = "cuda" if "nccl" in torch.distributed.get_backend() else "cpu"
    value = torch.as_tensor(loss, dtype=torch.float64, device=device).clone().reshape(1)
    torch.distributed.all_reduce(value)
    return float(value) / torch.distributed.get_world_size()
