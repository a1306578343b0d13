"""Images as rows of numbers without a network: how much of each of some small patches is in each quarter of the image.

Patches drawn from the images themselves, whitened so that edges count and brightness does not, are compared with every
place of an image; what exceeds a threshold is averaged over each quarter, and the rows are reduced to their principal
components (Coates, Lee and Ng 2011). Neighbours and a linear head on such rows know far more about what is shown than
on pixels, and nothing is trained on labels. Rows are made block by block, in the order of the ids.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from ..artefacts import Source
from ..core.progress import track
from ..core.seeds import drawn_first, stream
from ..training import Feed

__all__ = ["SMALLEST", "WIDTH", "patch_rows"]

WIDTH = 256  # numbers per row at most
SMALLEST = 6  # pixels of the shorter side from which on images have patches
SIDE, LEAST_SIDE = 6, 3  # of a patch, which is at most a quarter of the image
LARGE = 32  # larger images are first made smaller, to at least so many pixels
PATCHES = 128
LOOKED = 20_000  # patches that whitening follows from
SAMPLE = 10_000  # images that the principal components follow from
THRESHOLD = 0.5
BLOCK = 128


@dataclass(frozen=True, eq=False)
class _Bank:
    """The patches that images are compared with: plain patches times `filters`, less `offset`."""

    side: int
    step: int
    shrink: int
    least: float  # variance that is added to that of a patch, so that flat ones stay flat
    filters: torch.Tensor
    offset: torch.Tensor


def patch_rows(source: Source, seed: int = 0) -> NDArray[np.float32]:
    """Return one row per image, in the order of the source.

    Parameters
    ----------
    source
        Images of SMALLEST pixels or more.
    seed
        Seed of the draw of patches.
    """
    feed = Feed(source)
    bank = _bank(feed, seed)
    some = np.sort(drawn_first(seed, ("patch rows", "sample"), feed.ids, SAMPLE))
    known = _answers(feed, bank, some)
    middle, spread = known.mean(axis=0), known.std(axis=0)
    scale = 1 / (spread + 1e-3 * spread.mean() + 1e-12)
    scaled = ((known - middle) * scale).astype(np.float64)
    turned = np.linalg.eigh(scaled.T @ scaled / len(scaled))[1][:, ::-1][:, :WIDTH]
    onto = (scale[:, None] * turned).astype(np.float32)
    found = np.empty((len(source), onto.shape[1]), dtype=np.float32)
    if len(some) == len(feed):
        found[feed.order] = (known - middle) @ onto
        return found
    for start in track(range(0, len(feed), SAMPLE), "images"):
        where = np.arange(start, min(start + SAMPLE, len(feed)))
        found[feed.order[where]] = (_answers(feed, bank, where) - middle) @ onto
    return found


def _bank(feed: Feed, seed: int) -> _Bank:
    """Draw patches and whiten them."""
    draw = stream(seed, "patch rows")
    which = np.sort(drawn_first(seed, ("patch rows", "patches"), feed.ids, 1000))
    height, width = feed.source.shape[-2:]
    shrink = max(1, min(height, width) // LARGE)
    images = _shrunk(feed.inputs(which), shrink)
    low = min(images.shape[-2:])
    side, step = min(SIDE, max(LEAST_SIDE, low // 4)), max(1, round(low / 20))
    least = 0.01 * float(images.var()) + 1e-12
    every = functional.unfold(images, side).transpose(1, 2)
    at = draw.integers(0, every.shape[0] * every.shape[1], LOOKED)
    patches = _even(every[at // every.shape[1], at % every.shape[1]], least).double()
    middle = patches.mean(dim=0)
    values, vectors = torch.linalg.eigh((patches - middle).T @ (patches - middle) / len(patches))
    white = vectors @ torch.diag((values.clamp(min=0) + 0.1 * values.mean() + 1e-12) ** -0.5) @ vectors.T
    chosen = (patches[:PATCHES] - middle) @ white
    filters = white @ (chosen / (chosen.norm(dim=1, keepdim=True) + 1e-12)).T
    return _Bank(side, step, shrink, least, filters.float(), (middle @ filters).float())


def _answers(feed: Feed, bank: _Bank, where: NDArray[np.int64]) -> NDArray[np.float32]:
    """How much of each patch, and of its negative, is in each quarter of the images."""
    found = []
    with torch.inference_mode():
        for start in range(0, where.size, BLOCK):
            images = _shrunk(feed.inputs(where[start : start + BLOCK]), bank.shrink)
            every = functional.unfold(images, bank.side, stride=bank.step).transpose(1, 2)
            like = _even(every, bank.least) @ bank.filters - bank.offset
            both = torch.cat([functional.relu(like - THRESHOLD), functional.relu(-like - THRESHOLD)], dim=2)
            rows, columns = ((size - bank.side) // bank.step + 1 for size in images.shape[-2:])
            placed = both.transpose(1, 2).reshape(len(images), -1, rows, columns)
            found.append(functional.adaptive_avg_pool2d(placed, 2).flatten(1).sqrt().numpy())
    return np.concatenate(found)


def _shrunk(images: torch.Tensor, factor: int) -> torch.Tensor:
    return functional.avg_pool2d(images.float(), factor) if factor > 1 else images.float()


def _even(patches: torch.Tensor, least: float) -> torch.Tensor:
    """Patches without their mean and contrast."""
    centred = patches - patches.mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(centred.var(dim=-1, keepdim=True) + least)
