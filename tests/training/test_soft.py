"""The loss of soft targets, and training on it, against the formula written out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from tests.oracles import soft_loss as oracle

import winnow as wn
from winnow.core.errors import InputError
from winnow.training import Feed, Recipe, train

from .small import bits, clouds, network, source_of


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def rows(n: int = 24, classes: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(classes), n).astype(np.float32)


def logits(n: int = 24, width: int = 2) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).normal(size=(n, width)))


LABELS = torch.arange(24) % 2


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_the_loss_is_that_of_the_slow_twin(weight: float) -> None:
    output, p = logits(), torch.from_numpy(rows()).double()
    wanted = oracle.classification(output.tolist(), LABELS.tolist(), p.tolist(), weight)
    got = wn.soft_loss(output, LABELS, p, weight, reduction="none")
    assert got.tolist() == pytest.approx(wanted, abs=1e-12)
    assert wn.soft_loss(output, LABELS, p, weight).item() == pytest.approx(np.mean(wanted))
    assert wn.soft_loss(output, LABELS, p, weight, "sum").item() == pytest.approx(np.sum(wanted))


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_the_loss_of_a_regression_is_that_of_the_slow_twin(weight: float) -> None:
    output, truth, p = logits(width=3), logits(width=3) + 1, logits(width=3) * 2
    wanted = oracle.regression(output.tolist(), truth.tolist(), p.tolist(), weight)
    assert wn.soft_loss(output, truth, p, weight, "none").tolist() == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_the_gradient_is_softmax_minus_the_mixed_target(weight: float) -> None:
    output, p = logits().requires_grad_(), torch.from_numpy(rows()).double()
    p /= p.sum(1, keepdim=True)  # to double precision
    (slope,) = torch.autograd.grad(wn.soft_loss(output, LABELS, p, weight, "sum"), output)
    target = weight * p + (1 - weight) * torch.eye(2).double()[LABELS]
    assert torch.allclose(slope, output.softmax(1) - target, atol=1e-12)
    written = -(target * output.log_softmax(1)).sum()
    assert torch.allclose(slope, torch.autograd.grad(written, output)[0], atol=1e-12)


def test_without_weight_it_is_the_usual_loss() -> None:
    output, p = logits(), torch.from_numpy(rows())
    usual = torch.nn.functional.cross_entropy(output, LABELS)
    assert wn.soft_loss(output, LABELS, p, weight=0.0).item() == pytest.approx(usual.item(), rel=1e-15)
    certain = wn.soft_loss(output, LABELS, torch.eye(2)[LABELS], weight=1.0)
    assert certain.item() == pytest.approx(usual.item(), abs=1e-12)


def test_label_smoothing_is_for_labels_only() -> None:
    output, p = logits(), torch.from_numpy(rows())
    smooth = torch.nn.functional.cross_entropy(output, LABELS, label_smoothing=0.2).item()
    soft = wn.soft_loss(output, LABELS, p).item()
    assert wn.soft_loss(output, LABELS, p, label_smoothing=0.2).item() == soft
    mixed = wn.soft_loss(output, LABELS, p, 0.25, label_smoothing=0.2).item()
    assert mixed == pytest.approx(0.25 * soft + 0.75 * smooth)


def test_it_is_the_divergence_plus_the_entropy_of_the_target() -> None:
    output, p = logits(), torch.from_numpy(rows()).double()
    q = output.softmax(1)
    divergence, entropy = (p * (p / q).log()).sum(1), -(p * p.log()).sum(1)
    assert torch.allclose(wn.soft_loss(output, LABELS, p, reduction="none"), divergence + entropy, atol=1e-12)


def test_half_precision_logits_give_a_loss_in_single_precision() -> None:
    p = torch.from_numpy(rows())
    got = wn.soft_loss(logits().to(torch.bfloat16), LABELS.to(torch.int32), p.half(), 0.5)
    assert got.dtype == torch.float32
    assert got.item() == pytest.approx(wn.soft_loss(logits(), LABELS, p, 0.5).item(), abs=0.01)


@pytest.mark.parametrize(
    ("given", "fragment"),
    [
        ({"logits": torch.zeros(24)}, "logits of soft_loss must have one row per example; got shape (24,)"),
        ({"soft": torch.zeros(24, 3)}, "soft of soft_loss must have the shape of the logits, (24, 2); got (24, 3)"),
        (
            {"labels": LABELS[:3]},
            "labels of soft_loss must have shape (24,) or (24, 2) to fit the logits; got (3,)",
        ),
        ({"labels": LABELS.float()}, "labels of soft_loss must have shape (24, 2)"),
        ({"weight": 1.5}, "weight of soft_loss must be a number in [0, 1]; got 1.5"),
        ({"reduction": "median"}, "reduction of soft_loss"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(given: dict[str, object], fragment: str) -> None:
    usual = {"logits": logits(), "labels": LABELS, "soft": torch.from_numpy(rows())}
    with pytest.raises(wn.errors.WinnowError) as caught:
        wn.soft_loss(**(usual | given))  # type: ignore[arg-type]
    assert fragment in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(("weighted", "share"), [(False, 1.0), (True, 1.0), (True, 0.3)])
def test_the_loop_takes_the_steps_of_the_formula(weighted: bool, share: float) -> None:
    source, p = clouds(24), rows()
    weights = np.linspace(1, 4, 24) if weighted else None
    recipe = Recipe(epochs=6, batch=24, optimizer="sgd", lr=0.1, momentum=0.0, weight_decay=0.0, schedule="constant")
    feed = Feed(source)
    got = train(network(), feed, recipe, 0, weights=weights, soft=p, soft_weight=share).model

    twin = network()
    x = feed.inputs(np.arange(24))
    scale = torch.ones(24) if weights is None else torch.from_numpy(weights / weights.mean()).float()
    target = share * torch.from_numpy(p) + (1 - share) * torch.eye(2)[feed.targets]
    for _ in range(6):
        loss = -(scale[:, None] * target * twin(x).log_softmax(1)).sum(1).mean()
        for value, slope in zip(twin.parameters(), torch.autograd.grad(loss, list(twin.parameters())), strict=True):
            value.data -= 0.1 * slope
    for ours, theirs in zip(got.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def plane() -> tuple[wn.Source, np.ndarray]:
    """A regression in a unit far from 1, and predictions of it."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(24, 2)).astype(np.float32)
    y = 5000 + 300 * x[:, 0]
    return source_of(x, y, task="regression"), (y[:, None] + rng.normal(size=(24, 1)) * 100).astype(np.float32)


def test_predictions_are_given_in_the_unit_of_the_regression_target() -> None:
    source, predicted = plane()
    recipe = Recipe(epochs=3, batch=24, optimizer="sgd", lr=0.05, momentum=0.0, weight_decay=0.0, schedule="constant")
    feed = Feed(source)
    got = train(network(outputs=1), feed, recipe, 0, soft=predicted, soft_weight=0.4).model

    twin = network(outputs=1)
    x = feed.inputs(np.arange(24))
    y = torch.tensor(source.labels[:, None], dtype=torch.float32)
    centre, spread = y.mean(), y.std(correction=0)
    for _ in range(3):
        towards = [((twin(x) - (target - centre) / spread) ** 2).mean() for target in (torch.from_numpy(predicted), y)]
        loss = 0.4 * towards[0] + 0.6 * towards[1]
        for value, slope in zip(twin.parameters(), torch.autograd.grad(loss, list(twin.parameters())), strict=True):
            value.data -= 0.05 * slope
    for ours, theirs in zip(got.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_without_weight_soft_targets_change_nothing() -> None:
    recipe = Recipe(epochs=2, batch=8, label_smoothing=0.1)
    one = train(network(), Feed(clouds(24)), recipe, 0).model
    other = train(network(), Feed(clouds(24)), recipe, 0, soft=rows(), soft_weight=0.0).model
    assert bits(one) == bits(other)


def test_without_soft_labels_nothing_changes() -> None:
    recipe = Recipe(epochs=2, batch=8)
    one = train(network(), Feed(clouds(24)), recipe, 0).model
    other = train(network(), Feed(clouds(24)), recipe, 0, soft=None).model
    assert bits(one) == bits(other)


def test_soft_labels_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"one column per class, \(24, 2\).*got \(24, 3\)"):
        train(network(), Feed(clouds(24)), Recipe(epochs=1), 0, soft=rows(classes=3))
    regression = source_of(np.zeros((24, 2), dtype=np.float32), np.arange(24.0), task="regression")
    with pytest.raises(InputError, match=r"soft of train must have .* one column per output, \(24, 1\)"):
        train(network(outputs=1), Feed(regression), Recipe(epochs=1), 0, soft=rows())
    with pytest.raises(InputError, match=r"soft_weight of train must be a number in \[0, 1\]; got 2"):
        train(network(), Feed(clouds(24)), Recipe(epochs=1), 0, soft=rows(), soft_weight=2.0)
