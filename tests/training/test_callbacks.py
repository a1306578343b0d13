"""The callbacks in real trainers, on a problem of 40 points."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from transformers import Trainer, TrainerCallback, TrainingArguments

import winnow as wn
from winnow.core.errors import InputError, MissingDependencyError
from winnow.training.integrations.hf_trainer import RecorderCallback as ForTrainer
from winnow.training.integrations.lightning import RecorderCallback as ForLightning

N, K, EPOCHS = 40, 3, 4
X = torch.randn(N, 5, generator=torch.Generator().manual_seed(0))
Y = torch.arange(N) % K
X[torch.arange(N), Y] += 3.0
PAIRS = TensorDataset(X, Y)
ROWS = [{"x": X[i], "labels": Y[i]} for i in range(N)]
# Lightning's own: its advice on workers, and its use of a class that torch is about to retire.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers.*"),
    pytest.mark.filterwarnings("ignore:.*isinstance\\(treespec, LeafSpec\\).*:FutureWarning"),
]


def network() -> nn.Module:
    return wn.models.build("mlp", classes=K, shape=(5,), hidden=(8,), seed=1)


class Net(nn.Module):
    """A model written as the Trainer likes it, with dropout so that the mode shows."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.dropout = network(), nn.Dropout(0.3)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.dropout(self.inner(x))
        return {"loss": functional.cross_entropy(logits, labels), "logits": logits}


def trained(
    folder: Path,
    callbacks: list[Any],
    *,
    epochs: int = EPOCHS,
    resume: str | None = None,
    data: Any = ROWS,
    **more: Any,
) -> Net:
    settings = {"save_strategy": "no", "seed": 3, **more}
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=epochs,
        per_device_train_batch_size=8,
        learning_rate=0.05,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        logging_strategy="no",
        dataloader_pin_memory=False,
        **settings,
    )
    trainer = Trainer(model=Net(), args=arguments, train_dataset=data, callbacks=callbacks)
    trainer.train(resume_from_checkpoint=resume)
    return trainer.model


class Stop(TrainerCallback):
    """Ends a training early, as a kill would."""

    def __init__(self, after: int) -> None:
        self.after = after

    def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> Any:
        control.should_training_stop = state.global_step >= self.after
        return control


def check(sig: wn.Signals, model: nn.Module) -> None:
    """Logits of the last epoch are the trained model's, in eval mode and in the data set's order."""
    assert sig.logits.shape == (1, EPOCHS, N, K)
    assert np.array_equal(sig.labels, Y.numpy())
    with torch.no_grad():
        assert np.allclose(sig.logits[0, -1], model.eval()(X).numpy(), atol=1e-5)
    assert sig.losses[0, -1].mean() < sig.losses[0, 0].mean()


def test_trainer_records_and_trains_as_without(tmp_path: Path) -> None:
    rec = wn.Recorder(N, K)
    model = trained(tmp_path, [ForTrainer(rec)])
    check(rec.signals(), model.inner)
    plain = trained(tmp_path, [])
    for one, two in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize("strategy", [{"save_strategy": "epoch"}, {"save_strategy": "steps", "save_steps": 5}])
def test_trainer_resumes_from_a_checkpoint(tmp_path: Path, strategy: dict[str, Any]) -> None:
    whole, first, rest = (wn.Recorder(N, K) for _ in range(3))
    trained(tmp_path / "whole", [ForTrainer(whole)], **strategy)
    trained(tmp_path / "cut", [ForTrainer(first), Stop(after=10)], **strategy)
    trained(tmp_path / "cut", [ForTrainer(rest)], resume=str(tmp_path / "cut" / "checkpoint-10"), **strategy)
    assert first.epochs == 2
    assert np.allclose(rest.signals().logits, whole.signals().logits, atol=1e-6)


def test_trainer_refuses_what_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be the length of the data set it records, 40; got 39"):
        trained(tmp_path, [ForTrainer(wn.Recorder(N - 1, K))])
    with pytest.raises(InputError, match=r"must name an entry of a batch \(x, labels\); got 'y'"):
        trained(tmp_path, [ForTrainer(wn.Recorder(N, K), labels="y")])
    rec = wn.Recorder(N, K)
    trained(tmp_path, [ForTrainer(rec)], epochs=1)
    with pytest.raises(InputError, match="as many epochs as the training so far, 0; it has 1"):
        trained(tmp_path, [ForTrainer(rec)])


class Module(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.dropout = network(), nn.Dropout(0.3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.inner(x))

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        return functional.cross_entropy(self(batch[0]), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fitted(
    folder: Path,
    callbacks: list[Any],
    *,
    epochs: int = EPOCHS,
    ckpt: str | None = None,
    data: Any = PAIRS,
    **more: Any,
) -> Module:
    torch.manual_seed(7)
    module = Module()
    trainer = pl.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        callbacks=callbacks,
        logger=False,
        enable_checkpointing=any(isinstance(c, pl.callbacks.ModelCheckpoint) for c in callbacks),
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        **more,
    )
    loader = DataLoader(data, batch_size=8, shuffle=True, generator=torch.Generator().manual_seed(5))
    trainer.fit(module, loader, ckpt_path=ckpt)
    return module


def test_lightning_records_and_trains_as_without(tmp_path: Path) -> None:
    rec = wn.Recorder(N, K)
    module = fitted(tmp_path, [ForLightning(rec)])
    check(rec.signals(), module.inner)
    plain = fitted(tmp_path, [])
    for one, two in zip(module.parameters(), plain.parameters(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists and is not empty")
def test_lightning_keeps_the_record_in_its_checkpoints(tmp_path: Path) -> None:
    first, rest = wn.Recorder(N, K), wn.Recorder(N, K)
    keep = [pl.callbacks.ModelCheckpoint(dirpath=tmp_path, filename="{epoch}", save_top_k=-1) for _ in range(2)]
    fitted(tmp_path, [keep[0], ForLightning(first)], epochs=2)
    module = fitted(tmp_path, [ForLightning(rest), keep[1]], ckpt=str(tmp_path / "epoch=1.ckpt"))
    sig = rest.signals()
    check(sig, module.inner)
    assert np.array_equal(sig.logits[:, :2], first.signals().logits)


def test_lightning_takes_other_batches(tmp_path: Path) -> None:
    class Dicts(Module):
        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            return functional.cross_entropy(self(batch["x"]), batch["labels"])

    rec = wn.Recorder(N, K)
    callback = ForLightning(rec, forward=lambda module, batch: (module(batch["x"]), batch["labels"]))
    trainer = pl.Trainer(
        max_epochs=1,
        accelerator="cpu",
        callbacks=[callback],
        logger=False,
        default_root_dir=tmp_path,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Dicts(), DataLoader(ROWS, batch_size=8))
    assert rec.epochs == 1
    callback.forward = ForLightning(rec).forward
    with pytest.raises(InputError, match=r"expects batches of \(inputs, targets\)"):
        callback.on_train_epoch_end(trainer, trainer.lightning_module)


def test_lightning_refuses_what_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be the length of the data set it records, 40; got 39"):
        fitted(tmp_path, [ForLightning(wn.Recorder(N - 1, K))])
    rec = wn.Recorder(N, K)
    fitted(tmp_path, [ForLightning(rec)], epochs=1)
    with pytest.raises(InputError, match="as many epochs as the training so far, 0; it has 1"):
        fitted(tmp_path, [ForLightning(rec)])


@pytest.mark.parametrize(("module", "library"), [("hf_trainer", "transformers"), ("lightning", "pytorch_lightning")])
def test_a_missing_trainer_is_named(module: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (library, "lightning.pytorch"):
        monkeypatch.setitem(sys.modules, name, None)  # what makes an import fail
    monkeypatch.delitem(sys.modules, f"winnow.training.integrations.{module}")
    with pytest.raises(MissingDependencyError, match=f"needs {library.replace('_', '-')}; install it with: pip"):
        importlib.import_module(f"winnow.training.integrations.{module}")
