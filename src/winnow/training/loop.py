"""The training loop. Every model that winnow trains, to observe or to evaluate, goes through it.

for epoch:                      until the planned number of steps is done
    for batch of a new shuffle:             or of new draws by weight
        loss, backward, step
        after_batch(positions, outputs)     here the logits of training can be recorded at no cost
        every few minutes: a checkpoint     if a step of a run is under way; a killed training goes on from it
    after_epoch(epoch, model)   here a Recorder can run, in eval mode and without augmentation
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts.sampler import epoch_order
from ..core import checks
from ..core.errors import DivergedError, InputError, NotDefinedError
from ..core.scratch_rows import filled_rows
from ..core.seeds import drawn_first, number, stream
from ..core.work_clock import begin, seconds_since
from ..models.layout import channels_last
from ..models.modes import eval_mode, train_mode
from .checkpoint import Checkpoint, Moment, Resumable
from .device import device_of, outputs, safe_kernels
from .dynamic_sampler import DynamicSampler
from .feed import Feed, augmented
from .recipe import Recipe
from .sharded_order import sharded
from .training_loss import Measure, training_loss

__all__ = ["WEIGHTINGS", "Trained", "device_of", "predict", "predicted", "train"]

WEIGHTINGS = ("loss", "draw")

AfterBatch = Callable[[NDArray[np.int64], torch.Tensor], None]
AfterEpoch = Callable[[int, torch.nn.Module], None]
Order = Callable[[int], NDArray[np.int64]]


@dataclass(frozen=True)
class Trained:
    """A trained model, the number of steps, and the seconds of training without `after_epoch`."""

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
    soft_weight: float = 1.0,
    steps: int | None = None,
    before: int = 0,
    part: int | None = None,
    sampler: DynamicSampler | None = None,
    after_batch: AfterBatch | None = None,
    after_epoch: AfterEpoch | None = None,
    beside: Sequence[Resumable] | None = None,
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
        Seed of shuffles, augmentation and the network's own draws, such as dropout.
    weights
        Weights of the examples, in the feed's canonical order; only ratios matter.
    weighting
        How weights are used. `loss` multiplies losses by the weights over their mean, so that the size of a step stays
        the same; `draw` does not change losses and draws examples by weight, as many per epoch as there are examples.
    soft
        Soft targets, one row per example in the feed's canonical order: class probabilities, or predictions in the unit
        of the regression target.
    soft_weight
        Share of the soft targets in the loss, as in `soft_loss`: 1 does not use the labels. The label smoothing of the
        recipe is applied to the label part only.
    steps
        Total number of optimiser steps; if not given, those of the recipe's epochs.
    before
        Steps that count as done already: the learning rate goes on from there.
    part
        Size of the random part that an epoch visits, drawn anew for each epoch; if not given, an epoch visits all.
        For equal weights or `weighting="loss"`.
    sampler
        Chooses the batches of each epoch and weighs their losses, in place of the recipe's shuffles; together with
        `weights`, those multiply the losses first.
    after_batch
        Called with the canonical positions of each batch and the detached outputs of training.
    after_epoch
        Called after each whole pass with the number of finished epochs and the model.
    beside
        What `after_batch` and `after_epoch` record, to be kept in checkpoints. If not given, a training with one of
        them has none.

    Returns
    -------
    Trained
        The model, the steps and the seconds.

    Raises
    ------
    NotDefinedError
        If the source has no labels and no regression target.
    InputError
        If an argument does not fit the source.
    DivergedError
        If the loss stops being finite.
    """
    feed = feed.read_by(model)
    if feed.targets is None:
        raise NotDefinedError(f"training needs labels or a regression target; source {feed.source.name!r} has neither.")
    if recipe.augment and feed.source.kind != "image":
        raise InputError(f"augment of Recipe is for images; source {feed.source.name!r} holds a {feed.source.kind}.")
    share = checks.number("soft_weight", "train", soft_weight, low=0, high=1)
    measure = training_loss(feed, soft, share, recipe)
    train_mode(model.to(device_of(recipe)))
    total = recipe.steps(len(feed)) if steps is None else steps
    optimizer = recipe.build_optimizer(model)
    checks.choice("weighting", "train", weighting, WEIGHTINGS)
    scale = None if weights is None or weighting == "draw" else torch.from_numpy(weights / weights.mean())
    order = _order(feed, seed, weights if weighting == "draw" else None, part, recipe.order)
    if beside is None and after_batch is None and after_epoch is None:
        beside = ()
    if beside is not None and sampler is not None:
        beside = (sampler, *beside)
    kept = Checkpoint(model, optimizer, beside, recipe.checkpoint)
    with _torch_seeded(seed), safe_kernels(recipe), channels_last(model, device_of(recipe)):
        return _train(
            model,
            feed,
            recipe,
            seed,
            measure,
            scale,
            order,
            optimizer,
            total,
            before,
            sampler,
            after_batch,
            after_epoch,
            kept,
        )


def _train(
    model: torch.nn.Module,
    feed: Feed,
    recipe: Recipe,
    seed: int,
    measure: Measure,
    scale: torch.Tensor | None,
    order: Order,
    optimizer: torch.optim.Optimizer,
    total: int,
    before: int,
    sampler: DynamicSampler | None,
    after_batch: AfterBatch | None,
    after_epoch: AfterEpoch | None,
    kept: Checkpoint,
) -> Trained:
    device = device_of(recipe)
    peaks = [group["lr"] for group in optimizer.param_groups]
    at = kept.found()
    done, epoch, first, seconds = at.done, at.epoch, at.batch, at.seconds
    while done < total:
        start = begin()
        rng = stream(seed, "augment", epoch)
        if at.augment is not None and epoch == at.epoch:
            rng.bit_generator.state = at.augment
        loss = torch.zeros(())
        # a sampler knows by itself where in the epoch it is
        batches = islice(_batches(order(epoch), recipe), first, None) if sampler is None else iter(sampler)
        for batch, where in enumerate(batches, first + 1):
            for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                group["lr"] = peak * recipe.rate(before + done, before + total)
            x = feed.inputs(where)
            if recipe.augment:
                x = augmented(x, recipe.augment, rng)
            index = torch.from_numpy(where)
            output = outputs(model, x.to(device), recipe)
            precise = output if output.dtype == torch.float64 else output.float()
            losses = measure(precise, index)
            if scale is not None:
                losses = losses * scale[index].to(losses)
            loss = losses.mean() if sampler is None else sampler.weigh(losses)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            done += 1
            if after_batch is not None:
                after_batch(where, output.detach())
            if done == total:
                break
            if kept.due() and bool(torch.isfinite(loss)):
                state = cast(dict[str, Any], rng.bit_generator.state)
                kept.save(Moment(done, epoch, batch, seconds + seconds_since(start), state))
        epoch, first = epoch + 1, 0
        if not bool(torch.isfinite(loss)):
            raise DivergedError(
                f"training diverged in epoch {epoch} (the loss is {loss.item()}); lower lr of Recipe, now {peaks[0]:g}."
            )
        seconds += seconds_since(start)
        if after_epoch is not None:
            after_epoch(epoch, model)
            train_mode(model)
        if done < total and kept.due():
            kept.save(Moment(done, epoch, 0, seconds))
    model.eval()
    return Trained(model, done, seconds)


def predict(model: torch.nn.Module, feed: Feed, recipe: Recipe, batch: int = 256) -> NDArray[np.float32]:
    """Compute the outputs for every example of a feed in canonical order, in eval mode, without augmentation.

    Parameters
    ----------
    model
        The network.
    feed
        The examples.
    recipe
        Gives precision and device.
    batch
        Examples per forward pass.

    Returns
    -------
    numpy.ndarray
        One row per example, in a file if they are many.

    Examples
    --------
    >>> import winnow as wn
    >>> feed = Feed(wn.open(([[0.0], [1.0], [0.0], [1.0]], [0, 1, 0, 1])))
    >>> predict(wn.models.build("mlp", classes=2, shape=(1,)), feed, Recipe()).shape
    (4, 2)
    """
    return filled_rows((output for _, output in predicted(model, feed, recipe, batch)), len(feed))


def predicted(
    model: torch.nn.Module, feed: Feed, recipe: Recipe, batch: int = 256
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """The same batch by batch, with positions, so that not all outputs have to be held."""
    device, feed = device_of(recipe), feed.read_by(model)
    with eval_mode(model.to(device)), torch.no_grad(), safe_kernels(recipe), channels_last(model, device):
        for start in range(0, len(feed), batch):
            where = np.arange(start, min(start + batch, len(feed)))
            output = outputs(model, feed.inputs(where).to(device), recipe)
            yield where, output.float().cpu().numpy()


@contextmanager
def _torch_seeded(seed: int) -> Iterator[None]:
    """Seed the network's own draws, such as dropout, and restore torch's state afterwards."""
    devices = list(range(torch.cuda.device_count()))
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(number(seed, "torch"))
        yield


def _order(feed: Feed, seed: int, drawn: NDArray[np.float64] | None, part: int | None, kind: str) -> Order:
    """Return the function from an epoch to the canonical positions it visits, in order."""
    if kind == "sharded":
        plain = _order(feed, seed, drawn, part, "shuffled")
        return lambda epoch: sharded(plain(epoch), len(feed), stream(seed, "shards", epoch))
    if part is not None:
        size = checks.integer("part", "train", part, low=1, high=len(feed))
        if drawn is not None:
            raise InputError("part of train is drawn without weights; leave it out, or use weighting='loss'.")
        return lambda epoch: drawn_first(seed, ("part", epoch), feed.ids, size)
    weights = np.ones(len(feed)) if drawn is None else drawn
    return lambda epoch: epoch_order(weights, stream(seed, "batches", epoch))


def _batches(order: NDArray[np.int64], recipe: Recipe) -> Iterator[NDArray[np.int64]]:
    count = recipe.batches(order.size)
    for index in range(count):
        end = order.size if index == count - 1 else (index + 1) * recipe.batch
        yield order[index * recipe.batch : end]
