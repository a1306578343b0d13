"""How alike two images are, whatever the brightness, a shift by a few pixels or a slight crop.

`prints` returns a short vector per image, for finding candidates by nearest neighbours: the magnitudes of the low
frequencies of the grey image, which a shift hardly changes. A crop does change them, so candidates are also searched
with the prints of slightly cropped images. `dissimilarity` then compares two images pixel by pixel: one minus their
correlation over the part they share, the smallest over shifts of up to three pixels and over slight crops of either.
Both work on images reduced to at most 32 x 32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

__all__ = ["CROP", "dissimilarity", "prints", "reduced"]

SIDE = 32  # pixels a side, at most
FREQUENCIES = 8
SHIFT = 3  # pixels, in each direction
CROP = 1 / 16  # share of the side cut off at each border
CROPS = (CROP / 2, CROP)  # those tried when two images are compared
HOPEFUL = 0.4  # correlation as they are below which two images are not compared as crops of each other
BLOCK = 2_048  # pairs at a time
FLAT = 0.05  # variance of pixels from 0 to 255 below which there is nothing to correlate


def reduced(images: NDArray[Any]) -> torch.Tensor:
    """Images of shape n x C x H x W as float32, averaged down to at most 32 x 32."""
    x = torch.from_numpy(np.ascontiguousarray(images, dtype=np.float32))
    height, width = (min(SIDE, side) for side in x.shape[2:])
    return x if (height, width) == tuple(x.shape[2:]) else functional.adaptive_avg_pool2d(x, (height, width))


def cropped(x: torch.Tensor, share: float) -> torch.Tensor:
    """Cut off a share of the side at each border, and stretch what is left to the size that it had."""
    if share == 0:
        return x
    axes = [torch.linspace(2 * share - 1, 1 - 2 * share, 2 * side + 1)[1::2] for side in x.shape[2:]]
    grid = torch.stack(torch.meshgrid(*axes, indexing="ij")[::-1], dim=-1).expand(len(x), -1, -1, -1)
    return functional.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)


def prints(x: torch.Tensor, crop: float = 0.0) -> NDArray[np.float32]:
    """One vector of length 1 per reduced image, nearly the same after a change of brightness or a small shift."""
    grey = cropped(x, crop).mean(dim=1)
    grey = grey - grey.mean(dim=(1, 2), keepdim=True)
    taper = [torch.hann_window(side + 2, periodic=False)[1:-1] for side in grey.shape[1:]]
    spectrum = torch.fft.rfft2(grey * taper[0][:, None] * taper[1]).abs().sqrt()
    down, along = (min(FREQUENCIES, (side + 1) // 2) for side in grey.shape[1:])
    low = torch.cat([spectrum[:, :down, :along], spectrum[:, -down + 1 :, :along]], dim=1).flatten(1)
    return np.asarray(functional.normalize(low, dim=1).numpy())


def dissimilarity(x: torch.Tensor, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """One minus the correlation of each pair of reduced images at the best alignment: 0 if alike, 1 if unrelated."""
    whole = _Spectra(x)
    inner = [_Spectra(cropped(x, share)) for share in CROPS]
    out = np.empty(len(pairs))
    for start in range(0, len(pairs), BLOCK):
        left, right = torch.from_numpy(pairs[start : start + BLOCK]).T
        best = whole.against(whole, left, right)
        hopeful = torch.nonzero(best > HOPEFUL).flatten()
        left, right = left[hopeful], right[hopeful]
        for part in inner if len(hopeful) else ():
            cut = torch.maximum(part.against(whole, left, right), part.against(whole, right, left))
            best[hopeful] = torch.maximum(best[hopeful], cut)
        out[start : start + BLOCK] = (1 - best).clamp(min=0).numpy()
    return out


class _Spectra:
    """Grey images with what their correlation at every shift needs: spectra and sums over windows."""

    def __init__(self, x: torch.Tensor) -> None:
        grey = x.mean(dim=1)
        grey = grey - grey.mean(dim=(1, 2), keepdim=True)
        self.sides = tuple(grey.shape[1:])
        padded = [4 * -(-(side + SHIFT) // 4) for side in self.sides]  # so that no shift wraps around
        self.spectrum = torch.fft.rfft2(grey, s=padded)
        self.down, self.along = _waves(padded[0], padded[0]), _waves(padded[1], padded[1] // 2 + 1)
        self.total, self.square = _windows(grey), _windows(grey**2)

    def against(self, other: _Spectra, mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
        """The largest correlation over shifts of image `mine` of this with image `theirs` of the other."""
        product = self.spectrum[mine] * other.spectrum[theirs].conj()
        steps = torch.arange(-SHIFT, SHIFT + 1)
        # the inverse transform at these shifts only
        together = (self.down @ (product @ self.along.T)).real
        count = (self.sides[0] - steps.abs())[:, None] * (self.sides[1] - steps.abs())
        opposite = [table[theirs].flip(1, 2) for table in (other.total, other.square)]
        total, square = self.total[mine], self.square[mine]
        cover = (together - total * opposite[0] / count) / count
        spread = (square - total**2 / count) / count, (opposite[1] - opposite[0] ** 2 / count) / count
        usable = (spread[0] > FLAT) & (spread[1] > FLAT)
        found = torch.where(usable, cover / (spread[0] * spread[1]).clamp(min=FLAT**2).sqrt(), torch.zeros(()))
        return found.flatten(1).amax(dim=1)


def _waves(side: int, kept: int) -> torch.Tensor:
    """The inverse Fourier transform at each shift, from the `kept` first frequencies of a real signal: 7 x kept."""
    steps, waves = torch.arange(-SHIFT, SHIFT + 1), torch.arange(kept)
    twice = torch.where((waves > 0) & (2 * waves < side), 2.0, 1.0) if kept < side else torch.ones(kept)
    turns = steps[:, None] * waves / side
    return torch.polar(twice.expand(turns.shape) / side, 2 * torch.pi * turns)


def _windows(x: torch.Tensor) -> torch.Tensor:
    """Sums of x over the part that it shares with an image of its size at each shift: n x 7 x 7."""
    height, width = x.shape[1:]
    table = functional.pad(x.double().cumsum(1).cumsum(2), (1, 0, 1, 0))
    steps = torch.arange(-SHIFT, SHIFT + 1)
    rows = table[:, height + steps.clamp(max=0)] - table[:, steps.clamp(min=0)]
    return (rows[:, :, width + steps.clamp(max=0)] - rows[:, :, steps.clamp(min=0)]).float()
