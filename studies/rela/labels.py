"""A few images a class under a prior's soft labels: Table 5's comparison, with hard labels and random images beside it.

The paper (Appendix I) gives k images a class the soft targets of a trained classifier and sets them against sets that
others have distilled, 1, 10 and 50 images a class, on CIFAR-10 up to ImageNet. Distilled sets are not made here. Asked
is what the soft labels do and what the choice of images does, each with the other held fixed:

    same images     under labels and under soft labels, from the same weights, on the same batches
    same targets    images chosen by herding or moderate on the prior's features, or drawn, equally many of each class

The prior on CIFAR-10 is a ResNet-20 that was trained on these very images and their labels: what its soft labels bring
is distillation of all 50,000. On Fashion-MNIST it is a LeNet-5 trained here, anew in every repeat, on labelled images
that the pool does not hold; its seconds are stated. The temperature, 4, is a usual one of distillation and was not
tried against others; at 1 the ResNet's belief in its own training images is .99 on average and hardly soft.

Every repeat draws its pool anew. All arms take as many steps as training on the whole pool does. Sizes were chosen
beforehand by their time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

import winnow as wn
from winnow.core import seeds
from winnow.engines import Local
from winnow.training import Feed, Scaling, train

from ..parts import Asked, Part
from .labels_tables import CALLED, CHOICES, drawing, table, verdict

TEMPERATURE = 4.0
BATCH, RATE = 50, 3e-3
PRIOR_EPOCHS, PRIOR_BATCH = 5, 32  # of the prior that is trained here
PRIOR_RATE = 3e-3
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # what the ResNet was trained with


@dataclass(frozen=True)
class Sizes:
    """Images a class, images to choose from and for the prior, test images, width of the student on colour images."""

    counts: tuple[int, ...]  # the paper's
    pool: int
    prior: int
    tests: int
    width: int
    epochs: Mapping[str, int]  # of the whole pool, which sets the steps


REAL = Sizes((1, 10, 50), 4000, 10000, 4000, 16, {"cifar10": 3, "else": 5})
QUICK = Sizes((1, 4), 150, 300, 60, 4, {"cifar10": 1, "else": 1})


@dataclass(frozen=True)
class Prior:
    """A trained classifier, how it wants its images, and the seconds that its training took here."""

    network: torch.nn.Module
    mean: tuple[float, ...]
    std: tuple[float, ...]
    seconds: float


def run(asked: Asked) -> Part:
    """Choose, label, train and compare, for every data set and repeat."""
    sizes = QUICK if asked.quick else REAL
    cells: dict[str, list[Mapping[str, Any]]] = {data: [] for data in asked.data}
    for repeat in range(asked.seeds):
        for data in asked.data:
            make = _maker(asked.out, data, repeat, sizes)
            cells[data].append(asked.shelf.keep("cells", settings(data, repeat, sizes), make))
    steps = {CALLED.get(d, d): _epochs(sizes, d) * -(-sizes.pool // BATCH) for d in asked.data}
    said = (
        f"A pool of {sizes.pool} training images, {sizes.tests} test images; students: LeNet-5 on grey images, a "
        f"ConvNet of width {sizes.width} on colour ones, AdamW at {RATE:g} falling to zero, batch {BATCH}, "
        f"{' and '.join(f'{n} steps on {d}' for d, n in steps.items())} for every arm; soft labels at temperature "
        f"{TEMPERATURE:g}. {asked.seeds} repeats, each with a pool, a student and, where it is trained here, a "
        "prior of its own. Differences are paired."
    )
    return Part("labels", said, table(cells, sizes.counts), verdict(cells, sizes.counts), drawing(cells, sizes.counts))


def settings(data: str, repeat: int, sizes: Sizes) -> dict[str, Any]:
    """Everything that decides a cell."""
    how = {"choices": list(CHOICES), "temperature": TEMPERATURE, "batch": BATCH, "rate": RATE}
    prior = [PRIOR_EPOCHS, PRIOR_BATCH, PRIOR_RATE] if data != "cifar10" else ["resnet20"]
    given = {**asdict(sizes), "counts": list(sizes.counts), "epochs": _epochs(sizes, data)}
    return {"data": data, "repeat": repeat, **given, **how, "prior of": prior}


def _epochs(sizes: Sizes, data: str) -> int:
    return sizes.epochs.get(data, sizes.epochs["else"])


def _maker(out: Path, data: str, repeat: int, sizes: Sizes) -> Callable[[int], dict[str, Any]]:
    """What makes one cell."""

    def make(seed: int) -> dict[str, Any]:
        everything = wn.open(data)
        where = seeds.stream(seed, "pool").permutation(len(everything))
        pool = everything.at(everything.order[where[: sizes.pool]])
        rest = everything.at(everything.order[where[sizes.pool : sizes.pool + sizes.prior]])
        tests = wn.open(data, split="test", limit=sizes.tests)
        prior = resnet20() if data == "cifar10" else lenet(rest, seed)
        how: dict[str, Any] = {"mean": prior.mean, "std": prior.std}
        soft = wn.relabel.soft_labels(pool, prior.network, temperature=TEMPERATURE, prior_seconds=prior.seconds, **how)
        signals = wn.embed(pool, prior.network, **how)
        grey = pool.shape[0] == 1
        student = "lenet5" if grey else wn.models.build("convnet", classes=10, shape=pool.shape, width=sizes.width)
        study = wn.evaluate(
            pool,
            chosen(signals, sizes.counts, seed),
            test=tests,
            model=student,
            recipe=wn.Recipe(epochs=_epochs(sizes, data), batch=BATCH, lr=RATE),
            seeds=[repeat],
            match_iterations=1.0,
            soft=soft,
            random=False,  # drawn here, equally many of each class as the others
            same_steps=False,
            seed=seed,
            out=out / "evaluate" / f"{Path(data).name}-{sizes.pool}-{repeat}",
            engine=Local(workers=1),
        )
        right = wn.relabel.soft_labels(tests, prior.network, **how).agreement(tests)
        return {
            "prior": right,
            "agreement": soft.agreement(pool),
            "certain": float(soft.values.max(1).mean()),
            "prior_s": prior.seconds,
            "labels_s": soft.seconds,
            "full": _only(study, "full"),
            "arms": {
                f"{choice} {count}": [_only(study, f"{kind}{choice} {count}") for kind in ("", "soft ")]
                for choice in CHOICES
                for count in sizes.counts
            },
        }

    return make


def chosen(signals: wn.Signals, counts: Sequence[int], seed: int) -> dict[str, wn.Subset]:
    """So many images of each class, by each choice."""
    classes = len(signals.classes)

    def subset(choice: str, count: int) -> wn.Subset:
        name = "random" if choice == "drawn" else choice
        return wn.select(name, signals, size=count * classes, balance=1.0, seed=seed)

    return {f"{choice} {count}": subset(choice, count) for choice in CHOICES for count in counts}


def resnet20() -> Prior:
    """The CIFAR-10 classifier whose weights lie in `WINNOW_DATA`; it has seen the labels of this data."""
    folder = Path(os.environ.get("WINNOW_DATA", ".")) / "weights"
    file = next(folder.glob("**/cifar10-resnet20*.safetensors"), None)
    if file is None:
        raise SystemExit("this part needs weights/cifar10-resnet20 in the folder that WINNOW_DATA names")
    network = wn.models.build("resnet20", classes=10, shape=(3, 32, 32), weights=file).eval()
    return Prior(network, IMAGENET_MEAN, IMAGENET_STD, 0.0)


def lenet(source: wn.Source, seed: int) -> Prior:
    """A small classifier trained on images that are not in the pool."""
    network = wn.models.build("auto", classes=len(source.classes), shape=source.shape, seed=seed)
    recipe = wn.Recipe(epochs=PRIOR_EPOCHS, batch=PRIOR_BATCH, lr=PRIOR_RATE)
    start = time.perf_counter()
    scaling = Scaling.of(source)
    train(network, Feed(source, scaling), recipe, seeds.number(seed, "prior"))
    mean_, std = (tuple(value.flatten().tolist()) for value in (scaling.mean, scaling.std))
    return Prior(network, mean_, std, time.perf_counter() - start)


def _only(study: wn.Study, arm: str) -> float:
    """The accuracy of an arm's one seed."""
    (outcome,) = study.of(arm).values()
    return outcome.value
