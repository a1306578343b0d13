"""Each of the eight computes the loss of its paper, on the views and with the gradients that its paper means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.methods.relabel.test_self_supervised import IMAGES, backbone, made
from tests.oracles import selfsup
from winnow.core.seeds import stream
from winnow.methods.relabel.self_supervised import METHODS, SelfSupervisedMethod

Given = tuple[list[torch.Tensor], ...]


def plain(outputs: list[torch.Tensor]) -> list[np.ndarray]:
    return [value.detach().double().numpy() for value in outputs]


def by_hand(name: str, method: Any, given: Given) -> Callable[[], float]:
    """The loss from the papers; what the method remembers is read before it moves."""
    lists = [plain(outputs) for outputs in given]
    if name in ("byol", "simsiam"):
        return lambda: selfsup.predicted_across(*lists)
    if name == "moco":
        queue = method.criterion.memory_bank.bank.double().numpy().copy()  # a key a row
        return lambda: selfsup.moco(*lists, queue=queue)
    if name == "dino":
        centre = method.criterion.center.double().numpy().ravel().copy()
        return lambda: selfsup.dino(*lists, centre=centre)
    if name == "swav":
        return lambda: selfsup.swav(*lists)
    written: Callable[..., float] = getattr(selfsup, name)
    return lambda: written(*lists[0])


def ready(name: str) -> tuple[torch.nn.Module, SelfSupervisedMethod, list[torch.Tensor]]:
    """A method whose averaged networks, queue and centre have moved away from where they began."""
    net = backbone()
    method = made(name, net)
    for step in range(3):
        method.loss(net, method.views(IMAGES, stream(0, "views", step)))
        with torch.no_grad():
            for value in [*net.parameters(), *method.projection.parameters()]:  # type: ignore[union-attr]
                value.add_(0.02 * torch.randn(value.shape, generator=torch.Generator().manual_seed(step)))
        method.after_step(net, step + 1)
    return net, method, method.views(IMAGES, stream(0, "views", 9))


@pytest.mark.parametrize("name", METHODS)
def test_the_loss_is_that_of_the_paper(name: str) -> None:
    net, method, views = ready(name)
    given = method.outputs(net, views)
    wanted = by_hand(name, method, given)
    assert method.compare(*given).item() == pytest.approx(wanted(), rel=2e-4)


@pytest.mark.parametrize("name", ["byol", "simsiam", "moco", "dino"])
def test_no_gradient_goes_through_what_is_aimed_at(name: str) -> None:
    net, method, views = ready(name)
    given = method.outputs(net, views)
    aims, guesses = (given[0], given[1]) if name == "dino" else (given[1], given[0])
    assert not any(value.requires_grad for value in aims)
    assert all(value.requires_grad for value in guesses)


@pytest.mark.parametrize("name", METHODS)
def test_outputs_are_of_the_views_in_their_order(name: str) -> None:
    net, method, views = ready(name)
    given = method.outputs(net, views)
    head: Any = method.projection
    if name in ("byol", "simsiam"):
        head = torch.nn.Sequential(method.projection, method.prediction)  # type: ignore[arg-type]
    if name == "swav":
        weights = method.prototypes.heads[0].weight  # type: ignore[union-attr, index]
        assert torch.allclose(weights.norm(dim=1), torch.ones(len(weights)), atol=1e-5)
        sides = [*given[0], *given[1]]
        assert [len(part) for part in given] == [2, 2]
        for view, scores in zip(views, sides, strict=True):
            features = torch.nn.functional.normalize(method.projection(net(view)), dim=1)  # type: ignore[operator]
            assert torch.allclose(scores, features @ weights.T, atol=1e-5)
        return
    live = given[1] if name == "dino" else given[0]
    for view, found in zip(views if name == "dino" else views[:2], live, strict=True):
        assert torch.allclose(found, head(net(view)), atol=1e-5)
    if method.shadow is not None:
        aims = given[0] if name == "dino" else given[1]
        for view, found in zip(views[:2], aims, strict=True):
            assert torch.allclose(found, method.target(method.shadow(view)), atol=1e-5)  # type: ignore[operator]
            assert not torch.allclose(found, method.projection(net(view)), atol=1e-5)  # type: ignore[operator]
