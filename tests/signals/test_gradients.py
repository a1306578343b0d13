"""Per-example gradients against plain autograd, one example at a time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

import winnow as wn
from tests.oracles.signals import gradients, sketch, watch
from tests.signals.small import digits, noise, rows
from winnow.core.errors import NotDefinedError
from winnow.engines import Local
from winnow.models import build
from winnow.models.projection import SparseProjection
from winnow.signals import gradients as room
from winnow.signals.gradients import example_gradients
from winnow.training import Feed, Recipe

RECIPE = Recipe()


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    """Within 1e-5 of each row's length."""
    scale = np.linalg.norm(wanted, axis=-1, keepdims=True) if wanted.ndim == 2 else wanted
    assert (np.abs(found - wanted) <= 1e-5 * scale).all()


def feed_and_model(name: str) -> tuple[Feed, torch.nn.Module]:
    shape, classes = {"mlp": ((1, 8, 8), 4), "lenet5": ((1, 28, 28), 3), "convnet": ((3, 9, 8), 3)}[name]
    source = noise(7, shape, classes)
    model = build(name, classes=classes, shape=source.shape, seed=1)
    feed = Feed(source)
    if name == "convnet":  # give batch norm running means and variances of its own
        model.train()
        for _ in range(3):
            model(feed.inputs(np.arange(7)))
    return feed, model


@pytest.mark.parametrize("name", ["mlp", "lenet5", "convnet"])
def test_norms_and_projections_equal_autograd(name: str) -> None:
    feed, model = feed_and_model(name)
    model.train()
    norms, projected = example_gradients(model, feed, RECIPE, 64, 5)
    assert model.training  # left as it was found
    assert feed.targets is not None
    slow = gradients(model, feed.inputs(np.arange(7)), feed.targets)
    close(norms, np.linalg.norm(slow, axis=1))
    assert projected is not None
    wanted = sketch(slow, 64, 5)
    assert (np.abs(projected - wanted) <= 1e-5 * np.linalg.norm(slow, axis=1, keepdims=True)).all()


def test_regression_gradients_equal_autograd() -> None:
    source = rows(6, "regression")
    feed = Feed(source)
    model = build("mlp", classes=1, shape=source.shape)
    norms, _ = example_gradients(model, feed, RECIPE, None, 0)
    assert feed.targets is not None
    close(norms, np.linalg.norm(gradients(model, feed.inputs(np.arange(6)), feed.targets), axis=1))


def test_frozen_parameters_have_no_gradient() -> None:
    feed, model = feed_and_model("mlp")
    first = next(iter(model.parameters()))
    whole, _ = example_gradients(model, feed, RECIPE, None, 0)
    first.requires_grad_(False)
    less, _ = example_gradients(model, feed, RECIPE, None, 0)
    assert feed.targets is not None
    close(less, np.linalg.norm(gradients(model, feed.inputs(np.arange(7)), feed.targets), axis=1))
    assert (less < whole).all()


def test_batch_size_does_not_enter(monkeypatch: pytest.MonkeyPatch) -> None:
    feed, model = feed_and_model("lenet5")
    norms, projected = example_gradients(model, feed, RECIPE, 32, 0)
    monkeypatch.setattr(room, "CHUNK_NUMBERS", 2 * 61_706)  # two examples at a time, the last alone
    in_pairs, in_pairs_projected = example_gradients(model, feed, RECIPE, 32, 0)
    np.testing.assert_allclose(in_pairs, norms, rtol=1e-5)
    assert projected is not None
    assert in_pairs_projected is not None
    assert (np.abs(in_pairs_projected - projected) <= 1e-5 * norms[:, None]).all()


def test_observed_gradients_are_taken_after_the_epoch_asked_for() -> None:
    source, recipe = digits(30), wn.Recipe(epochs=4, batch=16)
    twins = {}
    for epoch in (1, 3):
        seen = wn.observe(
            source, "mlp", recipe, 1, "gradient_norms", gradient_epoch=epoch, engine=Local(workers=1)
        ).canonical()
        twins[epoch] = seen.arrays["gradient_norms"][0]
    default = wn.observe(source, "mlp", recipe, 1, "gradient_norms", engine=Local(workers=1)).canonical()
    np.testing.assert_array_equal(default.arrays["gradient_norms"][0], twins[1])  # a tenth of the training
    assert np.abs(twins[1] - twins[3]).max() > 0.01
    # The last epoch's are those of the trained twin.
    last = wn.observe(source, "mlp", recipe, 1, "gradient_norms", gradient_epoch=4, engine=Local(workers=1))
    twin = watch(source, "mlp", recipe, 0)
    slow = np.linalg.norm(gradients(twin.model, twin.inputs, twin.targets), axis=1)
    np.testing.assert_allclose(last.canonical().arrays["gradient_norms"][0], slow, rtol=2e-3)


def test_gradients_need_targets() -> None:
    source = rows(task="unlabelled")
    with pytest.raises(NotDefinedError, match="gradients need labels"):
        example_gradients(build("mlp", classes=2, shape=source.shape), Feed(source), RECIPE, None, 0)


def project(vectors: torch.Tensor, dim: int, seed: int, cuts: tuple[int, ...] = ()) -> torch.Tensor:
    """Project vectors handed over in pieces."""
    projection = SparseProjection(vectors.shape[1], dim, seed)
    out = torch.zeros(len(vectors), dim)
    edges = (0, *cuts, vectors.shape[1])
    for start, end in pairwise(edges):
        projection.add(out, vectors[:, start:end], start)
    return out


def test_projection_keeps_inner_products_within_statistical_error() -> None:
    rng = np.random.default_rng(0)
    pair = torch.from_numpy(rng.standard_normal((2, 400)).astype(np.float32))
    pair[1] += 0.5 * pair[0]
    truth = float(pair[0] @ pair[1])
    dim, draws = 64, 400
    found = np.array([float(torch.prod(project(pair, dim, seed), 0).sum()) for seed in range(draws)])
    spread = float(pair[0].norm() * pair[1].norm()) * np.sqrt(2 / dim)  # an upper limit of one draw's deviation
    assert abs(found.mean() - truth) < 4 * spread / np.sqrt(draws)
    assert 0.2 * spread < found.std() < 1.2 * spread


def test_projection_depends_on_seed_and_not_on_pieces() -> None:
    vectors = torch.randn(3, 100, generator=torch.Generator().manual_seed(0))
    whole = project(vectors, 16, 1)
    assert torch.equal(whole, project(vectors, 16, 1))
    assert not torch.equal(whole, project(vectors, 16, 2))
    torch.testing.assert_close(project(vectors, 16, 1, (7, 60)), whole)
    torch.testing.assert_close(torch.cat([project(row[None], 16, 1) for row in vectors]), whole)
    np.testing.assert_allclose(whole.numpy(), sketch(vectors.double().numpy(), 16, 1), rtol=1e-5, atol=1e-5)
