"""Several labels per example in the Hugging Face Trainer, whose models want them as floats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import winnow as wn
from winnow.artefacts import SoftLabels
from winnow.core.errors import InputError
from winnow.training.integrations.hf_trainer import DynamicTrainer, RecorderCallback, SoftTargetTrainer

N, K, LR = 16, 3, 0.1
MANY = "multi_label_classification"
TOKENS = torch.randint(4, 20, (N, 5), generator=torch.Generator().manual_seed(0))
LABELS = torch.stack([TOKENS[:, 0] > 12, TOKENS[:, 1] > 12, TOKENS[:, 2] > 8], 1).float()
ROWS = [{"input_ids": TOKENS[i], "labels": LABELS[i]} for i in range(N)]
SOFT = np.random.default_rng(0).random((N, K)).astype(np.float32)
SUB = wn.Subset(np.arange(N), targets=SoftLabels(np.arange(N), SOFT, ("a", "b", "c"), weight=0.3, several=True))


def network(problem: str | None = MANY) -> BertForSequenceClassification:
    torch.manual_seed(1)
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    return BertForSequenceClassification(BertConfig(vocab_size=20, num_labels=K, problem_type=problem, **sizes, **none))


def arguments(folder: Path, **more: Any) -> TrainingArguments:
    return TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=N,
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


def by_hand(target: torch.Tensor, steps: int) -> BertForSequenceClassification:
    """Full-batch gradient descent on the mean of the binary cross-entropies."""
    net = network()
    for _ in range(steps):
        loss = functional.binary_cross_entropy_with_logits(net(input_ids=TOKENS).logits, target)
        used = [value for value in net.parameters() if value.requires_grad]
        for value, slope in zip(used, torch.autograd.grad(loss, used), strict=True):
            value.data -= LR * slope
    return net


def assert_same(one: torch.nn.Module, other: torch.nn.Module) -> None:
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=2e-6, rtol=0)


@pytest.mark.parametrize("problem", [MANY, None])
def test_soft_targets_are_mixed_with_labels_not_with_a_regression(tmp_path: Path, problem: str | None) -> None:
    data = SUB.to_torch(ROWS, targets="soft")
    trainer = SoftTargetTrainer(model=network(problem), args=arguments(tmp_path, max_steps=3), train_dataset=data)
    trainer.train()
    assert_same(trainer.model, by_hand(0.3 * torch.from_numpy(SOFT) + 0.7 * LABELS, 3))


def test_dynamic_batches_have_the_loss_of_several_labels(tmp_path: Path) -> None:
    smp = wn.DynamicSampler(N, steps=1, batch=N)
    trainer = DynamicTrainer(model=network(), args=arguments(tmp_path), train_dataset=ROWS, sampler=smp)
    trainer.train()
    assert_same(trainer.model, by_hand(LABELS, 1))


def test_a_recording_is_that_of_the_final_network(tmp_path: Path) -> None:
    rec = wn.Recorder(N, K, task="multilabel", keep=("logits",))
    how = arguments(tmp_path, num_train_epochs=2)
    trainer = Trainer(model=network(), args=how, train_dataset=ROWS, callbacks=[RecorderCallback(rec)])
    trainer.train()
    signals = rec.signals()
    assert signals.task == "multilabel"
    assert np.array_equal(signals.labels, LABELS.numpy())
    with torch.no_grad():
        logits = trainer.model.eval()(input_ids=TOKENS).logits
    losses = functional.binary_cross_entropy_with_logits(logits, LABELS, reduction="none").mean(1)
    np.testing.assert_allclose(signals.losses[0, -1], losses, atol=1e-5)


def test_a_regression_stays_one_and_other_numbers_are_refused(tmp_path: Path) -> None:
    data = SUB.to_torch(ROWS, targets="soft")
    wanted = network("regression")
    with torch.no_grad():
        gap = wanted(input_ids=TOKENS).logits
        squares = 0.3 * (gap - torch.from_numpy(SOFT)).square().mean() + 0.7 * (gap - LABELS).square().mean()
    trainer = SoftTargetTrainer(model=network("regression"), args=arguments(tmp_path), train_dataset=data)
    batch = {"input_ids": TOKENS, "labels": LABELS, "soft": torch.from_numpy(SOFT)}
    assert trainer.compute_loss(trainer.model, dict(batch)).item() == pytest.approx(squares.item(), abs=1e-6)
    trainer = SoftTargetTrainer(model=network(), args=arguments(tmp_path), train_dataset=data)
    with pytest.raises(InputError, match="labels of a model with several labels per example must be 0 or 1"):
        trainer.compute_loss(trainer.model, {**batch, "labels": LABELS + 0.5})
