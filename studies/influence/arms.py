"""The subsets that Figs. 1, 3 and 4 compare: one draw and one observed training a repeat, every method from it.

A repeat draws as many images of each class, trains one network on them and watches it, and lets every method choose:

    random            every image as likely as another of its class
    herding           class means of the embeddings are followed
    forgetting, grand, el2n, influence_norm   the highest, that is the hardest, are kept
    influence         ours: the removed set's influence vectors cancel (Eq. 4)

All of them keep the same number of each class. For a score that is its highest of each class; influence solves the
classes together, each with its share. Scores come from one network, where their authors average several, and so do
embeddings: no method sees more than another. All are charged the whole observation, though EL2N and GraNd could stop
it after an epoch. What a repeat chose is kept beside the parts, so that all of them train on the same sets.

Sizes were set by the time of one training, before any accuracy was seen. The learning rate and the batch are those
that the lpNTK study chose for LeNet-5, on examples held out of the training split.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import winnow as wn
from winnow.core import seeds
from winnow.engines import Local

from ..parts import Asked
from ..shelf import Shelf

METHODS = ("random", "herding", "forgetting", "grand", "el2n", "influence_norm", "influence")
SCORES = ("forgetting", "grand", "el2n", "influence_norm")
NAMES = {"grand": "GraNd", "el2n": "EL2N", "influence_norm": "influence score", "influence": "influence (ours)"}
KEPT = (0.6, 0.4, 0.2)  # the paper prunes less, its headline 40 %
BATCH, RATE = 32, 3e-3  # AdamW; the paper: SGD, batch 128, 0.01
TRAINED = f"Batch {BATCH}, AdamW at {RATE:g} falling to zero; all of the test split."
MATCHED = 0.0  # the same epochs on every set, as in the paper
DAMPING = 0.01


@dataclass(frozen=True)
class Sizes:
    """Images drawn, epochs observed and trained, the test limit, and two networks as name and width.

    The first chooses and is retrained, the second is only retrained, for Fig. 3. The paper: 50,000 images, 200 epochs,
    ResNet-50 for both; for Fig. 3 a net of 1.25 million weights chooses for ResNet-18 and ResNet-50.
    """

    images: int
    observed: int
    epochs: int
    network: tuple[str, int | None]
    other: tuple[str, int | None]
    tests: int | None = None


FASHION = Sizes(8000, 8, 6, ("lenet5", None), ("convnet", 8))
CIFAR = Sizes(5000, 8, 6, ("convnet", 8), ("convnet", 16))
QUICK = Sizes(160, 2, 1, ("lenet5", None), ("convnet", 2), 50)


@dataclass(frozen=True)
class Drawn:
    """What a repeat draws and chooses.

    Attributes
    ----------
    source
        The images drawn.
    subsets
        By method and share kept.
    seconds
        Processor seconds of choosing: the observed training, the score and the selection, for every subset.
    heads
        What influence promises, by share kept: the predicted change of the head, and a random removal's.
    agreement
        Rank correlation of the influence norm with EL2N.
    """

    source: wn.Source
    subsets: Mapping[tuple[str, float], wn.Subset]
    seconds: Mapping[tuple[str, float], float]
    heads: Mapping[float, tuple[float, float]]
    agreement: float


def sizes_of(data: str, quick: bool) -> Sizes:
    """Sizes for a data set; those of Fashion-MNIST for any but CIFAR-10."""
    return QUICK if quick else CIFAR if data == "cifar10" else FASHION


def network(kind: tuple[str, int | None], source: wn.Source) -> Any:
    """A network by name and width, as `wn.observe` and `wn.evaluate` take it."""
    name, width = kind
    options = {} if width is None else {"width": width}
    return wn.models.build(name, classes=len(source.classes), shape=source.shape, **options)


def called(kind: tuple[str, int | None]) -> str:
    """A network in words."""
    return "LeNet-5" if kind[0] == "lenet5" else f"{kind[0]} of width {kind[1]}"


def recipe(epochs: int) -> wn.Recipe:
    """How everything is trained."""
    return wn.Recipe(epochs=epochs, batch=BATCH, lr=RATE)


def settings(data: str, repeat: int, sizes: Sizes, **more: Any) -> dict[str, Any]:
    """Everything that decides what a repeat draws, chooses and trains."""
    how = {"kept": list(KEPT), "batch": BATCH, "rate": RATE, "matched": MATCHED, "damping": DAMPING}
    return {"data": data, "repeat": repeat, **asdict(sizes), **how, **more}


def chosen(asked: Asked, data: str, repeat: int) -> Drawn:
    """What a repeat draws and chooses, made once for all parts."""
    sizes = sizes_of(data, asked.quick)
    about = settings(data, repeat, sizes, methods=METHODS)
    del about["epochs"], about["other"], about["tests"], about["matched"]
    shelf = Shelf(asked.out.parent / "chosen", "influence chosen")
    kept = shelf.keep("subsets", about, lambda seed: _choose(data, sizes, seed))
    pool = wn.open(data)
    source = pool.at(np.array(kept["places"]))
    subsets, seconds = {}, {}
    for method in METHODS:
        for share in KEPT:
            one = kept["arms"][method][f"{share:g}"]
            subsets[method, share] = wn.Subset(source.ids[np.array(one["kept"])])
            seconds[method, share] = one["seconds"]
    heads = {share: tuple(kept["heads"][f"{share:g}"]) for share in KEPT}
    return Drawn(source, subsets, seconds, heads, kept["agreement"])


def places(pool: wn.Source, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Where to find as many images of each class, drawn at random."""
    each = size // len(pool.classes)
    labels = np.asarray(pool.labels)
    drawn = [rng.choice(np.flatnonzero(labels == c), each, replace=False) for c in range(len(pool.classes))]
    return np.sort(np.concatenate(drawn))


def _choose(data: str, sizes: Sizes, seed: int) -> dict[str, Any]:
    warm()
    pool = wn.open(data)
    where = places(pool, sizes.images, seeds.stream(seed, "draw"))
    source = pool.at(where)
    look = {"recipe": recipe(sizes.observed), "seeds": 1, "want": ("logits", "embeddings", "gradient_norms")}
    watch, engine = Watch(), Local(workers=1)
    signals = wn.observe(source, network(sizes.network, source), **look, seed=seed, engine=engine)
    observed = watch.read()
    scored = {name: (wn.score(name, signals), watch.read()) for name in SCORES}
    arms: dict[str, dict[str, Any]] = {}
    heads = {}
    for method in METHODS:
        for share in KEPT:
            watch.read()
            subset = _subset(method, signals, scored, share, seed)
            spent = watch.read() + (0.0 if method == "random" else observed)
            if method in SCORES:
                spent += scored[method][1]
            kept = subset.indices(source).tolist()
            arms.setdefault(method, {})[f"{share:g}"] = {"kept": kept, "seconds": spent}
            if method == "influence":
                heads[f"{share:g}"] = [subset.certificate["corrected"], subset.certificate["random"]]
    norms, errors = (scored[name][0].values for name in ("influence_norm", "el2n"))
    agreement = float(stats.spearmanr(norms, errors).statistic)
    return {"places": where.tolist(), "arms": arms, "heads": heads, "agreement": agreement}


def _subset(method: str, signals: wn.Signals, scored: Mapping[str, Any], share: float, seed: int) -> wn.Subset:
    """A method's choice, with as many of each class."""
    if method == "influence":
        return wn.select("influence", signals, keep=share, balance=None, seed=seed, damping=DAMPING, stratify=True)
    if method in SCORES:
        return wn.select("rank", scored[method][0], keep=share, seed=seed, balance=1.0)
    # A draw of its own for each share, or one lucky draw would speak for all.
    return wn.select(method, signals, keep=share, seed=seeds.number(seed, method, f"{share:g}"), balance=1.0)


class Watch:
    """Processor seconds since it was last read."""

    def __init__(self) -> None:
        self._at = time.process_time()

    def read(self) -> float:
        """Seconds since the last reading; starts the next."""
        before, self._at = self._at, time.process_time()
        return self._at - before


@cache
def warm() -> None:
    """Compile and load before the first watch starts: no method is charged for it."""
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    made = {"embeddings": rng.normal(size=(40, 3)).astype(np.float32)}
    wn.select("influence", wn.Signals(np.arange(40), made, "classification", labels, ("a", "b")), keep=0.5, moves=10)
    network = wn.models.build("lenet5", classes=2, shape=(1, 28, 28))
    list(Local(workers=1).map(lambda net: wn.Recipe().build_optimizer(net), [network]))
