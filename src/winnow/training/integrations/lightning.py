"""`RecorderCallback` and `AcceleratorCallback` for Lightning, under either of its names; the only file that imports it.

    rec = wn.Recorder(len(train_dataset), classes)
    trainer = Trainer(..., callbacks=[RecorderCallback(rec)])
    trainer.fit(module, train_loader)
    signals = rec.signals()

After each epoch the callback passes over the training set in its own order, in eval mode: what scores are
defined on. It costs one forward pass an epoch and does not change the training. What was recorded is part of
the trainer's checkpoints, so that `fit(..., ckpt_path=...)` goes on where it was.

`AcceleratorCallback` keeps the steps of a `wn.Accelerator` whose loss your `training_step` takes while it is active.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from ...core.errors import InputError, MissingDependencyError
from ..recorder import Recorder, eval_pass

__all__ = ["AcceleratorCallback", "RecorderCallback"]

NAMES = ("pytorch_lightning", "lightning.pytorch")
Forward = Callable[[Any, Any], tuple[torch.Tensor, torch.Tensor]]


def _callback() -> Any:
    """Lightning's base class, from the name that is in use already if one is."""
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
        What to pass over instead of the data set of the training loader: the same examples in the same
        order, without augmentation, say.
    forward
        From the module and a batch to logits and targets; without it a batch is (inputs, targets) and the
        module, called on the inputs, gives logits.
    """

    def __init__(self, recorder: Recorder, dataset: Any = None, forward: Forward | None = None) -> None:
        self.recorder = recorder
        self.dataset = dataset
        self.forward = _plain_forward if forward is None else forward

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Refuse a recorder that does not fit this training."""
        finished = trainer.current_epoch
        if self.recorder.epochs != finished:
            raise InputError(
                f"recorder of RecorderCallback must have as many epochs as the training it joins, "
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
        """What was recorded, as tensors, for the trainer's checkpoint."""
        return {name: torch.from_numpy(value) for name, value in self.recorder.state_dict().items()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take up what a checkpoint recorded."""
        self.recorder.load_state_dict(state_dict)


class AcceleratorCallback(Base):
    """Move a `wn.Accelerator` to the module's device, end its steps, and keep it in the trainer's checkpoints.

    Parameters
    ----------
    accelerator
        Whose `loss` your `training_step` returns while it is `active`. Its parameters must be in an optimiser: make it
        part of the module, or add them in `configure_optimizers`.
    """

    def __init__(self, accelerator: Any) -> None:
        self.accelerator = accelerator
        self._ended = 0

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Bring the accelerator to where the module is."""
        self.accelerator.to(pl_module.device)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Refuse optimisers that leave the head out."""
        self.accelerator.check_optimizer(*trainer.optimizers)
        self._ended = trainer.global_step

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """End a step of the accelerator with each step of the optimiser."""
        if trainer.global_step > self._ended:  # not while gradients accumulate
            self._ended = trainer.global_step
            self.accelerator.update()

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The head and the switch, for the trainer's checkpoint."""
        return dict(self.accelerator.state_dict())

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take up what a checkpoint holds."""
        self.accelerator.load_state_dict(state_dict)


def _plain_forward(module: Any, batch: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise InputError(
            "RecorderCallback understands batches of (inputs, targets); for others give forward=, from "
            f"module and batch to logits and targets; got a {type(batch).__name__}."
        )
    return module(batch[0]), batch[1]
