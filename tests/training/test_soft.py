"""Training on soft labels against the formula written out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from winnow.core.errors import InputError
from winnow.training import Feed, Recipe, train
from winnow.training.loop import example_losses, soft_losses

from .small import bits, clouds, network, source_of


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def rows(n: int = 24, classes: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(classes), n).astype(np.float32)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_is_the_cross_entropy_with_probabilities(smoothing: float) -> None:
    output = torch.from_numpy(np.random.default_rng(1).normal(size=(24, 2)))
    p = torch.from_numpy(rows()).double()
    smooth = (1 - smoothing) * p + smoothing / 2
    wanted = -(smooth * (output - output.logsumexp(1, keepdim=True))).sum(1)
    assert torch.allclose(soft_losses(output, p, smoothing), wanted, atol=1e-12)


def test_it_is_the_divergence_plus_the_entropy_of_the_target() -> None:
    output = torch.from_numpy(np.random.default_rng(1).normal(size=(24, 2)))
    p = torch.from_numpy(rows()).double()
    q = output.softmax(1)
    divergence, entropy = (p * (p / q).log()).sum(1), -(p * p.log()).sum(1)
    assert torch.allclose(soft_losses(output, p), divergence + entropy, atol=1e-12)


def test_certain_probabilities_are_class_numbers() -> None:
    output = torch.from_numpy(np.random.default_rng(1).normal(size=(24, 2)))
    labels = torch.arange(24) % 2
    assert torch.allclose(soft_losses(output, torch.eye(2)[labels]), example_losses(output, labels), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loop_takes_the_steps_of_the_formula(weighted: bool) -> None:
    source, p = clouds(24), rows()
    weights = np.linspace(1, 4, 24) if weighted else None
    recipe = Recipe(epochs=6, batch=24, optimizer="sgd", lr=0.1, momentum=0.0, weight_decay=0.0, schedule="constant")
    feed = Feed(source)
    got = train(network(), feed, recipe, 0, weights=weights, soft=p).model

    twin = network()
    x = feed.inputs(np.arange(24))
    share = torch.ones(24) if weights is None else torch.from_numpy(weights / weights.mean()).float()
    for _ in range(6):
        loss = -(share[:, None] * torch.from_numpy(p) * twin(x).log_softmax(1)).sum(1).mean()
        for value, slope in zip(twin.parameters(), torch.autograd.grad(loss, list(twin.parameters())), strict=True):
            value.data -= 0.1 * slope
    for ours, theirs in zip(got.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_without_soft_labels_nothing_changes() -> None:
    recipe = Recipe(epochs=2, batch=8)
    one = train(network(), Feed(clouds(24)), recipe, 0).model
    other = train(network(), Feed(clouds(24)), recipe, 0, soft=None).model
    assert bits(one) == bits(other)


def test_soft_labels_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"one column per class, \(24, 2\).*got \(24, 3\)"):
        train(network(), Feed(clouds(24)), Recipe(epochs=1), 0, soft=rows(classes=3))
    regression = source_of(np.zeros((24, 2), dtype=np.float32), np.arange(24.0), task="regression")
    with pytest.raises(InputError, match="soft of train"):
        train(network(outputs=1), Feed(regression), Recipe(epochs=1), 0, soft=rows())
