"""Fig. 4a: how well does a linear map take one model's representation to another's?

The paper's assumption is that representations of well-trained models go over into each other linearly, and it finds
that those of strong models predict those of weak ones better than the other way round. Here five representations of the
same CIFAR-10 images, from weak to strong by what a linear probe reads from them: raw pixels, the untrained student,
EfficientNet-Lite0 (from ImageNet), ResNet-20 and ResNet-56 (trained on CIFAR-10). The distance is 1 - R^2 of a ridge
regression on held-out images; the printed 0-1 loss is degenerate for real vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from winnow.artefacts.intervals import difference
from winnow.core.files import atomic

from ..comparing import claimed, signed
from ..parts import Asked, Part, interval
from . import priors
from .trainings import CALLED, OWN, PRIORS, QUICK, Sizes, beginner, drawn

DATA = "cifar10"
PIXELS = "pixels"
MODELS = (PIXELS, OWN, "efficientnet", "resnet20", "resnet56")  # from weak to strong
NAMES = {PIXELS: "raw pixels", OWN: "untrained student", **{name: CALLED[name] for name in MODELS[2:]}}
IMAGES, ROWS = 3_000, 2_000
Found = Mapping[str, float]


def run(asked: Asked) -> Part:
    """Distances between all pairs, both ways."""
    known = MODELS[:2] if asked.quick else MODELS
    images, rows = (60, 40) if asked.quick else (IMAGES, ROWS)
    data = asked.data[0] if asked.quick else DATA
    found = [
        asked.shelf.keep(
            "distances",
            {"data": data, "models": known, "images": images, "rows": rows, "repeat": repeat, "side": priors.SIDE},
            lambda _, repeat=repeat: measured(asked, data, known, images, rows, repeat),
        )
        for repeat in range(asked.seeds)
    ]
    settings = (
        f"{data}: {images:,} training images, of which each of {asked.seeds} repeats draws {rows:,} and holds a fifth "
        "out; 1 - R^2 of a ridge regression; ± is half a 95 % interval over repeats, which share images."
    )
    return Part("distances", settings, table(found, known), verdict(found, known))


def measured(asked: Asked, data: str, known: Sequence[str], images: int, rows: int, repeat: int) -> dict[str, float]:
    """Distances of one draw of the images."""
    made = {name: represented(asked, data, name, images) for name in known}
    rng = np.random.default_rng([repeat, images])
    some = np.sort(rng.choice(images, rows, replace=False))
    return {
        f"{a} to {b}": float(wn.relabel.representation_distance(made[a][some], made[b][some], seed=repeat))
        for a, b in permutations(known, 2)
    }


def represented(asked: Asked, data: str, name: str, images: int) -> Any:
    """One model's representation of the first images of the first seed's draw; kept, since it is the dear part."""
    file = Path(asked.out) / "representations" / f"{name.replace(' ', '-')}-{images}.npy"
    if not file.exists():
        sizes = QUICK if asked.quick else Sizes()
        source = drawn(data, sizes, 0)[0]
        source = source.at(np.arange(images))
        if name == PIXELS:
            values = source.read(np.arange(images)).reshape(images, -1) / 255.0
        else:
            how = {} if name == OWN else {"mean": priors.IMAGENET_MEAN, "std": priors.IMAGENET_STD}
            module = beginner(data, sizes, 0) if name == OWN else PRIORS[name]()
            values = np.asarray(wn.embed(source, module, "", **how).embeddings)
        with atomic(file) as part, part.open("wb") as stream:
            np.save(stream, np.asarray(values, dtype=np.float32))
    return np.load(file)


def values(found: Sequence[Found], a: str, b: str) -> list[float]:
    """One distance per repeat."""
    return [one[f"{a} to {b}"] for one in found]


def table(found: Sequence[Found], known: Sequence[str]) -> list[str]:
    """Distances from the rows' representations to the columns'."""
    lines = ["| from, to | " + " | ".join(NAMES[name] for name in known) + " |", "|---" * (len(known) + 1) + "|"]
    for a in known:
        cells = ["" if a == b else interval(values(found, a, b)) for b in known]
        lines.append(f"| {NAMES[a]} | " + " | ".join(cells) + " |")
    return lines


def verdict(found: Sequence[Found], known: Sequence[str]) -> list[str]:
    """Whether strong models predict weak ones better than the other way round."""
    lines = ["Claim: the representation of a strong model predicts that of a weak one better than the other way round."]
    told: dict[str, list[str]] = {}
    for i, weak in enumerate(known):
        for strong in known[i + 1 :]:
            gap = difference(np.array(values(found, weak, strong)), np.array(values(found, strong, weak)))
            told.setdefault(claimed(gap), []).append(f"{NAMES[strong]} and {NAMES[weak]} ({signed(gap)})")
    lines += [
        f"{word}, by the distance from weak to strong less that back: {'; '.join(p)}." for word, p in told.items()
    ]
    best = {b: min((a for a in known if a != b), key=lambda a, b=b: float(np.mean(values(found, a, b)))) for b in known}
    lines.append("Nearest to each: " + "; ".join(f"{NAMES[b]} from {NAMES[a]}" for b, a in best.items()) + ".")
    return lines
