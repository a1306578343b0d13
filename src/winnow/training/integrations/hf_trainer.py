"""Recording, soft targets and acceleration with the Hugging Face Trainer; the only file that imports transformers.

    rec = wn.Recorder(len(train_dataset), classes)
    trainer = Trainer(..., train_dataset=train_dataset, callbacks=[RecorderCallback(rec)])
    trainer.train()
    signals = rec.signals()

A Trainer's callbacks see neither logits nor which examples a batch holds. So after each epoch the callback makes a pass
over the training set in its own order, in eval mode, with the Trainer's collator; scores are defined on such outputs.
It costs one forward pass per epoch and does not change the training. The recording is stored in each checkpoint, so
that `resume_from_checkpoint` continues it.

`SoftTargetTrainer` trains on a subset with soft targets; evaluation uses labels, as ever:

    trainer = SoftTargetTrainer(..., train_dataset=subset.to_torch(train_dataset, targets="soft"))

`DynamicTrainer` draws its batches from a `wn.DynamicSampler`, in as many steps as the sampler has:

    smp = wn.DynamicSampler(len(train_dataset), steps=2000, batch=32)
    trainer = DynamicTrainer(..., train_dataset=train_dataset, sampler=smp)

Several labels per example are rows of 0 and 1. transformers wants them as floats; both trainers take them for labels,
not for a regression, as the model does (`problem_type` of its configuration). Record them by
`wn.Recorder(n, labels, task="multilabel")`.

`AcceleratorCallback` counts the steps of a `wn.Accelerator` whose loss your model returns while it is active.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...artefacts.soft_dataset import SOFT
from ...core import checks
from ...core.errors import InputError, MissingDependencyError
from ...core.files import atomic
from ..dynamic_sampler import DynamicSampler
from ..placed_dataset import POSITIONS, PlacedDataset, UnsizedBatches, collated
from ..recorder import Recorder, eval_pass
from ..soft_loss import example_losses, soft_loss

try:
    from transformers import Trainer, TrainerCallback
except ImportError:
    raise MissingDependencyError(
        "winnow's callback for the Hugging Face Trainer needs transformers; install it "
        "with: pip install 'transformers[torch]'"
    ) from None

__all__ = ["AcceleratorCallback", "DynamicTrainer", "RecorderCallback", "SoftTargetTrainer"]

FILE = "winnow-recorder.safetensors"
ACCELERATOR = "winnow-accelerator.safetensors"
SAMPLER = "winnow-sampler.safetensors"


class RecorderCallback(TrainerCallback):  # type: ignore[misc]
    """Record every example of the training set after each epoch of a Trainer.

    Parameters
    ----------
    recorder
        Where to record.
    dataset
        A data set to use instead of the Trainer's own training set: the same examples in the same order, for example
        without augmentation.
    labels
        The entry of a batch that holds the targets.
    """

    def __init__(self, recorder: Recorder, dataset: Any = None, labels: str = "labels") -> None:
        self.recorder = recorder
        self.dataset = dataset
        self.labels = labels

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Check that the recorder fits; continue the recording of a checkpoint."""
        kept = Path(args.output_dir) / f"checkpoint-{state.global_step}" / FILE
        if state.global_step and not self.recorder.epochs and kept.is_file():
            from safetensors.numpy import load_file

            self.recorder.load_state_dict(load_file(kept))
        finished = int(state.epoch or 0)
        if self.recorder.epochs == finished - 1 and state.epoch == finished:
            self._record(args, **given)  # the checkpoint was made before this epoch was recorded
        if self.recorder.epochs != finished:
            raise InputError(
                f"recorder of RecorderCallback must have as many epochs as the training so far, "
                f"{finished}; it has {self.recorder.epochs}."
            )

    def on_epoch_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Record the epoch."""
        self._record(args, **given)

    def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Store the recording in the checkpoint."""
        from safetensors.numpy import save_file

        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        if state.is_world_process_zero and folder.is_dir():
            tensors = {name: np.ascontiguousarray(value) for name, value in self.recorder.state_dict().items()}
            with atomic(folder / FILE) as part:
                save_file(tensors, part)

    def _record(self, args: Any, *, model: torch.nn.Module, train_dataloader: Any, **_given: Any) -> None:
        def forward(batch: Any) -> tuple[torch.Tensor, torch.Tensor]:
            if not isinstance(batch, Mapping) or self.labels not in batch:
                what = ", ".join(map(str, batch)) if isinstance(batch, Mapping) else type(batch).__name__
                raise InputError(
                    f"labels of RecorderCallback must name an entry of a batch ({what}); got {self.labels!r}."
                )
            given = {name: _moved(value, args.device) for name, value in batch.items() if name != SOFT}
            return _logits(model(**given)), batch[self.labels]

        dataset = train_dataloader.dataset if self.dataset is None else self.dataset
        eval_pass(
            self.recorder,
            model,
            dataset,
            batch=args.eval_batch_size,
            forward=forward,
            collate=train_dataloader.collate_fn,
        )


class SoftTargetTrainer(Trainer):  # type: ignore[misc]
    """A Trainer whose training loss is `wn.soft_loss` of the model's logits.

    The training set is `subset.to_torch(dataset, targets="soft")`, with mappings as items. The loss is the mean of each
    batch, which the Trainer averages over accumulated batches. Batches without soft targets, in evaluation, have the
    loss of the model.

    Parameters
    ----------
    *args, **kwargs
        As a Trainer takes them.
    soft_weight
        Share of the soft targets in the loss; if not given, that of the training set.
    """

    def __init__(self, *args: Any, soft_weight: float | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        given = getattr(self.train_dataset, "weight", 1.0) if soft_weight is None else soft_weight
        self.soft_weight = checks.number("soft_weight", "SoftTargetTrainer", given, low=0, high=1)
        # The loss is a mean over the batch, so the Trainer has to divide it by the number of accumulated batches.
        self.model_accepts_loss_kwargs = False

    def _set_signature_columns_if_needed(self) -> None:
        """Keep the soft targets when the Trainer removes entries that the model does not take."""
        super()._set_signature_columns_if_needed()
        if SOFT not in self._signature_columns:
            self._signature_columns.append(SOFT)

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **given: Any) -> Any:
        """Compute the loss of a batch."""
        if SOFT not in inputs:
            if model.training:
                raise InputError(
                    "train_dataset of SoftTargetTrainer must give soft targets with each example "
                    f"(subset.to_torch(dataset, targets='soft')); a batch has {', '.join(map(str, inputs))}."
                )
            return super().compute_loss(model, inputs, return_outputs, **given)
        if "labels" not in inputs:
            raise InputError(
                f"a batch of SoftTargetTrainer must have an entry 'labels'; got {', '.join(map(str, inputs))}."
            )
        outputs = model(**{name: value for name, value in inputs.items() if name != SOFT})
        logits = _logits(outputs, "SoftTargetTrainer trains")
        loss = soft_loss(logits, _labels(model, inputs["labels"]), inputs[SOFT], self.soft_weight)
        return (loss, outputs) if return_outputs else loss


class DynamicTrainer(Trainer):  # type: ignore[misc]
    """A Trainer whose batches come from a `wn.DynamicSampler`.

    The loss is computed from the logits and the labels, one per example, and weighed; evaluation is that of the
    Trainer. The sampler is stored in each checkpoint. On several processes each takes its part of every batch.

    Parameters
    ----------
    sampler
        Made with `steps`, the number of batches of the training: optimiser steps x gradient accumulation.
    *args, **kwargs
        As for Trainer; `max_steps` follows from the sampler.
    """

    def __init__(self, *args: Any, sampler: DynamicSampler, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        each = self.args.gradient_accumulation_steps
        if sampler.steps is None or sampler.batch is None or sampler.steps % each:
            raise InputError(
                "sampler of DynamicTrainer must have batch= and steps=, a multiple of gradient_accumulation_steps, "
                f"{each}; got batch={sampler.batch}, steps={sampler.steps}."
            )
        if self.args.dataloader_num_workers:
            raise InputError(
                "dataloader_num_workers of DynamicTrainer must be 0, because workers ask for batches before the losses "
                f"that decide them are known; got {self.args.dataloader_num_workers}."
            )
        if len(self.train_dataset) != sampler.n:
            raise InputError(
                f"n of DynamicSampler must be {len(self.train_dataset)}, as train_dataset; got {sampler.n}."
            )
        self.args.max_steps = sampler.steps // each
        self.args.ignore_data_skip = True  # a resumed sampler gives the rest of its epoch itself
        self.model_accepts_loss_kwargs = False  # the Trainer then divides by the number of accumulated batches
        self.sampler = sampler

    def get_train_dataloader(self) -> Any:
        """Return a loader of the sampler's batches, which bring their positions along."""
        dataset, collate = self.train_dataset, self.data_collator
        if hasattr(dataset, "column_names"):
            dataset = self._remove_unused_columns(dataset, description="training")
        else:
            collate = self._get_collator_with_removed_columns(collate, description="training")
        return torch.utils.data.DataLoader(
            PlacedDataset(dataset),
            batch_sampler=UnsizedBatches(self.sampler),
            collate_fn=collated(collate),
            pin_memory=self.args.dataloader_pin_memory,
        )

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **given: Any) -> Any:
        """Weigh the losses of a batch of the sampler; leave others to the Trainer."""
        if POSITIONS not in inputs:
            return super().compute_loss(model, inputs, return_outputs, **given)
        positions = inputs.pop(POSITIONS)
        outputs = model(**inputs)
        logits, labels = _logits(outputs, "DynamicTrainer trains"), _labels(model, inputs["labels"])
        if labels.is_floating_point():
            labels = labels.reshape(logits.shape)
        loss = self.sampler.weigh(example_losses(logits.float(), labels), positions)
        return (loss, outputs) if return_outputs else loss

    def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        super()._save_checkpoint(*args, **kwargs)
        from safetensors.numpy import save_file

        self.sampler.sync()  # on every process
        folder = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
        if self.args.should_save and folder.is_dir():
            state = self.sampler.state_dict()
            with atomic(folder / SAMPLER) as part:
                save_file({name: np.asarray(value) for name, value in state.items()}, part)

    def _load_from_checkpoint(self, resume_from_checkpoint: Any, model: Any = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        from safetensors.numpy import load_file

        kept = Path(resume_from_checkpoint) / SAMPLER
        if not kept.is_file():
            raise InputError(
                f"the checkpoint that DynamicTrainer continues from must hold its sampler; {kept} is missing."
            )
        self.sampler.load_state_dict(load_file(kept))


class AcceleratorCallback(TrainerCallback):  # type: ignore[misc]
    """End the steps of a `wn.Accelerator` with those of a Trainer, and store it in the checkpoints.

    Parameters
    ----------
    accelerator
        Your model returns its `loss` while it is `active`. Make it part of the model, so that the Trainer's optimiser
        holds its parameters.
    """

    def __init__(self, accelerator: Any) -> None:
        self.accelerator = accelerator

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Restore the state from a checkpoint; check that the optimiser holds the head."""
        self.accelerator.to(args.device)
        kept = Path(args.output_dir) / f"checkpoint-{state.global_step}" / ACCELERATOR
        if state.global_step and kept.is_file():
            from safetensors.torch import load_file

            self.accelerator.load_state_dict(load_file(kept))
        if state.global_step and self.accelerator.active and not self.accelerator.switch.steps:
            raise InputError(
                f"the checkpoint that AcceleratorCallback continues from must hold its accelerator, in {kept.parent}; "
                "there is none, and stage 1 would start again."
            )
        self.accelerator.check_optimizer(given["optimizer"])

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """End a step of the accelerator with each step of the optimiser."""
        self.accelerator.update()

    def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Store the head and the switch in the checkpoint."""
        from safetensors.torch import save_file

        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        if state.is_world_process_zero and folder.is_dir():
            with atomic(folder / ACCELERATOR) as part:
                save_file(dict(self.accelerator.state_dict()), part)


def _moved(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _labels(model: Any, labels: torch.Tensor) -> torch.Tensor:
    """Return labels as the losses want them: rows of 0 and 1 as whole numbers if the model has several per example.

    Without a `problem_type`, transformers takes floats for several labels if there are several outputs; so does this.
    """
    if not labels.is_floating_point():
        return labels
    config = getattr(getattr(model, "module", model), "config", None)
    kind, outputs = getattr(config, "problem_type", None), getattr(config, "num_labels", 1)
    if kind != "multi_label_classification" and (kind is not None or outputs < 2):
        return labels
    rows = labels.round()
    if not bool(((labels == rows) & ((rows == 0) | (rows == 1))).all()):
        raise InputError("labels of a model with several labels per example must be 0 or 1.")
    return rows.to(torch.int64)


def _logits(output: Any, use: str = "RecorderCallback records") -> torch.Tensor:
    """Return the logits from the output of a transformers model, or one like it."""
    if isinstance(output, Mapping) and "logits" in output:
        output = output["logits"]
    elif isinstance(output, tuple) and len(output) > 1:
        output = output[1]  # given labels, a model that returns a tuple puts its loss first
    if not isinstance(output, torch.Tensor):
        raise InputError(f"a model that {use} must return logits; got {type(output).__name__}.")
    return output
