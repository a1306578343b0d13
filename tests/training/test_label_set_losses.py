"""Losses, dynamics and the Recorder with several labels per example."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import winnow as wn
from winnow.artefacts.label_set_logits import LabelSetLogits, log_sigmoid
from winnow.core.errors import InputError
from winnow.training.soft_loss import example_losses

LOGITS = torch.tensor([[2.0, -1.0, 0.5], [0.0, 3.0, -4.0]])
LABELS = torch.tensor([[1, 0, 0], [1, 1, 0]])


def cross_entropy(p: float, logit: float) -> float:
    q = 1 / (1 + np.exp(-logit))
    return float(-p * np.log(q) - (1 - p) * np.log(1 - q))


def by_hand(targets) -> list[float]:
    rows = zip(targets.tolist(), LOGITS.tolist(), strict=True)
    return [float(np.mean([cross_entropy(p, z) for p, z in zip(*row, strict=True)])) for row in rows]


@pytest.mark.parametrize("kind", [torch.uint8, torch.int64, torch.bool])
def test_the_loss_is_the_mean_of_binary_cross_entropies(kind):
    found = example_losses(LOGITS, LABELS.to(kind))
    assert found.tolist() == pytest.approx(by_hand(LABELS), rel=1e-5)


def test_label_smoothing_moves_each_label_towards_one_half():
    found = example_losses(LOGITS, LABELS, label_smoothing=0.2)
    assert found.tolist() == pytest.approx(by_hand(LABELS * 0.8 + 0.1), rel=1e-5)


def test_the_soft_loss_mixes_probabilities_and_labels():
    soft = torch.tensor([[0.7, 0.2, 0.4], [0.5, 0.9, 0.0]])
    for weight in (0.0, 0.3, 1.0):
        found = wn.soft_loss(LOGITS, LABELS, soft, weight, "none").tolist()
        mixed = [weight * p + (1 - weight) * y for p, y in zip(by_hand(soft), by_hand(LABELS), strict=True)]
        assert found == pytest.approx(mixed, rel=1e-5)
    with pytest.raises(InputError, match=r"labels of soft_loss must have shape \(2,\) or \(2, 3\)"):
        wn.soft_loss(LOGITS, LABELS[:, :2], soft)


def test_what_follows_from_logits_is_as_defined():
    seen = LabelSetLogits(LOGITS.numpy(), LABELS.numpy())
    signs = np.where(LABELS.numpy() != 0, 1, -1)
    chance = 1 / (1 + np.exp(-LOGITS.numpy().astype(np.float64)))
    assert np.allclose(seen.losses, by_hand(LABELS))
    assert np.allclose(seen.predictions, chance)
    assert np.allclose(seen.probabilities, np.where(signs > 0, chance, 1 - chance).mean(axis=1))
    assert np.allclose(seen.margins, (signs * LOGITS.numpy()).mean(axis=1))
    assert np.allclose(seen.errors, np.linalg.norm(chance - LABELS.numpy(), axis=1))
    assert seen.correct.tolist() == [False, False]
    assert LabelSetLogits(np.array([[1.0, -1.0]]), np.array([[1, 0]])).correct.all()
    assert np.isfinite(log_sigmoid(np.array([-1e30, 0.0, 1e30], dtype=np.float32))).all()


def recorded(keep) -> wn.Signals:
    recorder = wn.Recorder(2, classes=3, task="multilabel", class_names=("a", "b", "c"), keep=keep, planned_epochs=2)
    for step in (0.5, 1.0):
        recorder.log([0, 1], step * LOGITS, LABELS)
        recorder.end_epoch()
    assert recorder.correct.shape == (2, 2)
    return recorder.signals()


def test_the_recorder_keeps_logits_or_dynamics_that_agree():
    logits, dynamics = recorded("logits"), recorded(("dynamics", "predictions"))
    assert (logits.task, logits.classes) == ("multilabel", ("a", "b", "c"))
    assert np.array_equal(logits.labels, LABELS.numpy())
    for name in ("losses", "probabilities", "margins", "correct", "errors", "predictions"):
        assert np.allclose(logits.array(name), dynamics.array(name), atol=1e-6)


def test_the_recorder_continues_and_refuses():
    def fresh() -> wn.Recorder:
        return wn.Recorder(2, classes=3, task="multilabel", keep=("dynamics", "predictions"))

    first = fresh()
    first.log([0, 1], LOGITS, LABELS)
    first.end_epoch()
    second = fresh()
    second.load_state_dict(first.state_dict())
    for one in (first, second):
        one.log([0, 1], 2 * LOGITS, LABELS)
        one.end_epoch()
    assert first.signals().fingerprint == second.signals().fingerprint
    with pytest.raises(InputError, match="must be 0 or 1 for several labels"):
        fresh().log([0, 1], LOGITS, 2 * LABELS)
    with pytest.raises(InputError, match=r"targets of Recorder.log must be numbers of shape \(2, 3\)"):
        fresh().log([0, 1], LOGITS, [0, 1])
    with pytest.raises(InputError, match=r"targets of Recorder.log must stay the same"):
        first.log([0, 1], LOGITS, 1 - LABELS)
