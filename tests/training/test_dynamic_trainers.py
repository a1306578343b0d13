"""The DynamicSampler in real trainers, on a problem of 40 points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from transformers import TrainerCallback, TrainingArguments

import winnow as wn
from winnow.core.errors import InputError
from winnow.training.integrations.hf_trainer import DynamicTrainer
from winnow.training.integrations.lightning import SamplerCallback

N, K = 40, 3
X = torch.randn(N, 5, generator=torch.Generator().manual_seed(0))
Y = torch.arange(N) % K
X[torch.arange(N), Y] += 3.0
ROWS = [{"x": X[i], "labels": Y[i]} for i in range(N)]
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers.*"),
    pytest.mark.filterwarnings("ignore:.*isinstance\\(treespec, LeafSpec\\).*:FutureWarning"),
]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = wn.models.build("mlp", classes=K, shape=(5,), hidden=(8,), seed=1)
        self.sizes: list[int] = []

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.inner(x)
        self.sizes.append(len(x))
        return {"loss": functional.cross_entropy(logits, labels), "logits": logits}


class Stop(TrainerCallback):
    def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> Any:
        control.should_training_stop = True
        return control


def trained(folder: Path, resume: str | None = None, callbacks: Any = None, **more: Any) -> DynamicTrainer:
    arguments = TrainingArguments(
        output_dir=str(folder),
        learning_rate=0.02,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        logging_strategy="no",
        dataloader_pin_memory=False,
        **{"save_strategy": "no", "seed": 3, **more},
    )
    smp = wn.DynamicSampler(N, steps=24, batch=8, seed=4)
    trainer = DynamicTrainer(model=Net(), args=arguments, train_dataset=ROWS, callbacks=callbacks, sampler=smp)
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def weights(model: nn.Module) -> list[float]:
    return [float(v) for p in model.parameters() for v in p.detach().flatten()]


def test_the_trainer_makes_the_steps_of_the_sampler(tmp_path: Path) -> None:
    trainer = trained(tmp_path)
    assert trainer.state.global_step == 24
    assert trainer.sampler.finished
    assert sum(trainer.model.sizes[:5]) == N  # the first epoch uses everything
    assert sum(trainer.model.sizes[5:8]) == N // 2  # the second visits half, in three batches
    with torch.no_grad():
        assert (trainer.model.inner(X).argmax(1) == Y).float().mean() > 0.8


def test_accumulated_batches_are_one_step(tmp_path: Path) -> None:
    trainer = trained(tmp_path, gradient_accumulation_steps=2)
    assert trainer.state.global_step == 12
    assert len(trainer.model.sizes) == 24


def test_a_killed_training_goes_on_with_the_same_batches(tmp_path: Path) -> None:
    straight = trained(tmp_path / "straight")
    keep = {"save_strategy": "steps", "save_steps": 7}
    trained(tmp_path / "killed", callbacks=[Stop()], **keep)
    resumed = trained(tmp_path / "killed", resume=str(tmp_path / "killed" / "checkpoint-7"), **keep)
    assert resumed.state.global_step == 24
    assert resumed.model.sizes == straight.model.sizes[7:]
    np.testing.assert_allclose(weights(resumed.model), weights(straight.model), rtol=1e-5, atol=1e-6)


def test_what_does_not_fit_the_trainer_is_refused(tmp_path: Path) -> None:
    arguments = TrainingArguments(output_dir=str(tmp_path), report_to=[], use_cpu=True)
    for smp in (wn.DynamicSampler(N), wn.DynamicSampler(N - 1, steps=4)):
        with pytest.raises(InputError, match="Dynamic"):
            DynamicTrainer(model=Net(), args=arguments, train_dataset=ROWS, sampler=smp)
    arguments.dataloader_num_workers = 1
    with pytest.raises(InputError, match="dataloader_num_workers"):
        DynamicTrainer(model=Net(), args=arguments, train_dataset=ROWS, sampler=wn.DynamicSampler(N, steps=4))


class Lit(pl.LightningModule):
    def __init__(self, smp: wn.DynamicSampler) -> None:
        super().__init__()
        self.inner, self.smp = wn.models.build("mlp", classes=K, shape=(5,), hidden=(8,), seed=1), smp
        self.sizes: list[int] = []

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        positions, x, y = batch
        self.sizes.append(len(x))
        return self.smp.weigh(functional.cross_entropy(self.inner(x), y, reduction="none"), positions)

    def train_dataloader(self) -> Any:
        return DataLoader(TensorDataset(torch.arange(N), X, Y), batch_sampler=self.smp)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.05)


def fitted(folder: Path, epochs: int, path: Path | None = None, steps: int = -1) -> tuple[Lit, pl.Trainer]:
    smp = wn.DynamicSampler(N, epochs=4, batch=8, seed=4)
    module = Lit(smp)
    trainer = pl.Trainer(
        max_epochs=epochs,
        max_steps=steps,
        default_root_dir=folder,
        callbacks=[SamplerCallback(smp)],
        reload_dataloaders_every_n_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, ckpt_path=None if path is None else str(path), weights_only=False)
    return module, trainer


def test_lightning_trains_epochs_of_different_length_and_resumes(tmp_path: Path) -> None:
    straight, trainer = fitted(tmp_path, 4)
    assert trainer.global_step == len(straight.sizes) == 5 + 3 + 3 + 5
    _, half = fitted(tmp_path, 2)
    half.save_checkpoint(tmp_path / "half.ckpt")
    resumed, trainer = fitted(tmp_path, 4, tmp_path / "half.ckpt")
    assert resumed.sizes == straight.sizes[8:]
    np.testing.assert_allclose(weights(resumed.inner), weights(straight.inner), rtol=1e-6)


def test_lightning_needs_to_ask_for_each_length(tmp_path: Path) -> None:
    smp = wn.DynamicSampler(N, epochs=2, batch=8)
    trainer = pl.Trainer(
        max_epochs=1,
        default_root_dir=tmp_path,
        callbacks=[SamplerCallback(smp)],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    with pytest.raises(InputError, match="reload_dataloaders_every_n_epochs=1"):
        trainer.fit(Lit(smp))
