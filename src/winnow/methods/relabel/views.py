"""Views of a batch of images: cropped, flipped and recoloured, per image, for the whole batch at once.

A crop is a pair of matrices, one for rows and one for columns, so that all crops of a batch are two batched products.
Brightness, contrast, saturation, hue and grey are affine maps of colours, so that together they are one 3 x 3 matrix
and one offset per image. Hue is rotated in the YIQ plane. Values stay between 0 and 1.

All eight methods use the same augmentation: crops of at least a fifth of the area, flips, the colour jitter that SimCLR
uses for small images, one image in five grey, no blur. Pass a transform to use another.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...core.errors import InputError
from ...core.seeds import number

__all__ = ["Transform", "strong_views", "transformed_views", "weak_views"]

Transform = Callable[[Any], Any]

WEAK = (0.5, 1.0)  # share of the image's area in a crop
STRONG = (0.2, 1.0)
LOCAL = (0.1, 0.4)
RATIO = 4 / 3  # widest and narrowest aspect ratio of a crop
JITTER, HUE, JITTERED, GREY = 0.4, 0.1, 0.8, 0.2
LUMA = np.array([0.299, 0.587, 0.114])
YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])


def weak_views(x: torch.Tensor, count: int, rng: np.random.Generator) -> list[torch.Tensor]:
    """Views for stage 1: crops of at least half of the area, and flips."""
    return [_cropped(x, WEAK, x.shape[-2:], rng) for _ in range(count)]


def strong_views(
    x: torch.Tensor, rng: np.random.Generator, local: int = 0, size: tuple[int, int] | None = None
) -> list[torch.Tensor]:
    """Two views of each image at its own size, then `local` small crops of `size`.

    Parameters
    ----------
    x
        Images between 0 and 1.
    rng
        Source of all randomness; the two large views do not depend on `local`.
    local
        The number of small crops.
    size
        Height and width of the small crops; if not given, those of the images.
    """
    large, small = tuple(x.shape[-2:]), size or tuple(x.shape[-2:])
    wanted = [(STRONG, large)] * 2 + [(LOCAL, small)] * local
    return [_recoloured(_cropped(x, area, shape, rng), rng) for area, shape in wanted]


def transformed_views(x: torch.Tensor, transform: Transform, seed: int, step: int) -> list[torch.Tensor]:
    """Views from the user's own transform of one PIL image; one that gives a single view is called twice."""
    from PIL import Image

    pixels = (x * 255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()
    images = [Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image) for image in pixels]
    with _all_seeded(number(seed, "transform", step)):
        made = [_several(transform(image), lambda image=image: transform(image)) for image in images]  # type: ignore[misc]
    try:
        return [torch.stack(list(views)).to(x) for views in zip(*made, strict=True)]
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            "transform of accelerate must give the same number of tensors, of the same shapes, for every image; "
            f"{str(error).splitlines()[0].rstrip('.')}."
        ) from None


def _several(made: Any, again: Callable[[], Any]) -> list[torch.Tensor]:
    views = list(made) if isinstance(made, list | tuple) else [made, again()]
    for view in views:
        if not isinstance(view, torch.Tensor) or view.ndim != 3:
            raise InputError(
                "transform of accelerate must turn an image into tensors of shape (channels, height, width); "
                f"got {type(view).__name__}."
            )
    if len(views) < 2:
        raise InputError(f"transform of accelerate must give at least 2 views per image; got {len(views)}.")
    return views


@contextmanager
def _all_seeded(seed: int) -> Iterator[None]:
    """Seed every generator that a transform may use, and restore each afterwards."""
    ours, theirs = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        torch.default_generator.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(ours)
            np.random.set_state(theirs)  # noqa: NPY002


def _cropped(
    x: torch.Tensor, area: tuple[float, float], size: tuple[int, ...] | torch.Size, rng: np.random.Generator
) -> torch.Tensor:
    """A crop of each image, of a random share of its area, resized to `size` and flipped half of the time."""
    n, channels, height, width = x.shape
    drawn = rng.random((5, n))
    share = area[0] + (area[1] - area[0]) * drawn[0]
    shape = RATIO ** (2 * drawn[1] - 1)
    tall, wide = np.minimum(1, np.sqrt(share / shape)), np.minimum(1, np.sqrt(share * shape))
    rows = _resampling(height, size[0], drawn[2] * (1 - tall), tall)
    columns = _resampling(width, size[1], drawn[3] * (1 - wide), wide, flip=drawn[4] < 0.5)
    across = torch.bmm(x.reshape(n, channels * height, width), columns.to(x).transpose(1, 2))
    return torch.matmul(rows.to(x)[:, None], across.view(n, channels, height, size[1]))


def _resampling(
    side: int, out: int, start: NDArray[np.float64], length: NDArray[np.float64], flip: NDArray[np.bool_] | None = None
) -> torch.Tensor:
    """For each image, the out x side matrix of linear interpolation that reads a stretch of its pixels.

    `start` and `length` are fractions of the side. For downsampling, the triangle widens accordingly, so that no pixel
    is skipped.
    """
    steps = torch.from_numpy((length * side / out).astype(np.float32))[:, None]
    first = torch.from_numpy((start * side).astype(np.float32))[:, None]
    centres = (first + (torch.arange(out) + 0.5) * steps - 0.5).clamp_(0, side - 1)
    if flip is not None:
        centres = torch.where(torch.from_numpy(flip)[:, None], centres.flip(1), centres)
    reach = steps.clamp(min=1)[:, :, None]
    weights = (1 - (torch.arange(side) - centres[:, :, None]).abs() / reach).clamp_(min=0)
    return weights / weights.sum(2, keepdim=True)


def _recoloured(x: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """Change brightness, contrast, saturation and hue of most images at random, and make some grey."""
    n, channels, height, width = x.shape
    drawn = rng.random((6, n))
    untouched = drawn[0] >= JITTERED
    bright, contrast, saturation = np.where(untouched, 1.0, 1 + JITTER * (2 * drawn[1:4] - 1))
    angle = np.where(untouched, 0.0, 2 * math.pi * HUE * (2 * drawn[4] - 1))
    colour = channels == 3
    luma = torch.tensor(LUMA if colour else np.full(channels, 1 / channels)).to(x)
    level = (x.mean((2, 3)) @ luma)[:, None, None]
    factor = torch.from_numpy(contrast * bright).to(x)[:, None, None]
    offset = torch.from_numpy((1 - contrast) * bright).to(x)[:, None, None] * level
    flat = x.reshape(n, channels, height * width)
    if not colour:
        return (flat * factor + offset).clamp_(0, 1).view_as(x)
    maps = torch.from_numpy(_colour_maps(saturation, angle, drawn[5] < GREY)).to(x)
    # Every map keeps grey values, so the offset, which is grey, is unchanged.
    return torch.baddbmm(offset.expand(n, 3, 1), maps * factor, flat).clamp_(0, 1).view_as(x)


def _colour_maps(
    saturation: NDArray[np.float64], angle: NDArray[np.float64], grey: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """For each image, the 3 x 3 matrix that changes saturation, rotates the hue and removes the colour if requested."""

    to_grey = np.tile(LUMA, (3, 1))
    saturate = saturation[:, None, None] * np.eye(3) + (1 - saturation)[:, None, None] * to_grey
    turn = np.zeros((angle.size, 3, 3))
    turn[:, 0, 0] = 1
    turn[:, 1, 1] = turn[:, 2, 2] = np.cos(angle)
    turn[:, 1, 2], turn[:, 2, 1] = -np.sin(angle), np.sin(angle)
    hue = np.linalg.inv(YIQ) @ turn @ YIQ
    maps: NDArray[np.float64] = np.where(grey[:, None, None], to_grey, np.eye(3)) @ hue @ saturate
    return maps
