"""What the parts of this study train, once each: a backbone by a method, from targets, or by both, probed on the way.

A seed draws the images, the student's weights, batches and views; all arms of a seed share them. Arms of one seed that
begin with the same stage 1 share it too: it is trained once, kept at its switch, and each method goes on from there,
which gives the very weights of a whole run. Times are of the processor, one thread, probing and imports left out: on a
machine with other work the clock would say little. A training that was killed begins anew, so that its time is whole.
"""

from __future__ import annotations

import importlib
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import winnow as wn
from winnow.artefacts.training_state import State
from winnow.core import run as store
from winnow.core import seeds
from winnow.methods.relabel.student import student

from ..shelf import Shelf
from . import priors

CONVOLUTIONS = "four convolutions"
PLAIN, SWITCHED, STAGE_1 = "plain", "accelerated", "stage 1 only"
OWN, SHUFFLED = "own initial weights", "shuffled"
PRIORS = {
    "efficientnet": priors.efficientnet,
    "resnet20": lambda: priors.cifar_resnet(20),
    "resnet56": lambda: priors.cifar_resnet(56),
}
CALLED = {
    "efficientnet": "EfficientNet-Lite0 (ImageNet)",
    "resnet20": "ResNet-20 (CIFAR-10)",
    "resnet56": "ResNet-56 (CIFAR-10)",
    OWN: "the student's own initial weights",
}
ELSEWHERE = {"cifar10": "efficientnet", "fashion-mnist": "resnet56"}  # priors that never saw the labels of the data


@dataclass(frozen=True)
class Sizes:
    """The protocol of METHODS 5.4. The paper: 50,000 images, ResNet-18, 39,000 steps for its 100 % budget.

    Heads learn at ten times the paper's rate: at its .0003, 50 epochs of 5,000 images left them short of their best on
    held-out training images, those of BYOL most, which flattered the acceleration; 100 epochs at .003 do as well as 400
    at .0003.
    """

    images: int = 5000
    test: int = 10_000
    steps: int = 800
    stops: tuple[int, ...] = (200, 400, 600, 800)
    batch: int = 128
    width: int = 16
    dim: int = 128
    probe_epochs: int = 100
    probe_rate: float = 3e-3
    student: str = CONVOLUTIONS

    def settings(self) -> dict[str, Any]:
        """What decides a result; the usual student is left out, so that results kept before there was another count."""
        every = asdict(self)
        if self.student == CONVOLUTIONS:
            del every["student"]
        return every

    def planned(self, steps: int) -> Sizes:
        """The same for another length, probed at its end alone."""
        return replace(self, steps=steps, stops=(steps,))


QUICK = Sizes(images=64, test=60, steps=6, stops=(3, 6), batch=16, width=2, dim=4, probe_epochs=2)


@dataclass(frozen=True)
class Arm:
    """One training.

    Attributes
    ----------
    method
        A self-supervised method, or None for stage 1 to the end.
    prior
        Where the targets come from; None for the method alone.
    shuffled
        Whether the targets were dealt out among the images at random: the control.
    switch
        As `wn.relabel.accelerate` takes it; None stays in stage 1.
    """

    method: str | None
    prior: str | None = None
    shuffled: bool = False
    switch: str | int | None = "adaptive"


def curve(shelf: Shelf, data: str, sizes: Sizes, repeat: int, arm: Arm) -> Mapping[str, Any]:
    """Steps, seconds and probe accuracy at each stop, the switch, and the seconds that making the targets took."""
    settings = {"data": data, "sizes": sizes.settings(), "repeat": repeat, "arm": asdict(arm), "side": priors.SIDE}
    return shelf.keep("curves", settings, lambda _: trained(shelf, data, sizes, repeat, arm))


def untrained(shelf: Shelf, data: str, sizes: Sizes, repeat: int) -> float:
    """Accuracy of a probe on the student's initial weights."""
    settings = {"data": data, "sizes": replace(sizes, steps=0, stops=()).settings(), "repeat": repeat}
    return shelf.keep("untrained", settings, lambda _: read(data, sizes, repeat, beginner(data, sizes, repeat)))


def trained(shelf: Shelf, data: str, sizes: Sizes, repeat: int, arm: Arm) -> Mapping[str, Any]:
    """Train one arm and probe it at its stops."""
    torch.set_num_threads(1)
    images, _ = drawn(data, sizes, repeat)
    made, paid = None, 0.0
    if arm.prior is not None:
        made, paid = aims(shelf, data, sizes, repeat, arm.prior, arm.shuffled)
    importlib.import_module(
        "winnow.methods.relabel.lightly_methods"
    )  # takes seconds, which are not those of the first arm
    steps, seconds, accuracies = [], [], []
    before, start = 0.0, None
    if arm.method is not None and made is not None and arm.switch == "adaptive":
        early = curve(shelf, data, sizes, repeat, replace(arm, method=None))
        at = early["switched_at"]
        for place, step in enumerate(early["steps"]):
            if at is None or step <= at:
                steps.append(step)
                seconds.append(early["seconds"][place])
                accuracies.append(early["accuracies"][place])
        if at is None:
            return {**early, "steps": steps, "seconds": seconds, "accuracies": accuracies}
        start = State.load(beginning(shelf, data, sizes, repeat, arm))
        before = at * early["seconds"][-1] / early["steps"][-1]
    pause, begun = 0.0, time.process_time()

    def look(step: int, backbone: nn.Module) -> None:
        nonlocal pause
        now = time.process_time()
        if step not in steps:
            steps.append(step)
            seconds.append(before + now - begun - pause)
            accuracies.append(read(data, sizes, repeat, backbone))
        pause += time.process_time() - now

    found = wn.relabel.accelerate(
        arm.method,
        images,
        made,
        recipe(sizes),
        backbone=network(images.shape, sizes) if sizes.student == CONVOLUTIONS else sizes.student,
        steps=sizes.steps,
        switch=arm.switch,
        seed=own_seed(data, repeat),
        checkpoints=sizes.stops,
        at_checkpoint=look,
        start=start,
    )
    if found.start is not None:
        found.start.save(beginning(shelf, data, sizes, repeat, arm))
    return {
        "steps": steps,
        "seconds": seconds,
        "accuracies": accuracies,
        "switched_at": found.switched_at,
        "targets": paid,
    }


def beginning(shelf: Shelf, data: str, sizes: Sizes, repeat: int, arm: Arm) -> Path:
    """Where the state of stage 1 at its switch is kept, for every method that begins with it."""
    return folder(shelf, data, sizes, repeat, replace(arm, method=None)) / "switch.safetensors"


def aims(shelf: Shelf, data: str, sizes: Sizes, repeat: int, prior: str, shuffled: bool) -> tuple[Any, float]:
    """Targets of one seed's images by a prior, made once, and the processor seconds that it took then."""
    where = folder(shelf, data, sizes, repeat, prior) / "targets.parquet"
    module = None if where.exists() else loaded(prior, data, sizes, repeat)  # before the clock, for the imports in it

    def ask(_: int) -> int:
        where.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=where.parent) as place:  # what a killed run left would shorten the time
            made = asked_of(module or loaded(prior, data, sizes, repeat), Path(place, where.name), data, sizes, repeat)
            Path(place, where.name).replace(where)
        return made.dim

    settings = {"data": data, "repeat": repeat, "prior": prior, "file": where.parent.name}
    _, paid = shelf.timed("targets", settings, ask)
    made = wn.relabel.Targets.load(where)
    return (made.shuffled(own_seed(data, repeat)) if shuffled else made), paid


def loaded(prior: str, data: str, sizes: Sizes, repeat: int) -> nn.Module:
    """A prior with its weights."""
    return beginner(data, sizes, repeat) if prior == OWN else PRIORS[prior]()


def asked_of(module: nn.Module, where: Path, data: str, sizes: Sizes, repeat: int) -> Any:
    """Ask a prior for its targets."""
    images, _ = drawn(data, sizes, repeat)
    how: dict[str, Any] = {}
    if isinstance(module, priors.Resized):  # one of the trained ones; grey images are repeated before they are scaled
        how = {"mean": priors.IMAGENET_MEAN, "std": priors.IMAGENET_STD}
    width = module(torch.zeros(1, *images.shape)).shape[1]
    return wn.relabel.targets(images, module, min(sizes.dim, width), out=where, **how)


def prior_read(shelf: Shelf, data: str, sizes: Sizes, prior: str) -> float:
    """Accuracy of a probe on the prior itself, with the images of the first seed."""
    settings = {
        "data": data,
        "sizes": replace(sizes, steps=0, stops=()).settings(),
        "prior": prior,
        "side": priors.SIDE,
    }

    def ask(_: int) -> float:
        module = loaded(prior, data, sizes, 0)
        if not isinstance(module, priors.Resized):
            return read(data, sizes, 0, module)
        channels = drawn(data, sizes, 0)[0].shape[0]
        as_they_are = {"mean": (0.0,) * channels, "std": (1.0,) * channels}
        return read(data, sizes, 0, wn.models.Frozen(priors.Scaled(module), **as_they_are))

    return shelf.keep("priors", settings, ask)


def read(data: str, sizes: Sizes, repeat: int, backbone: nn.Module | wn.models.Frozen) -> float:
    """Accuracy of a linear probe, in per cent."""
    images, test = drawn(data, sizes, repeat)
    how: dict[str, Any] = {"epochs": sizes.probe_epochs, "lr": sizes.probe_rate}
    study = wn.probe(images, {"student": backbone}, test=test, seeds=[repeat], **how)
    return 100 * study.outcomes[0].value


@cache
def drawn(data: str, sizes: Sizes, repeat: int) -> tuple[wn.Source, wn.Source]:
    """The images of a seed, and the test images, which are the same for all."""
    train, test = wn.open(data), wn.open(data, split="test")
    rng = seeds.stream(own_seed(data, repeat), "images")
    places = rng.choice(len(train), min(sizes.images, len(train)), replace=False)
    exam = seeds.stream(0, "rela", "test").permutation(len(test))[: sizes.test]
    return train.at(np.sort(places)), test.at(np.sort(exam))


def network(shape: tuple[int, ...], sizes: Sizes) -> nn.Module:
    """The student: four convolutions, of which three halve the image; w, 2w, 4w, 8w features and their average."""
    layers: list[nn.Module] = []
    channels = shape[0]
    for number in range(4):
        features = sizes.width * 2**number
        layers += [nn.Conv2d(channels, features, 3, 1 if number == 0 else 2, 1, bias=False)]
        layers += [nn.BatchNorm2d(features), nn.ReLU()]
        channels = features
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def beginner(data: str, sizes: Sizes, repeat: int) -> nn.Module:
    """The student with the initial weights that it has in every arm of a seed."""
    images, _ = drawn(data, sizes, repeat)
    if sizes.student != CONVOLUTIONS:
        return student(sizes.student, images.shape, own_seed(data, repeat))[0].eval()
    return wn.models.build(network(images.shape, sizes), classes=1, seed=own_seed(data, repeat)).eval()


def recipe(sizes: Sizes) -> wn.Recipe:
    """AdamW at .001 with weight decay .01 and no schedule, as the paper has it."""
    return wn.Recipe(batch=sizes.batch, optimizer="adamw", lr=1e-3, weight_decay=0.01, schedule="constant")


def own_seed(data: str, repeat: int) -> int:
    """The seed of everything random in one repeat."""
    return seeds.number(0, "rela", data, repeat) % 2**31


def folder(shelf: Shelf, data: str, sizes: Sizes, repeat: int, what: Arm | str) -> Path:
    """Where something of a seed is kept, named by all that decides it."""
    about = asdict(what) if isinstance(what, Arm) else {"prior": what, "side": priors.SIDE}
    named = sizes.settings()
    if not isinstance(what, Arm):  # targets do not depend on how anything is trained
        own = ("student",) if what == OWN else ()
        named = {name: named[name] for name in ("images", "dim", "width", *own) if name in named}
    word = what.prior if isinstance(what, Arm) else what
    return (
        shelf.folder
        / "stages"
        / f"{data}-{repeat}"
        / f"{str(word).replace(' ', '-')}-{store.fingerprint(about, named)[:10]}"
    )
