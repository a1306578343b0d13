"""The eight methods and their views: losses fall, gradients arrive, averages follow, views are what they say."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import torch

from winnow.core.errors import InputError, MissingDependencyError, UnknownNameError
from winnow.core.seeds import stream
from winnow.methods.relabel import self_supervised as contrasting
from winnow.methods.relabel import views as viewing
from winnow.methods.relabel.self_supervised import METHODS, SelfSupervisedMethod, Shadow, method_of
from winnow.methods.relabel.views import strong_views, transformed_views, weak_views
from winnow.models import build
from winnow.training.module_state import give_module, held_by

MOMENTUM_METHODS = {"byol", "dino", "moco"}


def backbone(seed: int = 0) -> torch.nn.Module:
    net = build("convnet", classes=2, shape=(3, 8, 8), width=4, seed=seed)
    net.set_submodule("head", torch.nn.Identity())
    return net


def made(name: str, net: torch.nn.Module, seed: int = 0) -> SelfSupervisedMethod:
    method = method_of(name, net, 16, seed, planned_steps=50, examples=64, batch=16)
    method.local_size = (4, 4) if method.local_views else None
    return method


IMAGES = torch.from_numpy(np.random.default_rng(0).random((16, 3, 8, 8), dtype=np.float32))


@pytest.mark.parametrize("name", METHODS)
def test_a_method_learns(name: str) -> None:
    net = backbone()
    method = made(name, net)
    trained = [p for p in [*net.parameters(), *method.parameters()] if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3)
    losses = []
    for step in range(16):
        loss = method.loss(net, method.views(IMAGES, stream(0, "views", 0)))
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            assert loss.shape == ()
            assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in net.parameters())
        optimizer.step()
        method.after_step(net, step + 1)
        losses.append(loss.item())
    assert np.isfinite(losses).all()
    start = 4 if name == "moco" else 1  # MoCo's first negatives are noise, which is easier than keys
    assert np.mean(losses[-5:]) < np.mean(losses[start : start + 3])


@pytest.mark.parametrize("name", METHODS)
def test_momentum_networks_follow_and_only_theirs(name: str) -> None:
    net = backbone()
    method = made(name, net)
    assert (method.shadow is not None) == (name in MOMENTUM_METHODS)
    if method.shadow is None:
        return
    with torch.no_grad():
        for value in [*net.parameters(), *method.projection.parameters()]:  # type: ignore[union-attr]
            value.add_(1.0)
    before = held_by(method, "")
    method.after_step(net, 0, heads=False)
    share = 1 - contrasting.MOMENTUM
    for old, new in zip(net.parameters(), method.shadow.parameters(), strict=True):
        assert torch.allclose(old - 1 + share, new, atol=1e-6)
        assert not new.requires_grad
    (head, follower) = method.followed[0]
    assert all(torch.equal(before[f".target.{key}"], value) for key, value in follower.named_parameters())
    method.after_step(net, 0)
    for old, new in zip(head.parameters(), follower.parameters(), strict=True):
        assert torch.allclose(old - 1 + share, new, atol=1e-6)


def test_the_momentum_rises_to_one() -> None:
    live = torch.nn.Linear(1, 1, bias=False)
    for step, share in ((0, 0.01), (50, 0.005), (100, 0.0), (130, 0.0)):
        torch.nn.init.zeros_(live.weight)
        shadow = Shadow(live, 100)
        torch.nn.init.ones_(live.weight)
        shadow.follow(live, step)
        assert float(shadow.network.weight.detach()) == pytest.approx(share, abs=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", METHODS)
def test_heads_depend_on_seed_and_name_alone(name: str) -> None:
    net = backbone()
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    first = held_by(made(name, net), "m")
    assert torch.equal(torch.rand(2), wanted)
    second, other = held_by(made(name, net), "m"), held_by(made(name, net, seed=1), "m")
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first if "shadow" not in key)


def test_everything_a_method_holds_can_be_taken_and_given() -> None:
    net = backbone()
    method = made("moco", net)
    method.loss(net, method.views(IMAGES, stream(0, "views", 0))).backward()
    held = held_by(method, "m")
    assert any(key.endswith("bank") for key in held)  # which state_dict leaves out
    twin = made("moco", net, seed=1)
    give_module(twin, {key.removeprefix("m."): value for key, value in held.items()})
    assert all(torch.equal(value, held[key]) for key, value in held_by(twin, "m").items())


def test_the_first_large_views_are_the_same_for_every_method() -> None:
    net = backbone()
    views = {name: made(name, net).views(IMAGES, stream(0, "views", 7)) for name in METHODS}
    for name, found in views.items():
        assert len(found) == (4 if name in ("dino", "swav") else 2)
        assert torch.equal(found[0], views["byol"][0])
        assert torch.equal(found[1], views["byol"][1])
        assert all(view.shape == (16, 3, 4, 4) for view in found[2:])


def test_unknown_methods_and_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="nearest: 'simclr'"):
        method_of("simclear", backbone(), 16, 0, 5)
    monkeypatch.delitem(sys.modules, "winnow.methods.relabel.lightly_methods", raising=False)
    monkeypatch.delattr("winnow.methods.relabel.lightly_methods", raising=False)
    monkeypatch.setitem(sys.modules, "lightly", None)
    monkeypatch.setitem(sys.modules, "lightly.loss", None)
    with pytest.raises(MissingDependencyError, match="'byol' of accelerate needs lightly"):
        method_of("byol", backbone(), 16, 0, 5)


def ramp(n: int = 400, height: int = 12, width: int = 16) -> torch.Tensor:
    """Images whose first channel is the row and whose second is the column, as shares of the side."""
    rows = ((torch.arange(height) + 0.5) / height)[:, None].expand(height, width)
    columns = ((torch.arange(width) + 0.5) / width)[None].expand(height, width)
    return torch.stack([rows, columns, torch.zeros(height, width)]).expand(n, 3, height, width).contiguous()


def test_weak_views_are_crops_of_half_the_area_and_flips() -> None:
    (view,) = weak_views(ramp(), 1, stream(0, "weak"))
    assert view.shape == (400, 3, 12, 16)
    # Inner differences of the ramps give the stretch each crop covers; edges are clamped and left out.
    tall = (view[:, 0, 7, 8] - view[:, 0, 4, 8]) / 3 * 12
    across = (view[:, 1, 6, 9] - view[:, 1, 6, 6]) / 3 * 16
    area = tall * across.abs()
    assert 0.5 - 1e-4 <= float(area.min()) <= 0.52
    assert float(area.max()) <= 1 + 1e-4
    flipped = float((across < 0).float().mean())
    assert abs(flipped - 0.5) < 4 * math.sqrt(0.25 / 400)
    assert torch.allclose(view[:, 2], torch.zeros(()))


def test_a_crop_of_everything_is_the_image_or_its_mirror() -> None:
    x = torch.rand(20, 3, 9, 7)
    view = viewing._cropped(x, (1.0, 1.0), (9, 7), _Square())
    assert torch.allclose(view[0], x[0].flip(2), atol=1e-6)
    assert torch.allclose(view[1], x[1], atol=1e-6)


class _Square:
    """Draws the whole image, with every other one flipped."""

    def random(self, shape: tuple[int, int]) -> np.ndarray:
        drawn = np.full(shape, 0.5)
        drawn[4] = np.where(np.arange(shape[1]) % 2, 0.9, 0.1)
        return drawn


def test_fewer_pixels_are_averages_and_grey_levels_stay() -> None:
    small = strong_views(torch.full((5, 1, 8, 8), 0.5), stream(0, "v"), local=1, size=(4, 4))[2]
    assert small.shape == (5, 1, 4, 4)
    assert float(small.min()) >= 0.5 * 0.6 - 1e-6
    assert float(small.max()) <= 0.5 * 1.4 + 1e-6


def test_colours_change_as_announced() -> None:
    x = torch.rand(2000, 3, 2, 2)
    view = viewing._recoloured(x, stream(0, "colours"))
    assert float(view.min()) >= 0
    assert float(view.max()) <= 1
    same = float(((view - x).abs().amax((1, 2, 3)) < 1e-5).float().mean())
    grey = float(((view.amax(1) - view.amin(1)).amax((1, 2)) < 1e-4).float().mean())
    for found, share in ((same, 0.2 * 0.8), (grey, 0.2)):
        assert abs(found - share) < 4 * math.sqrt(share * (1 - share) / 2000) + 0.005
    maps = viewing._colour_maps(np.array([0.7, 1.3]), np.array([0.5, -0.4]), np.array([False, False]))
    assert np.allclose(maps @ np.ones(3), 1)  # grey stays grey
    assert np.allclose(viewing.LUMA @ maps[0], viewing.LUMA, atol=2e-3)  # and brightness what it was


def test_views_of_each_image_are_its_own() -> None:
    x = torch.rand(1, 3, 8, 8).expand(6, 3, 8, 8)
    view = strong_views(x, stream(0, "v"))[0]
    assert all(not torch.allclose(view[0], other) for other in view[1:])


def test_a_lightly_transform_serves() -> None:
    transforms = pytest.importorskip("lightly.transforms")
    both = transforms.SimCLRTransform(input_size=8, cj_strength=0.5, gaussian_blur=0.5, normalize=None)
    first, second = (transformed_views(IMAGES, both, seed=0, step=4) for _ in range(2))
    assert [view.shape for view in first] == [IMAGES.shape] * 2
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not torch.equal(first[0], transformed_views(IMAGES, both, seed=0, step=5)[0])


def test_a_transform_with_one_view_is_called_twice_and_one_without_is_refused() -> None:
    grey = torch.rand(4, 1, 8, 8)
    views = transformed_views(grey, lambda image: torch.rand(1, 8, 8), seed=0, step=0)
    assert len(views) == 2
    assert not torch.equal(*views)
    with pytest.raises(InputError, match="at least 2 views"):
        transformed_views(grey, lambda image: [torch.rand(1, 8, 8)], seed=0, step=0)
    with pytest.raises(InputError, match="same number of tensors"):
        transformed_views(grey, lambda image: [torch.rand(1, 8, 8)] * int(2 + 2 * torch.rand(1)), seed=0, step=0)
