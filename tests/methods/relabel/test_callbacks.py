"""The accelerator's callbacks in real trainers: the same switch as a plain loop, kept in checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import Trainer, TrainerControl, TrainerState, TrainingArguments

import winnow as wn
from winnow.core.errors import InputError
from winnow.training.integrations.hf_trainer import AcceleratorCallback as ForTrainer
from winnow.training.integrations.lightning import AcceleratorCallback as ForLightning

N, BATCH, DIM, EPOCHS = 32, 8, 3, 5
STEPS = N // BATCH * EPOCHS
X = torch.randn(N, 5, generator=torch.Generator().manual_seed(0))
pytestmark = [  # Lightning's own advice, and its use of a class that torch is about to retire
    pytest.mark.filterwarnings("ignore:.*does not have many workers.*"),
    pytest.mark.filterwarnings("ignore:.*isinstance\\(treespec, LeafSpec\\).*:FutureWarning"),
]


class Student(nn.Module):
    """A network that holds its accelerator; its own method just makes features small."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.inner = wn.models.build("mlp", classes=4, shape=(5,), hidden=(8,), seed=1)
        self.accelerator = wn.Accelerator(4, DIM, STEPS, **settings)
        self.losses: list[float] = []

    def forward(self, x: torch.Tensor, wanted: torch.Tensor) -> dict[str, torch.Tensor]:
        features = self.inner(x)
        active = self.accelerator.active
        loss = self.accelerator.loss(features, wanted) if active else features.square().mean()
        if active:
            self.losses.append(loss.item())
        return {"loss": loss, "features": features}


def near() -> torch.Tensor:
    """Targets near what the untrained student says, so that losses are small and the switch comes late."""
    student = Student()
    with torch.no_grad():
        said = student.accelerator.head(student.inner(X))
    return said + 0.3 * said.std() * torch.randn(N, DIM, generator=torch.Generator().manual_seed(1))


T = near()
ROWS = [{"x": X[i], "wanted": T[i]} for i in range(N)]


class Module(pl.LightningModule):
    def __init__(self, student: Student, head: bool = True) -> None:
        super().__init__()
        self.student, self.head = student, head

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        return self.student(*batch)["loss"]

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD((self.student if self.head else self.student.inner).parameters(), lr=0.05)


def fitted(folder: Path, student: Student, *, epochs: int = EPOCHS, head: bool = True, ckpt: Any = None, **more: Any):
    """Whatever is in the checkpoint comes back through the callback alone: the file keeps no other copy of it."""
    keep = pl.callbacks.ModelCheckpoint(dirpath=folder, filename="{epoch}", save_top_k=-1)
    trainer = pl.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        callbacks=[keep, ForLightning(student.accelerator)],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        **more,
    )
    trainer.fit(Module(student, head), DataLoader(TensorDataset(X, T), batch_size=BATCH), ckpt_path=ckpt)
    return student


def trained(folder: Path, student: Student, *, epochs: int = EPOCHS, resume: Any = None, **more: Any) -> Student:
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=epochs,
        per_device_train_batch_size=BATCH,
        learning_rate=0.01,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        logging_strategy="no",
        save_strategy="epoch",
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        lr_scheduler_type="constant",
        **more,
    )
    trainer = Trainer(model=student, args=arguments, train_dataset=ROWS, callbacks=[ForTrainer(student.accelerator)])
    trainer.train(resume_from_checkpoint=resume)
    return student


def expected(losses: list[float], every: int = 1) -> dict[str, float]:
    switch = wn.Accelerator(4, DIM, STEPS).switch
    for at in range(0, len(losses), every):
        switch.update(sum(losses[at : at + every]) / every)
    return switch.state_dict()


@pytest.mark.parametrize("run", [fitted, trained])
def test_the_switch_goes_by_the_losses_of_the_training(tmp_path: Path, run: Any) -> None:
    student = run(tmp_path, Student())
    found = student.accelerator.switch.state_dict()
    assert 4 < student.accelerator.switched_at < STEPS
    assert len(student.losses) == student.accelerator.switched_at
    assert found == pytest.approx(expected(student.losses), rel=1e-6)


@pytest.mark.parametrize(
    ("run", "more"),
    [(fitted, {"accumulate_grad_batches": 2}), (trained, {"gradient_accumulation_steps": 2})],
)
def test_with_accumulated_gradients_a_step_is_a_step_of_the_optimiser(tmp_path: Path, run: Any, more: Any) -> None:
    student = run(tmp_path, Student(), epochs=2, **more)
    assert student.accelerator.switch.steps == len(student.losses) / 2 == 4
    assert student.accelerator.switch.state_dict() == pytest.approx(expected(student.losses, 2), rel=1e-6)


@pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists and is not empty")
@pytest.mark.parametrize(("run", "name"), [(fitted, "epoch=0.ckpt"), (trained, "checkpoint-4")])
def test_a_resumed_training_switches_at_the_same_step(tmp_path: Path, run: Any, name: str) -> None:
    whole = run(tmp_path / "whole", Student())
    run(tmp_path / "cut", Student(), epochs=1)
    rest = Student(seed=5)
    if run is fitted:
        run(tmp_path / "cut", rest, ckpt=str(tmp_path / "cut" / name))
    else:
        run(tmp_path / "cut", rest, resume=str(tmp_path / "cut" / name))
    assert rest.accelerator.switched_at == whole.accelerator.switched_at
    assert len(rest.losses) == whole.accelerator.switched_at - 4
    for key, value in whole.accelerator.state_dict().items():
        assert torch.allclose(rest.accelerator.state_dict()[key], value, atol=1e-6), key


def test_the_callbacks_keep_a_state_of_their_own(tmp_path: Path) -> None:
    """For an accelerator that is no part of the model."""
    saved, other = wn.Accelerator(4, DIM, STEPS), wn.Accelerator(4, DIM, STEPS, seed=1)
    saved.update(0.5)
    ForLightning(other).load_state_dict(ForLightning(saved).state_dict())
    assert all(torch.equal(other.state_dict()[name], value) for name, value in saved.state_dict().items())
    trained(tmp_path, student := Student(), epochs=1)
    from safetensors.torch import load_file

    kept = load_file(tmp_path / "checkpoint-4" / "winnow-accelerator.safetensors")
    assert all(torch.equal(kept[name], value) for name, value in student.accelerator.state_dict().items())


def test_a_checkpoint_without_its_accelerator_is_refused(tmp_path: Path) -> None:
    """Taken up from elsewhere, with an accelerator outside the model, stage 1 would silently begin again."""
    callback = ForTrainer(wn.Accelerator(4, DIM, STEPS))
    arguments = TrainingArguments(output_dir=str(tmp_path), report_to=[], use_cpu=True)
    state = TrainerState(global_step=4)
    optimizer = torch.optim.SGD(callback.accelerator.parameters(), lr=0.1)
    with pytest.raises(InputError, match="there is none, and stage 1 would start again"):
        callback.on_train_begin(arguments, state, TrainerControl(), optimizer=optimizer)
    callback.accelerator.update(0.5)  # as one that is part of the model comes back with it
    callback.on_train_begin(arguments, state, TrainerControl(), optimizer=optimizer)


def test_a_head_that_no_optimiser_holds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="optimiser must hold the parameters of the Accelerator's head"):
        fitted(tmp_path, Student(), head=False)
    student = Student()
    callback = ForTrainer(wn.Accelerator(4, DIM, STEPS))  # another one, outside the model
    arguments = TrainingArguments(output_dir=str(tmp_path), report_to=[], use_cpu=True, disable_tqdm=True)
    trainer = Trainer(model=student, args=arguments, train_dataset=ROWS, callbacks=[callback])
    with pytest.raises(InputError, match="optimiser must hold the parameters of the Accelerator's head"):
        trainer.train()
