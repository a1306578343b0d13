"""Narrowing through a batch norm: does the narrow network train like the wide one, and better than a random one does?

A convolution of 256 channels, a batch norm, tanh, an average over quarters of the image and a linear layer learn
Fashion-MNIST. Beside it train, on the same batches, the network narrowed to 64 channels with the gradient rule, the
same without the rule, and 64 random channels that count four times each, with the rule. One more starts from a network
whose channels stand there four times each: there narrowing must follow to rounding. Distances are the mean over steps
of |log| of the ratio of the losses; ratios of distances are geometric means over seeds.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

import winnow as wn
from winnow.artefacts.intervals import mean
from winnow.core import seeds
from winnow.training import Feed

from ..comparing import holds, times, within
from ..parts import Asked, Part, written

WIDE, OURS, NO_RULE, CHANCE, COPIES = ARMS = ("wide", "narrowed", "no rule", "random, counted", "copies narrowed")
NEAR = 0.05
RULES = {"SGD 0.05": (torch.optim.SGD, 0.05), "Adam 0.003": (torch.optim.Adam, 0.003)}
Curves = NDArray[np.float64]  # arm x step


@dataclass(frozen=True)
class Sizes:
    """Channels before and after, images, batch and steps."""

    before: int = 256
    after: int = 64
    images: int = 2_000
    batch: int = 64
    steps: int = 120


QUICK = Sizes(32, 8, 64, 32, 4)


def run(asked: Asked) -> Part:
    sizes = QUICK if asked.quick else Sizes()
    found = {
        rule: np.array(
            [
                asked.shelf.keep(
                    "curves",
                    {"data": asked.data[0], "rule": rule, "sizes": asdict(sizes), "arms": ARMS, "repeat": repeat},
                    lambda _, rule=rule, repeat=repeat: curves(asked.data[0], rule, sizes, repeat).tolist(),
                )
                for repeat in range(asked.seeds)
            ]
        )
        for rule in RULES
    }
    settings = (
        f"{asked.data[0]}: {sizes.images:,} images, convolution, batch norm, tanh, average, linear layer; "
        f"{sizes.before} channels to {sizes.after}; {sizes.steps} steps of batches of {sizes.batch}; "
        f"{asked.seeds} seeds of images, weights and batches, the same for all arms."
    )
    return Part("batch-norm", settings, table(found), verdict(found))


def network(channels: int, seed: int) -> nn.Sequential:
    """The wide network with weights drawn by the seed."""
    layers = (nn.Conv2d(1, channels, 3, 2), nn.BatchNorm2d(channels), nn.Tanh(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
    return wn.models.build(nn.Sequential(*layers, nn.Linear(4 * channels, 10)), classes=10, seed=seed)


def copied(small: nn.Sequential, times: int) -> nn.Sequential:
    """A network whose every channel is there several times, and reads and counts the same in all."""
    wide = network(small[0].out_channels * times, 0)
    rows = np.repeat(np.arange(small[0].out_channels), times)
    with torch.no_grad():
        wide[0].weight.copy_(small[0].weight[rows])
        wide[0].bias.copy_(small[0].bias[rows])
        wide[5].weight.copy_(small[5].weight.view(10, -1, 4)[:, rows].flatten(1) / times)
        wide[5].bias.copy_(small[5].bias)
    return wide


def curves(data: str, rule: str, sizes: Sizes, repeat: int) -> Curves:
    """Losses of every arm at every step; those of the copies over their own wide network's, times the wide one's."""
    seed = seeds.number(0, "compression", "batch norm", repeat)
    pool = wn.open(data)
    rows = seeds.stream(seed, "images").choice(len(pool), sizes.images, replace=False)
    feed = Feed(pool.at(np.sort(rows)))
    x = feed.inputs(np.arange(sizes.images))
    y = torch.as_tensor(np.asarray(feed.targets, dtype=np.int64))
    wide = network(sizes.before, seed)
    twin = copied(network(sizes.after, seed), sizes.before // sizes.after)
    nets = {
        WIDE: wide,
        OURS: wn.narrow(wide, sizes.after, seed=repeat),
        NO_RULE: wn.narrow(wide, sizes.after, seed=repeat, gradients="plain"),
        CHANCE: at_random(wide, sizes, repeat),
        COPIES: wn.narrow(twin, sizes.after, seed=repeat),
    }
    made = {name: losses(net, x, y, rule, sizes, seed) for name, net in nets.items()}
    own = losses(twin, x, y, rule, sizes, seed)
    made[COPIES] = made[COPIES] / own * made[WIDE]
    return np.array([made[name] for name in ARMS])


def at_random(wide: nn.Sequential, sizes: Sizes, repeat: int) -> nn.Module:
    """Random channels with equal counts: the state of a narrowed network, with other channels in it."""
    kept = np.sort(seeds.stream(repeat, "batch norm", "random").choice(sizes.before, sizes.after, replace=False))
    state = {name: value.clone() for name, value in wide.state_dict().items()}
    for name in [name for name in state if name.startswith(("0.", "1.")) and state[name].dim()]:
        state[name] = state[name][kept]
    state["5.weight"] = state["5.weight"].view(10, -1, 4)[:, kept].flatten(1)
    state["5.counts"] = torch.full((sizes.after,), sizes.before / sizes.after)
    return wn.narrowing.restore(wide, state)


def losses(net: nn.Module, x: torch.Tensor, y: torch.Tensor, rule: str, sizes: Sizes, seed: int) -> Curves:
    """The loss of each step's batch, before the step."""
    net = copy.deepcopy(net).train()
    kind, rate = RULES[rule]
    steering = kind(net.parameters(), lr=rate)
    out = []
    for step in range(sizes.steps):
        rows = torch.from_numpy(seeds.stream(seed, "batch", step).choice(len(x), sizes.batch, replace=False))
        loss = functional.cross_entropy(net(x[rows]), y[rows])
        steering.zero_grad()
        loss.backward()
        steering.step()
        out.append(float(loss.detach()))
    return np.array(out)


def distances(found: Curves) -> Mapping[str, NDArray[np.float64]]:
    """Mean |log ratio| to the wide network's losses, one per seed; `found` is seed x arm x step."""
    apart = np.abs(np.log(found / found[:, :1])).mean(axis=2)
    return {arm: apart[:, place] for place, arm in enumerate(ARMS)}


def table(found: Mapping[str, Curves]) -> Sequence[str]:
    lines = ["| training | " + " | ".join(ARMS[1:]) + " |", "|---" * len(ARMS) + "|"]
    for rule, values in found.items():
        far = distances(values)
        cells = [f"{written(mean(100 * far[arm]), 2 if arm != COPIES else 4)} %" for arm in ARMS[1:]]
        lines.append(f"| {rule} | " + " | ".join(cells) + " |")
    return lines


def verdict(found: Mapping[str, Curves]) -> Sequence[str]:
    lines = [
        "Claim: narrowed through a batch norm, a network trains like the wide one; here, its losses are within "
        f"{100 * NEAR:.0f} % on average."
    ]
    for rule, values in found.items():
        far = distances(values)
        against = [f"{within(times(far[OURS], far[arm]))} of that of {arm}" for arm in (CHANCE, NO_RULE)]
        lines.append(
            f"{rule}: {written(mean(100 * far[OURS]), 2)} %: this {holds(mean(far[OURS]), NEAR, at_most=True)}. Its "
            f"distance is {' and '.join(against)}. Where channels are copies it is {100 * far[COPIES].max():.1e} % at "
            "most."
        )
    return lines
