"""The loop of `accelerate`: one loss per step, that of stage 1 or that of the method.

for step:
    batch and views, determined by (seed, step) alone
    stage 1:  the accelerator's loss on weak views      the switch reads it
    stage 2:  the method's loss on its own views
    backward, optimiser step
    averaged networks follow the backbone, in both stages

In stage 1 the method's heads get no gradient, so the optimiser skips them; in stage 2 it skips the accelerator's head.
Two methods with the same seed therefore share stage 1 exactly.

The state of an unfinished pretraining has the weights, the buffers that torch leaves out of `state_dict` (a queue), and
the optimiser's state by parameter name, so that a resumed training continues as if it had never stopped.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ...artefacts.training_state import State
from ...core.errors import DivergedError
from ...core.seeds import number, stream
from ...training import Feed, Recipe
from ...training.device import device_of
from ...training.module_state import give_module, give_optimizer, held_by, remembered_by
from .accelerator import Accelerator
from .self_supervised import SelfSupervisedMethod, Shadow
from .views import Transform, transformed_views, weak_views

__all__ = ["Pretraining", "STAGES"]

STAGES = ("stage 1", "stage 2")


class Pretraining:
    """A pretraining in progress: networks, optimiser, and current step.

    Parameters
    ----------
    feed
        The images.
    recipe
        Optimiser, schedule, batch, precision, device.
    steps
        Planned steps, both stages.
    seed
        Seed of batches, views and the network's own random draws.
    backbone
        The network to train.
    accelerator, targets
        Stage 1 and its targets in the feed's order; None for the method alone.
    method
        Stage 2; None for stage 1 alone.
    shadow
        An average of the backbone to keep in stage 1, for the method that will follow.
    views
        Weak views per step of stage 1.
    transform
        The user's own views for stage 2.
    """

    def __init__(
        self,
        feed: Feed,
        recipe: Recipe,
        steps: int,
        seed: int,
        backbone: nn.Module,
        accelerator: Accelerator | None,
        targets: NDArray[np.float32] | None,
        method: SelfSupervisedMethod | None,
        shadow: Shadow | None,
        views: int,
        transform: Transform | None,
    ) -> None:
        self.feed, self.recipe, self.steps, self.seed = feed, recipe, steps, seed
        self.backbone, self.accelerator, self.method, self.shadow = backbone, accelerator, method, shadow
        self.views, self.transform = views, transform
        self.device = device_of(recipe)
        modules = {"backbone": backbone, "accelerator": accelerator, "method": method, "shadow": shadow}
        self.parts = nn.ModuleDict({name: part for name, part in modules.items() if part is not None})
        self.parts.to(self.device).train()
        if method is not None:
            method.precision = recipe.precision
        self._targets = None if targets is None else torch.from_numpy(np.array(targets))
        self._names = {name: p for name, p in self.parts.named_parameters() if p.requires_grad}
        self._optimizer = recipe.build_optimizer(self.parts)
        if recipe.optimizer == "sgd" and recipe.momentum:
            # Heads join at the switch, and fused SGD needs momentum for all parameters or none; zero equals none.
            for parameter in self._names.values():
                self._optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        self._peaks = [group["lr"] for group in self._optimizer.param_groups]
        self._batch = min(recipe.batch, len(feed))
        self._epoch: tuple[int, NDArray[np.int64]] = (-1, np.arange(0))
        scaling = feed.scaling
        self._mean, self._std = scaling.mean.to(self.device), scaling.std.to(self.device)
        self.done = 0
        self.losses: list[float] = []
        self.seconds = dict.fromkeys(STAGES, 0.0)

    @property
    def first_stage(self) -> bool:
        """Whether the next step belongs to stage 1; without a method all do."""
        return self.method is None or (self.accelerator is not None and self.accelerator.active)

    def step(self) -> None:
        """One step."""
        start, first = time.perf_counter(), self.first_stage
        torch.manual_seed(number(self.seed, "torch", self.done))
        where = self._positions()
        images = self.feed.unscaled(where).to(self.device)
        loss = self._first_loss(images, where) if first else self._method_loss(images)
        for group, peak in zip(self._optimizer.param_groups, self._peaks, strict=True):
            group["lr"] = peak * self.recipe.rate(self.done, self.steps)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        value = loss.item()
        self.done += 1
        if not math.isfinite(value):
            raise DivergedError(
                f"pretraining diverged at step {self.done} (the loss is {value}); lower lr of Recipe, "
                f"now {self._peaks[0]:g}."
            )
        self.losses.append(value)
        if first and self.accelerator is not None:
            self.accelerator.update(value)
        if self.method is not None:
            self.method.after_step(self.backbone, self.done, heads=not first)
        if self.shadow is not None:
            self.shadow.follow(self.backbone, self.done)
        self.seconds[STAGES[0] if first else STAGES[1]] += time.perf_counter() - start

    def _positions(self) -> NDArray[np.int64]:
        """The batch of this step: whole batches from a new shuffle each epoch, dropping the rest."""
        epoch, index = divmod(self.done, len(self.feed) // self._batch)
        if self._epoch[0] != epoch:
            self._epoch = (epoch, stream(self.seed, "batches", epoch).permutation(len(self.feed)))
        return self._epoch[1][index * self._batch : (index + 1) * self._batch]

    def _first_loss(self, images: torch.Tensor, where: NDArray[np.int64]) -> torch.Tensor:
        assert self.accelerator is not None  # for the type checker: `accelerate` checked both
        assert self._targets is not None
        views = weak_views(images, self.views, stream(self.seed, "weak views", self.done))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.precision == "bfloat16"):
            features = [self.backbone(self._scaled(view)) for view in views]
        return self.accelerator.loss([value.float() for value in features], self._targets[torch.from_numpy(where)])

    def _method_loss(self, images: torch.Tensor) -> torch.Tensor:
        assert self.method is not None
        if self.transform is not None:
            views = transformed_views(images, self.transform, self.seed, self.done)
        else:
            views = self.method.views(images, stream(self.seed, "views", self.done))
        return self.method.loss(self.backbone, [self._scaled(view) for view in views])

    def _scaled(self, view: torch.Tensor) -> torch.Tensor:
        return ((view - self._mean) / self._std).contiguous(memory_format=torch.channels_last)

    def state(self, settings: dict[str, Any]) -> State:
        """Return everything needed to continue from here."""
        tensors = held_by(self.backbone, "backbone")
        if self.accelerator is not None:
            for name, value in self.accelerator.state_dict().items():
                tensors[f"accelerator.{name}"] = value.detach().cpu().clone()
        if self.method is not None:
            tensors |= held_by(self.method, "method")
        shadow = self.shadow if self.method is None else self.method.shadow
        if shadow is not None:  # stored under one name, whoever owns it
            tensors |= held_by(shadow, "shadow")
        tensors = {name: value for name, value in tensors.items() if not name.startswith("method.shadow.")}
        tensors |= remembered_by(self._optimizer, self._names)
        tensors["losses"] = torch.tensor(self.losses, dtype=torch.float64)
        return State(tensors, {"steps": self.done, "settings": settings}, dict(self.seconds))

    def restore(self, state: State) -> None:
        """Continue from a state; one without a method's heads leaves them as built."""
        give_module(self.backbone, state.within("backbone"))
        if self.accelerator is not None:
            self.accelerator.load_state_dict(state.within("accelerator"))
        shadow = self.shadow if self.method is None else self.method.shadow
        if shadow is not None:
            give_module(shadow, state.within("shadow"))
        heads = state.within("method")
        if self.method is not None and heads:
            for name, part in self.method.named_children():
                if part is not shadow:
                    give_module(
                        part, {key.removeprefix(f"{name}."): heads[key] for key in heads if key.startswith(f"{name}.")}
                    )
        give_optimizer(self._optimizer, self._names, state.within("optimizer"))
        self.losses = state.tensors["losses"].tolist()
        self.done = int(state.about["steps"])
        self.seconds = dict.fromkeys(STAGES, 0.0) | {name: float(value) for name, value in state.seconds.items()}
