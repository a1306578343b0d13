"""`RecorderCallback` and `AcceleratorCallback` for Lightning, under either of its names; the only file that imports it.

    rec = wn.Recorder(len(train_dataset), classes)
    trainer = Trainer(..., callbacks=[RecorderCallback(rec)])
    trainer.fit(module, train_loader)
    signals = rec.signals()

After each epoch the callback makes a pass over the training set in its own order, in eval mode; scores are defined on
such outputs. It costs one forward pass per epoch and does not change the training. The recording is part of the
trainer's checkpoints, so that `fit(..., ckpt_path=...)` continues it.

A subset with soft targets needs no callback: its loader gives (inputs, targets, soft targets), and `training_step`
returns the loss:

    loader = DataLoader(subset.to_torch(train_dataset, targets="soft"), ...)

    def training_step(self, batch, index):
        x, y, soft = batch
        return wn.soft_loss(self(x), y, soft, weight=subset.targets.weight)

`AcceleratorCallback` counts the steps of a `wn.Accelerator` whose loss your `training_step` returns while it is active.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from ...core.errors import InputError, MissingDependencyError
from ..dynamic_sampler import DynamicSampler
from ..recorder import Recorder, eval_pass

__all__ = ["AcceleratorCallback", "RecorderCallback", "SamplerCallback"]

NAMES = ("pytorch_lightning", "lightning.pytorch")
Forward = Callable[[Any, Any], tuple[torch.Tensor, torch.Tensor]]


def _callback() -> Any:
    """Return Lightning's base class, from the package name that is already in use, if any."""
    for name in sorted(NAMES, key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(name).Callback
        except ImportError:
            continue
    raise MissingDependencyError(
        "winnow's callback for Lightning needs pytorch-lightning; install it with: pip install pytorch-lightning"
    )


if TYPE_CHECKING:
    Base = object
else:
    Base = _callback()


class RecorderCallback(Base):
    """Record every example of the training set after each epoch of a Lightning trainer.

    Parameters
    ----------
    recorder
        Where to record.
    dataset
        A data set to use instead of that of the training loader: the same examples in the same order, for example
        without augmentation.
    forward
        Maps the module and a batch to logits and targets; if not given, a batch is (inputs, targets) or (inputs,
        targets, soft targets) and the module, called on the inputs, returns logits.
    """

    def __init__(self, recorder: Recorder, dataset: Any = None, forward: Forward | None = None) -> None:
        self.recorder = recorder
        self.dataset = dataset
        self.forward = _plain_forward if forward is None else forward

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Check that the recorder fits this training."""
        finished = trainer.current_epoch
        if self.recorder.epochs != finished:
            raise InputError(
                f"recorder of RecorderCallback must have as many epochs as the training so far, "
                f"{finished}; it has {self.recorder.epochs}."
            )

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Record the epoch."""
        loader = trainer.train_dataloader
        if not hasattr(loader, "dataset"):
            raise InputError(
                f"RecorderCallback records one training loader with a data set; got a {type(loader).__name__}."
            )

        def forward(batch: Any) -> tuple[torch.Tensor, torch.Tensor]:
            return self.forward(pl_module, trainer.strategy.batch_to_device(batch))

        dataset = loader.dataset if self.dataset is None else self.dataset
        with trainer.precision_plugin.forward_context():
            eval_pass(
                self.recorder,
                pl_module,
                dataset,
                batch=loader.batch_size or 256,
                forward=forward,
                collate=loader.collate_fn,
            )

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Return the recording as tensors, for the trainer's checkpoint."""
        return {name: torch.from_numpy(value) for name, value in self.recorder.state_dict().items()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue the recording of a checkpoint."""
        self.recorder.load_state_dict(state_dict)


class SamplerCallback(Base):
    """Keep a `wn.DynamicSampler` in step with a Lightning trainer, and in its checkpoints.

    Use the sampler as `batch_sampler` of the training loader, give positions to `weigh` in `training_step`, and make
    the trainer with `reload_dataloaders_every_n_epochs=1` (epochs differ in length) and, on several processes,
    `use_distributed_sampler=False`.

    Parameters
    ----------
    sampler
        The sampler of the training loader.
    """

    def __init__(self, sampler: DynamicSampler) -> None:
        self.sampler = sampler
        self._consumed = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Check the settings of the trainer."""
        if trainer.reload_dataloaders_every_n_epochs != 1:
            raise InputError(
                "a Trainer with SamplerCallback needs reload_dataloaders_every_n_epochs=1, because the epochs of a "
                f"DynamicSampler differ in length; got {trainer.reload_dataloaders_every_n_epochs}."
            )

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Count from here; a resumed epoch goes on with its count."""
        self._consumed = trainer.fit_loop.epoch_loop.batch_progress.current.completed

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Count the batch as trained on."""
        self._consumed += 1

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """End the epoch of the sampler, so that its next length is that of the next epoch."""
        self.sampler.end_epoch()

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Share the losses of all processes before the state is taken."""
        self.sampler.sync()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the sampler, for the trainer's checkpoint."""
        state = self.sampler.state_dict(consumed=self._consumed)
        return {name: torch.from_numpy(v) if hasattr(v, "shape") else v for name, v in state.items()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.sampler.load_state_dict(state_dict)


class AcceleratorCallback(Base):
    """Move a `wn.Accelerator` to the module's device, end its steps, and store it in the trainer's checkpoints.

    Parameters
    ----------
    accelerator
        Your `training_step` returns its `loss` while it is `active`. Its parameters must be in an optimiser: make it
        part of the module, or add them in `configure_optimizers`.
    """

    def __init__(self, accelerator: Any) -> None:
        self.accelerator = accelerator
        self._ended = 0

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Move the accelerator to the module's device."""
        self.accelerator.to(pl_module.device)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Check that the optimisers hold the head."""
        self.accelerator.check_optimizer(*trainer.optimizers)
        self._ended = trainer.global_step

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """End a step of the accelerator with each step of the optimiser."""
        if trainer.global_step > self._ended:  # not while gradients accumulate
            self._ended = trainer.global_step
            self.accelerator.update()

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Return the head and the switch, for the trainer's checkpoint."""
        return dict(self.accelerator.state_dict())

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restore the state from a checkpoint."""
        self.accelerator.load_state_dict(state_dict)


def _plain_forward(module: Any, batch: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(batch, tuple | list) or not (len(batch) == 2 or (len(batch) == 3 and _soft(batch[2]))):
        raise InputError(
            "RecorderCallback expects batches of (inputs, targets), or of (inputs, targets, soft targets); for others "
            f"pass forward=, which maps module and batch to logits and targets; got a {type(batch).__name__}."
        )
    return module(batch[0]), batch[1]


def _soft(value: Any) -> bool:
    """Whether these can be soft targets; a third part of another kind may mean that the second is not the targets."""
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.ndim == 2
