"""Training on a subset with soft targets: in a plain loop, in the Trainer, in Lightning."""

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
from transformers import Trainer, TrainingArguments

import winnow as wn
from winnow.artefacts import SoftLabels
from winnow.core.errors import InputError
from winnow.training.integrations.hf_trainer import RecorderCallback, SoftTargetTrainer
from winnow.training.integrations.lightning import RecorderCallback as LightningCallback

N, K, LR, WEIGHT = 24, 3, 0.5, 0.3
X = torch.randn(N, 5, generator=torch.Generator().manual_seed(0))
Y = torch.arange(N) % K
PAIRS = TensorDataset(X, Y)
ROWS = [{"x": X[i], "labels": Y[i]} for i in range(N)]
SOFT = SoftLabels(np.arange(N), np.random.default_rng(0).dirichlet(np.ones(K), N), ("0", "1", "2"), weight=WEIGHT)
KEPT = np.arange(0, N, 2)
SUB = wn.Subset(KEPT, targets=SOFT)
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers.*"),
    pytest.mark.filterwarnings("ignore:.*isinstance\\(treespec, LeafSpec\\).*:FutureWarning"),
]


def network() -> nn.Module:
    return wn.models.build("mlp", classes=K, shape=(5,), hidden=(8,), seed=1)


def by_hand(weight: float, steps: int) -> nn.Module:
    """Full-batch gradient descent on the formula."""
    net, target = network(), weight * torch.from_numpy(SOFT.at(KEPT)) + (1 - weight) * torch.eye(K)[Y[KEPT]]
    for _ in range(steps):
        loss = -(target * net(X[KEPT]).log_softmax(1)).sum(1).mean()
        for value, slope in zip(net.parameters(), torch.autograd.grad(loss, list(net.parameters())), strict=True):
            value.data -= LR * slope
    return net


def same(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.allclose(a, b, atol=1e-6) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_pairs_become_triples_in_the_order_of_the_ids() -> None:
    data = SUB.to_torch(PAIRS, targets="soft")
    x, y, soft = next(iter(DataLoader(data, batch_size=len(KEPT))))
    assert torch.equal(x, X[KEPT])
    assert torch.equal(y, Y[KEPT])
    assert torch.equal(soft, torch.from_numpy(SOFT.at(KEPT)))
    assert soft.dtype == torch.float32
    assert [len(item) for item in (data[3], SUB.to_torch(PAIRS)[3])] == [3, 2]
    assert torch.equal(data[3][2], soft[3])


def test_mappings_get_an_entry() -> None:
    item = SUB.to_torch(ROWS, targets="soft")[1]
    assert list(item) == ["x", "labels", "soft"]
    assert torch.equal(item["soft"], torch.from_numpy(SOFT.at(2)))
    assert "soft" not in ROWS[2]


def test_the_classes_are_in_the_order_of_the_source() -> None:
    names = ["2", "0", "1"]
    source = wn.open((X.numpy(), [names[k] for k in Y.tolist()]), ids=list(range(N)), classes=names)
    _, y, soft = SUB.to_torch(source, targets="soft")[0]
    assert y == 0
    assert soft.tolist() == SOFT.at(0)[[2, 0, 1]].tolist()
    assert SUB.to_torch(PAIRS, source, targets="soft")[0][2].tolist() == soft.tolist()


def test_a_regression_gives_its_predictions() -> None:
    sub = wn.Subset([0, 1], targets=SoftLabels([0, 1, 2], [[1.5], [2.5], [3.5]], ()))
    source = wn.open((X.numpy(), X[:, 0].numpy()), ids=list(range(N)))
    assert sub.to_torch(source, targets="soft")[1][2].tolist() == [2.5]


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        (lambda: wn.Subset(KEPT).to_torch(PAIRS, targets="soft"), "only if the subset has soft targets; it has none."),
        (lambda: SUB.to_torch(PAIRS, targets="sof"), "unknown targets of Subset.to_torch 'sof' (nearest: 'soft')"),
        (lambda: SUB.to_torch(X, targets="soft")[0], "to add soft targets to; got a Tensor."),
        (
            lambda: SUB.to_torch([{"soft": 1}] * N, targets="soft")[0],
            "to add soft targets to; got a mapping with an entry 'soft' already.",
        ),
    ],
)
def test_what_cannot_hold_soft_targets_is_refused(call: Any, fragment: str) -> None:
    with pytest.raises(wn.errors.WinnowError) as caught:
        call()
    assert fragment in str(caught.value)


class Net(nn.Module):
    """A model written as the Trainer likes it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = network()

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.inner(x)
        return {"loss": functional.cross_entropy(logits, labels), "logits": logits}


def trainer(
    folder: Path, *, data: Any = None, kind: type[Trainer] = SoftTargetTrainer, batch: int = 12, **more: Any
) -> Trainer:
    given = {name: more.pop(name) for name in ("soft_weight", "callbacks", "eval_dataset") if name in more}
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=3,
        per_device_train_batch_size=batch,
        learning_rate=LR,
        lr_scheduler_type="constant",
        optim="sgd",
        max_grad_norm=0.0,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        logging_strategy="no",
        save_strategy="no",
        dataloader_pin_memory=False,
        **more,
    )
    train = SUB.to_torch(ROWS, targets="soft") if data is None else data
    return kind(model=Net(), args=arguments, train_dataset=train, **given)


@pytest.mark.parametrize("batches", [1, 3], ids=["one batch", "three accumulated"])
def test_the_trainer_takes_the_steps_of_the_formula(batches: int, tmp_path: Path) -> None:
    one = trainer(tmp_path, batch=12 // batches, gradient_accumulation_steps=batches)
    one.train()
    assert one.soft_weight == WEIGHT
    assert same(one.model.inner, by_hand(WEIGHT, 3))


def test_the_trainer_takes_another_weight_and_evaluates_on_labels(tmp_path: Path) -> None:
    rec = wn.Recorder(len(KEPT), K)
    one = trainer(tmp_path, soft_weight=0.0, callbacks=[RecorderCallback(rec)], eval_dataset=ROWS)
    one.train()
    plain = trainer(tmp_path, kind=Trainer, data=SUB.to_torch(ROWS))
    plain.train()
    assert same(one.model.inner, by_hand(0.0, 3))
    assert same(one.model, plain.model)
    with torch.no_grad():
        wanted = functional.cross_entropy(one.model.inner(X), Y).item()
    assert one.evaluate()["eval_loss"] == pytest.approx(wanted, abs=1e-5)
    assert np.array_equal(rec.signals().labels, Y[KEPT].numpy())


def test_the_trainer_refuses_batches_it_cannot_use(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must give soft targets with each example .* a batch has x, labels"):
        trainer(tmp_path, data=ROWS).train()
    with pytest.raises(InputError, match=r"soft_weight of SoftTargetTrainer must be a number in \[0, 1\]; got 3"):
        trainer(tmp_path, soft_weight=3.0)
    bare = SUB.to_torch([{"x": x} for x in X], targets="soft")
    with pytest.raises(InputError, match="must have an entry 'labels'; got x, soft"):
        trainer(tmp_path, data=bare).train()


class Module(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.inner = network()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        x, y, soft = batch
        return wn.soft_loss(self(x), y, soft, weight=WEIGHT)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=LR)


def test_lightning_takes_the_steps_of_the_formula_and_records(tmp_path: Path) -> None:
    rec = wn.Recorder(len(KEPT), K)
    callback = LightningCallback(rec)
    trainer = pl.Trainer(
        max_epochs=3,
        accelerator="cpu",
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
        log_every_n_steps=1,
    )
    module = Module()
    trainer.fit(module, DataLoader(SUB.to_torch(PAIRS, targets="soft"), batch_size=12, shuffle=True))
    assert same(module.inner, by_hand(WEIGHT, 3))
    assert rec.signals().logits.shape == (1, 3, len(KEPT), K)
    with pytest.raises(InputError, match=r"or of \(inputs, targets, soft targets\)"):
        callback.forward(module, (X, Y, Y))
