"""The last layers of networks that others trained: does the certificate hold for a ResNet's head, too?

ResNet-20 and ResNet-56 with weights of CIFAR-10 read training images once; `wn.influence.from_model` takes the head's
inputs and its influence vectors. Every repeat draws some of the images, fits the head to them, removes a share by
influence, at random and by lowest norm, and fits it again to what is left. The readings are those of the part `curve`.
These networks have seen the images: their features nearly separate the classes, which is what users have who prune with
a finished network. `--data resnet20` runs one of the two.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import winnow as wn
from winnow.core import seeds
from winnow.core.files import atomic

from ..comparing import holds, within
from ..parts import Asked, Part, interval
from .curve import CHANCE, CHANGE, GAP, METHODS, OURS, PREDICTED, Cells, judged, removed_from, values
from .heads import DAMPING, Trained

WEIGHTS = "weights/cifar10-{}.safetensors"
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # what inputs were scaled by when they were trained
BATCH = 250


@dataclass(frozen=True)
class Sizes:
    """Images read once, images per draw, test images, shares removed, random removals per share."""

    images: int = 6_000
    drawn: int = 3_000
    tests: int = 3_000
    shares: tuple[float, ...] = (0.3, 0.5, 0.7)
    draws: int = 3
    networks: tuple[str, ...] = ("resnet20", "resnet56")


QUICK = Sizes(200, 150, 100, (0.5,), 2, ("resnet20",))


def run(asked: Asked) -> Part:
    sizes = QUICK if asked.quick else Sizes()
    networks = tuple(name for name in asked.data if name in sizes.networks) or sizes.networks
    found = {
        network: [
            asked.shelf.keep(
                "removals",
                {"network": network, "sizes": asdict(sizes), "damping": DAMPING, "repeat": repeat},
                lambda seed, network=network: removals(asked.out, network, sizes, seed),
            )
            for repeat in range(asked.seeds)
        ]
        for network in networks
    }
    settings = (
        f"CIFAR-10: {asked.seeds} draws of {sizes.drawn:,} from {sizes.images:,} images that the networks were trained "
        f"on, head of 650 parameters fitted at damping {DAMPING:g}, {sizes.draws} random removals per share, "
        f"{sizes.tests:,} test images; brackets are 95 % intervals over draws."
    )
    tenth = {
        network: asked.shelf.keep(
            "tenth",
            {"network": network, "sizes": asdict(sizes), "damping": DAMPING},
            lambda seed, network=network: longest(fitted(asked.out, network, sizes, seed)),
        )
        for network in networks
    }
    told = "; ".join(f"{network} {share:.0%}" for network, share in tenth.items())
    last = f"Share of the squared length of all influence vectors that the longest tenth has, in one draw: {told}."
    return Part("last-layers", settings, table(found), [*verdict(found), last])


def removals(out: Path, network: str, sizes: Sizes, seed: int) -> Cells:
    """What every method's removals did to the head of one draw."""
    return removed_from(fitted(out, network, sizes, seed), sizes.shares, sizes.draws, seed)


def longest(of: Trained) -> float:
    """The share of the squared length of all influence vectors that the longest tenth has."""
    squares = np.sort(of.vectors.norms**2)[::-1]
    return float(squares[: len(squares) // 10].sum() / squares.sum())


def fitted(out: Path, network: str, sizes: Sizes, seed: int) -> Trained:
    """The head of one draw, with its vectors and the test images."""
    read = {split: features(out, network, split, n) for split, n in (("train", sizes.images), ("test", sizes.tests))}
    (x, y), (others, truth) = read["train"], read["test"]
    rows = np.sort(seeds.stream(seed, "draw").choice(len(y), sizes.drawn, replace=False))
    last = nn.Sequential(nn.Linear(x.shape[1], 10)).double()
    vectors = wn.influence.from_model(last, "0", torch.from_numpy(x[rows]), y[rows], DAMPING)
    ones = [np.hstack([some, np.ones((len(some), 1))]) for some in (x[rows], others)]
    head = wn.influence.fit_head(ones[0], y[rows], DAMPING, classes=10)
    return Trained(ones[0], y[rows], ones[1], truth, head, vectors)


def features(out: Path, network: str, split: str, images: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """What the last layer reads, for the first images of a split; kept by parts, since it is the dear part."""
    file = out / "features" / f"{network}-{split}-{images}.npz"
    source = wn.open("cifar10", split=split, limit=images)
    labels = np.asarray(source.labels, dtype=np.int64)
    if not file.exists():
        parts = [part(out, network, split, source, start) for start in range(0, images, BATCH)]
        with atomic(file) as made, made.open("wb") as stream:
            np.savez(stream, x=np.concatenate(parts), y=labels)
    kept = np.load(file)
    return kept["x"], kept["y"]


def part(out: Path, network: str, split: str, source: wn.Source, start: int) -> NDArray[np.float64]:
    """The same for one batch of images."""
    file = out / "features" / "parts" / f"{network}-{split}-{start}.npy"
    if not file.exists():
        places = np.arange(start, min(start + BATCH, len(source)))
        pixels = source.read(places).astype(np.float32) / 255
        x = torch.from_numpy((pixels - np.array(MEAN)[:, None, None]) / np.array(SPREAD)[:, None, None]).float()
        labels = np.asarray(source.labels)[places]
        found = wn.influence.from_model(model(network), "linear", x, labels, 1.0, refit=False).head.features
        with atomic(file) as made, made.open("wb") as stream:
            np.save(stream, found[:, :-1])  # without the column of ones
    return np.asarray(np.load(file))


@cache
def model(network: str) -> nn.Module:
    """A network with the weights that others trained."""
    weights = Path(os.environ.get("WINNOW_DATA", ".")) / WEIGHTS.format(network)
    return wn.models.build(
        wn.models.FineTune(network, weights, head="keep"), classes=10, shape=(3, 32, 32), kind="image"
    )


def table(found: Mapping[str, Sequence[Cells]]) -> list[str]:
    lines = [
        "| network | removed | change over random's | actual over linear | actual over corrected | curvature "
        "left | gap in size over random's | lowest norm's change over random's |",
        "|---" * 8 + "|",
    ]
    for network, cells in found.items():
        for share in cells[0][OURS]:
            one = judged(cells, share)
            lowest = values(cells, METHODS[2], share, "actual") / values(cells, CHANCE, share, "actual")
            lines.append(
                f"| {network} | {float(share):.0%} | {within(one['change'], 3)} | {within(one['predicted'], 3)} | "
                f"{within(one['corrected'], 4)} | {interval(values(cells, OURS, share, 'curvature'), 2)} | "
                f"{within(one['size'], 3)} | {interval(lowest, 2)} |"
            )
    return lines


def verdict(found: Mapping[str, Sequence[Cells]]) -> list[str]:
    lines = [
        "Claims, as for heads on principal components: with half removed the head moves at most 1/15 as far as after a "
        "random removal, within a fifth of the linear prediction, and the gap in test loss is at most a tenth of "
        "random's."
    ]
    for network, cells in found.items():
        for share in cells[0][OURS]:
            one: Mapping[str, Any] = judged(cells, share)
            near = one["predicted"].low >= 1 - PREDICTED and one["predicted"].high <= 1 + PREDICTED
            word = "holds" if near else "does not hold for all of the interval"
            lines.append(
                f"{network}, {float(share):.0%} removed: change {within(one['change'], 3)} of random's: "
                f"{holds(one['change'], CHANGE, at_most=True)}; actual over the linear prediction "
                f"{within(one['predicted'], 3)}: {word}; gap {within(one['size'], 3)} of random's: "
                f"{holds(one['size'], GAP, at_most=True)}. The certificate's corrected prediction: actual over it "
                f"{within(one['corrected'], 4)}."
            )
    return lines
