"""The one training loop. Every model that winnow trains, to observe or to prove, goes through it.

for epoch:                      until the planned number of steps is done
    for batch of a fresh shuffle:           or of fresh draws by weight
        loss, backward, step
        after_batch(positions, outputs)     where training-time logits can be recorded, for nothing
    after_epoch(epoch, model)   where a Recorder looks, in eval mode and without augmentation
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from ..artefacts.sampler import epoch_order
from ..core import checks
from ..core.errors import DivergedError, InputError, NotDefinedError
from ..core.seeds import number, stream
from .feed import Feed, augmented
from .recipe import Recipe

__all__ = ["WEIGHTINGS", "Trained", "predict", "train"]

WEIGHTINGS = ("loss", "draw")

AfterBatch = Callable[[NDArray[np.int64], torch.Tensor], None]
AfterEpoch = Callable[[int, torch.nn.Module], None]
Measure = Callable[[torch.Tensor, torch.Tensor, float], torch.Tensor]


@dataclass(frozen=True)
class Trained:
    """A trained model, the steps it took and the seconds of training, `after_epoch` not counted."""

    model: torch.nn.Module
    steps: int
    seconds: float


def train(
    model: torch.nn.Module,
    feed: Feed,
    recipe: Recipe,
    seed: int,
    *,
    weights: NDArray[np.float64] | None = None,
    weighting: str = "loss",
    soft: NDArray[np.float32] | None = None,
    steps: int | None = None,
    after_batch: AfterBatch | None = None,
    after_epoch: AfterEpoch | None = None,
) -> Trained:
    """Train a model in place.

    Parameters
    ----------
    model
        The network; it ends in eval mode.
    feed
        The training set.
    recipe
        How to train.
    seed
        Decides shuffles, augmentation and what the network draws by itself, such as dropout.
    weights
        How much each example counts, in the feed's canonical order; only ratios matter.
    weighting
        How weights are used. `loss` multiplies losses by the weights over their mean, so that a step stays the step it
        was; `draw` leaves losses alone and draws examples by weight, as often in an epoch as there are examples.
    soft
        Probabilities of the classes, one row an example in the feed's canonical order, to learn in place of the labels.
    steps
        Optimiser steps in all; the recipe's epochs unless given.
    after_batch
        Called with the canonical positions of each batch and the detached outputs of training.
    after_epoch
        Called with the number of epochs finished and the model after each whole pass.
    """
    targets = feed.targets
    if targets is None:
        raise NotDefinedError(f"training needs labels or a regression target; source {feed.source.name!r} has neither.")
    if recipe.augment and feed.source.kind != "image":
        raise InputError(f"augment of Recipe is for images; source {feed.source.name!r} holds a {feed.source.kind}.")
    measure: Measure = example_losses
    if soft is not None:
        targets, measure = _soft_targets(feed, soft), soft_losses
    model.to(device_of(recipe)).train()
    total = recipe.steps(len(feed)) if steps is None else steps
    optimizer = recipe.build_optimizer(model)
    checks.choice("weighting", "train", weighting, WEIGHTINGS)
    scale = None if weights is None or weighting == "draw" else torch.from_numpy(weights / weights.mean())
    drawn = np.ones(len(feed)) if weights is None or weighting == "loss" else weights
    with _torch_seeded(seed), safe_kernels(recipe):
        return _train(
            model, feed, recipe, seed, targets, measure, scale, drawn, optimizer, total, after_batch, after_epoch
        )


def _train(
    model: torch.nn.Module,
    feed: Feed,
    recipe: Recipe,
    seed: int,
    targets: torch.Tensor,
    measure: Measure,
    scale: torch.Tensor | None,
    drawn: NDArray[np.float64],
    optimizer: torch.optim.Optimizer,
    total: int,
    after_batch: AfterBatch | None,
    after_epoch: AfterEpoch | None,
) -> Trained:
    device = device_of(recipe)
    peaks = [group["lr"] for group in optimizer.param_groups]
    done, epoch, seconds = 0, 0, 0.0
    while done < total:
        start = time.perf_counter()
        rng = stream(seed, "augment", epoch)
        loss = torch.zeros(())
        for where in _batches(drawn, recipe, stream(seed, "batches", epoch)):
            for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                group["lr"] = peak * recipe.rate(done, total)
            x = feed.inputs(where)
            if recipe.augment:
                x = augmented(x, recipe.augment, rng)
            index = torch.from_numpy(where)
            output = _outputs(model, x.to(device), recipe)
            precise = output if output.dtype == torch.float64 else output.float()
            losses = measure(precise, targets[index].to(device), recipe.label_smoothing)
            loss = losses.mean() if scale is None else (losses * scale[index].to(losses)).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            done += 1
            if after_batch is not None:
                after_batch(where, output.detach())
            if done == total:
                break
        epoch += 1
        if not bool(torch.isfinite(loss)):
            raise DivergedError(
                f"training diverged in epoch {epoch} (the loss is {loss.item()}); lower lr of Recipe, now {peaks[0]:g}."
            )
        seconds += time.perf_counter() - start
        if after_epoch is not None:
            after_epoch(epoch, model)
            model.train()
    model.eval()
    return Trained(model, done, seconds)


def predict(model: torch.nn.Module, feed: Feed, recipe: Recipe, batch: int = 256) -> NDArray[np.float32]:
    """Outputs for every example of a feed in canonical order, in eval mode, without augmentation."""
    device = device_of(recipe)
    was_training = model.training
    model.to(device).eval()
    parts = []
    with torch.no_grad(), safe_kernels(recipe):
        for start in range(0, len(feed), batch):
            where = np.arange(start, min(start + batch, len(feed)))
            output = _outputs(model, feed.inputs(where).to(device), recipe)
            parts.append(output.float().cpu().numpy())
    model.train(was_training)
    return np.concatenate(parts)


def example_losses(output: torch.Tensor, targets: torch.Tensor, label_smoothing: float = 0.0) -> torch.Tensor:
    """Loss of each example: cross-entropy for class numbers, mean squared error over outputs otherwise."""
    if targets.dtype == torch.int64:
        return functional.cross_entropy(output, targets, reduction="none", label_smoothing=label_smoothing)
    return (output - targets).square().mean(1)


def soft_losses(output: torch.Tensor, targets: torch.Tensor, label_smoothing: float = 0.0) -> torch.Tensor:
    """Loss of each example under probabilities p of its classes: - sum of p log softmax(output).

    That is the divergence KL(p || softmax) plus the entropy of p, which no weight of the network changes: the gradients
    are those of the divergence.
    """
    return functional.cross_entropy(output, targets.to(output), reduction="none", label_smoothing=label_smoothing)


def _soft_targets(feed: Feed, soft: NDArray[np.float32]) -> torch.Tensor:
    """Probabilities as the loop takes them, if they fit the feed."""
    wanted = (len(feed), len(feed.source.classes))
    if feed.source.task != "classification" or soft.shape != wanted:
        raise InputError(
            f"soft of train must have one row an example and one column a class, {wanted} for source "
            f"{feed.source.name!r}; got {soft.shape}."
        )
    return torch.from_numpy(np.array(soft))  # a copy: what is handed over may be read-only


def _outputs(model: torch.nn.Module, x: torch.Tensor, recipe: Recipe) -> torch.Tensor:
    """What the model gives for a batch, in the recipe's precision."""
    with torch.autocast(x.device.type, torch.bfloat16, enabled=recipe.precision == "bfloat16"):
        return cast(torch.Tensor, model(x))


@contextmanager
def safe_kernels(recipe: Recipe) -> Iterator[None]:
    """Leave oneDNN out of bfloat16 on a CPU: where a virtual machine hides AMX its kernels kill the process."""
    kernels: Any = torch.backends.mkldnn  # its flag is a property of the module, which types do not know
    before = kernels.enabled
    if recipe.precision == "bfloat16" and device_of(recipe).type == "cpu":
        kernels.enabled = False
    try:
        yield
    finally:
        kernels.enabled = before


def device_of(recipe: Recipe) -> torch.device:
    """The device a recipe asks for."""
    if recipe.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(recipe.device)
        torch.zeros(1, device=device).item()
        return device
    except (RuntimeError, AssertionError, NotImplementedError):
        raise InputError(
            f"device of Recipe must be 'auto' or a torch device that is there, such as 'cpu'; got {recipe.device!r}."
        ) from None


@contextmanager
def _torch_seeded(seed: int) -> Iterator[None]:
    """Seed what a network may draw by itself, such as dropout, and leave torch's state as it was found."""
    devices = list(range(torch.cuda.device_count()))
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(number(seed, "torch"))
        yield


def _batches(drawn: NDArray[np.float64], recipe: Recipe, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    size, order = drawn.size, epoch_order(drawn, rng)
    count = recipe.batches(size)
    for index in range(count):
        end = size if index == count - 1 else (index + 1) * recipe.batch
        yield order[index * recipe.batch : end]
