"""How many examples the paper's redundancy rule removes, and what that costs, for three networks.

The rule calls an example redundant if its kernel with some other exceeds its own self-kernel. How many that are depends
on the network and on how far it is trained, so it is asked of LeNet-5 (61,000 weights) and of the authors' own network
(two convolutions of 32 and 64 features, 128 hidden units, dropout: 1.2 million weights). As in the paper, the kernel is
taken at w*, the epoch with the best accuracy on validation examples, which are training examples set aside. What is
left is retrained beside random subsets of that size and everything, all for the same number of steps.

A ResNet-20 that was trained on CIFAR-10 by others (`weights` of the shared data) is asked for its share only: it
removes next to nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import winnow as wn
from winnow.artefacts.intervals import difference, mean
from winnow.core import seeds
from winnow.engines import Local
from winnow.training import Feed, predict, train

from ..comparing import signed
from ..parts import Asked, Part, written
from .pruning import plain, recipe

NETWORKS = ("lenet5", "authors")
NAMES = {"lenet5": "LeNet-5", "authors": "the authors' network"}
RESNET = "weights/cifar10-resnet20.safetensors"
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # what the ResNet's inputs were scaled by


@dataclass(frozen=True)
class Sizes:
    """Examples, those set aside to choose the epoch, epochs of the kernel's network and of a retraining, test limit."""

    drawn: int = 1000
    aside: int = 500
    kernel_epochs: int = 8
    epochs: int = 20
    tests: int | None = None


QUICK = Sizes(100, 50, 1, 1, 100)


def run(asked: Asked) -> Part:
    """Every network on every data set, and the share of the ResNet."""
    sizes = QUICK if asked.quick else Sizes()
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for data in asked.data:
        for network in NETWORKS:
            for repeat in range(asked.seeds):
                known = {"data": data, "network": network, "repeat": repeat, **asdict(sizes), "version": 1}
                made = asked.shelf.keep("cells", known, _maker(asked.out, data, network, repeat, sizes))
                cells.setdefault((data, network), []).append(made)
    residual = None
    if (Path(os.environ.get("WINNOW_DATA", ".")) / RESNET).exists():
        known = {"network": "resnet20", "drawn": sizes.drawn, "version": 1}
        residual = asked.shelf.keep("resnet", known, lambda seed: residual_share(sizes.drawn))
    settings = (
        f"{sizes.drawn:,} training examples, {sizes.aside} others to choose the epoch of the kernel among "
        f"{sizes.kernel_epochs}; retrained for as many steps as {sizes.epochs} epochs of everything, batch 32, AdamW "
        f"at 0.003 falling to zero, measured on the whole test split; {asked.seeds} repeats, each with examples and "
        "weights of its own."
    )
    return Part("networks", settings, table(cells), verdict(cells, residual, sizes.drawn))


def authors() -> nn.Module:
    """The network of the paper's experiments on MNIST, as its released code has it."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(64 * 12 * 12, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, 10),
    )


def _maker(out: Path, data: str, network: str, repeat: int, sizes: Sizes) -> Any:
    def make(seed: int) -> dict[str, Any]:
        drawn = seeds.stream(seed, "drawn").permutation(len(pool := wn.open(data)))[: sizes.drawn + sizes.aside]
        source, aside = pool.at(np.sort(drawn[: sizes.drawn])), pool.at(np.sort(drawn[sizes.drawn :]))
        model = network if network != "authors" else authors()
        kept, epoch = kernel_choice(source, aside, model, sizes.kernel_epochs, seed)
        study = wn.evaluate(
            source,
            {"paper's rule": wn.Subset(kept)},
            test=wn.open(data, split="test", limit=sizes.tests),
            model=model,
            recipe=recipe(sizes.epochs),
            seeds=[repeat],
            match_iterations=1.0,
            seed=seed,
            out=out / "evaluate" / f"{data}-{network}-{sizes.drawn}-{repeat}",
            engine=Local(workers=1),
        )
        return {**plain(study, {"paper's rule": None}), "epoch": epoch}

    return make


def kernel_choice(source: wn.Source, aside: wn.Source, model: Any, epochs: int, seed: int) -> tuple[Any, int]:
    """The ids that the rule keeps, at the epoch that is best on the examples set aside."""
    feed, init = Feed(source), seeds.number(seed, "kernel")
    held = Feed(aside, feed.scaling)
    network = wn.models.build(model, classes=len(source.classes), shape=source.shape, seed=init)
    best: tuple[float, int, dict[str, torch.Tensor]] = (-1.0, 0, {})

    def after(epoch: int, now: nn.Module) -> None:
        nonlocal best
        right = float((predict(now, held, recipe(epochs)).argmax(1) == np.asarray(held.targets)).mean())
        if right > best[0]:
            best = (right, epoch, {name: value.clone() for name, value in now.state_dict().items()})

    train(network, feed, recipe(epochs), init, after_epoch=after)
    network.load_state_dict(best[2])
    x, labels = feed.inputs(np.arange(len(feed))), np.asarray(feed.targets, dtype=np.int64)
    found = wn.lpntk.redundant(wn.lpntk.gram(network.eval(), x, labels), "paper")
    return feed.ids[found.kept], best[1]


def residual_share(count: int) -> float:
    """The share of CIFAR-10 images that the rule calls redundant for a ResNet-20 trained on it."""
    source = wn.open("cifar10", limit=count)
    weights = Path(os.environ["WINNOW_DATA"]) / RESNET
    tuned = wn.models.FineTune("resnet20", weights, head="keep")
    network = wn.models.build(tuned, classes=10, shape=source.shape, kind="image")
    x = torch.from_numpy(source.read(np.arange(count)).astype(np.float32) / 255)
    x = (x - torch.tensor(MEAN)[:, None, None]) / torch.tensor(SPREAD)[:, None, None]
    found = wn.lpntk.redundant(wn.lpntk.gram(network.eval(), x, np.asarray(source.labels)), "paper")
    return 1 - len(found.kept) / count


def _arm(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    """The only arm of a cell; none if nothing was redundant."""
    return next(iter(cell["arms"].values()))


def table(cells: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]) -> list[str]:
    """One line per data set and network."""
    lines = [
        "| data | network | epoch of the kernel | redundant, % | accuracy without them, % | against random "
        "| against everything |",
        "|---|---|---|---|---|---|---|",
    ]
    for (data, network), made in cells.items():
        share = mean([100 * (1 - _arm(cell)["kept"] / cell["examples"]) for cell in made])
        own = [100 * _arm(cell)["accuracy"] for cell in made]
        random, full = ([100 * one for one in found] for found in zip(*map(_beside, made), strict=True))
        lines.append(
            f"| {data} | {NAMES[network]} | {', '.join(str(cell['epoch']) for cell in made)} | {written(share, 1)} "
            f"| {written(mean(own), 2)} | {signed(difference(own, random))} | {signed(difference(own, full))} |"
        )
    return lines


def _beside(cell: Mapping[str, Any]) -> tuple[float, float]:
    return float(_arm(cell)["random"]), float(cell["full"])


def verdict(
    cells: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]], residual: float | None, count: int
) -> list[str]:
    """What the rule costs, network by network."""
    lines = ["Can redundant examples go? By the paper's rule, it depends on the network:"]
    for (data, network), made in cells.items():
        own = [100 * _arm(cell)["accuracy"] for cell in made]
        gap = difference(own, [100 * _beside(cell)[0] for cell in made])
        cost = "costs nothing that can be seen" if not gap.excludes_zero else "gains" if gap.centre > 0 else "costs"
        share = np.mean([1 - _arm(cell)["kept"] / cell["examples"] for cell in made])
        lines.append(f"{data}, {NAMES[network]}: {share:.0%} are redundant; leaving them out {cost}: {signed(gap)}")
    if residual is not None:
        lines.append(f"a trained ResNet-20 calls {residual:.1%} of {count:,} CIFAR-10 images redundant")
    return lines
