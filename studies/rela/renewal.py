"""Targets renewed every k epochs: does it help if the student's own features become its next targets?

Section 4.2 says that the data "are collected ... with updates occurring at each k-th epoch", Section 4.1 that targets
are made once. A fixed prior gives the same targets whenever it is asked, so that an update can only matter if the prior
changes. Here it is the student itself: its initial weights give the first targets, and every k epochs its features of
that moment, whitened, take their place, while weights, head and optimiser go on. Stage 1 to the end, on CIFAR-10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
import torch

import winnow as wn
from winnow.artefacts.intervals import difference
from winnow.core import seeds
from winnow.methods.relabel.views import weak_views
from winnow.training import Feed

from ..comparing import claimed, signed
from ..parts import Asked, Part, interval
from .labels_tables import CALLED as CALLED_DATA
from .trainings import QUICK, Sizes, beginner, drawn, own_seed, read, recipe

DATA = "cifar10"
STEPS = 160  # the 20 % budget of the part `budgets`: four epochs
EVERY = (0, 2, 1)  # epochs; 0 for targets that stay
Found = Mapping[str, float]


def run(asked: Asked) -> Part:
    """Train with targets that stay and with targets that are renewed."""
    sizes = QUICK if asked.quick else Sizes().planned(STEPS)
    data = asked.data[0] if asked.quick else DATA
    found = [
        {
            f"{every}": asked.shelf.keep(
                "accuracies",
                {"data": data, "sizes": asdict(sizes), "repeat": repeat, "every": every},
                lambda _, repeat=repeat, every=every: trained(data, sizes, repeat, every),
            )
            for every in EVERY
        }
        for repeat in range(asked.seeds)
    ]
    epoch = sizes.images // sizes.batch
    settings = (
        f"{CALLED_DATA.get(data, data)}: {sizes.images:,} images a seed, a student of four convolutions and "
        f"{8 * sizes.width} features, {sizes.steps} steps of batches of {sizes.batch} (an epoch has {epoch}), all in "
        f"stage 1; linear probe, {sizes.test:,} test images; {asked.seeds} seeds, paired. Accuracies in %."
    )
    return Part("renewal", settings, table(found), verdict(found, sizes.steps))


def trained(data: str, sizes: Sizes, repeat: int, every: int) -> float:
    """Accuracy of a probe on a student that learned its own features, renewed every so many epochs."""
    torch.set_num_threads(1)
    seed = own_seed(data, repeat)
    images, _ = drawn(data, sizes, repeat)
    feed = Feed(images)
    network = beginner(data, sizes, repeat)
    mean, std = feed.scaling.mean, feed.scaling.std
    accelerator = wn.Accelerator(8 * sizes.width, sizes.dim, sizes.steps, switch=None, seed=seed)
    optimizer = recipe(sizes).build_optimizer(torch.nn.ModuleList([network, accelerator]))
    epoch = len(feed) // sizes.batch
    aims = targets_of(network, images, feed, sizes)
    for step in range(sizes.steps):
        if every and step and step % (every * epoch) == 0:
            aims = targets_of(network, images, feed, sizes)
        order = seeds.stream(seed, "batches", step // epoch).permutation(len(feed))
        where = order[step % epoch * sizes.batch :][: sizes.batch]
        views = weak_views(feed.unscaled(where), 2, seeds.stream(seed, "weak views", step))
        network.train()
        loss = accelerator.loss([network((view - mean) / std) for view in views], aims[where])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return read(data, sizes, repeat, network.eval())


def targets_of(network: torch.nn.Module, images: wn.Source, feed: Feed, sizes: Sizes) -> np.ndarray:
    """The network's features of all images, whitened, in the order of the feed."""
    made = wn.relabel.targets(images, network.eval(), sizes.dim)
    return made.at(feed.ids)


def values(found: Sequence[Found], every: int) -> np.ndarray:
    """One accuracy per seed."""
    return np.array([one[f"{every}"] for one in found])


def named(every: int) -> str:
    return "made once" if not every else "renewed every epoch" if every == 1 else f"renewed every {every} epochs"


def table(found: Sequence[Found]) -> list[str]:
    """One row per frequency."""
    lines = ["| targets | accuracy, % | against targets made once |", "|---|---|---|"]
    for every in EVERY:
        beside = "" if not every else signed(difference(values(found, every), values(found, 0)))
        lines.append(f"| {named(every)} | {interval(values(found, every), 1)} | {beside} |")
    return lines


def verdict(found: Sequence[Found], steps: int) -> list[str]:
    """Whether renewing helps."""
    lines = [f"Claim (our reading of Section 4.2): renewing the targets as the student improves helps; {steps} steps."]
    for every in EVERY[1:]:
        gain = difference(values(found, every), values(found, 0))
        lines.append(f"{named(every)}: {signed(gain)} points, {claimed(gain)}.")
    return lines
