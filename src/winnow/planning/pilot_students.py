"""Students of the pilot: they are trained on part of a pool and tested on held-out examples.

LinearStudent     logistic regression on principal components of the inputs or of an embedding, in seconds
NetworkStudent    the user's own network and recipe, trained by winnow's training loop
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals, SoftLabels, Source
from ..core.errors import DivergedError, NotDefinedError
from ..core.files import fingerprint
from ..core.seeds import number as seed_number
from ..models import build
from ..models.identity import describe as describe_model
from ..models.identity import network_code
from ..models.projection import SparseProjection
from ..signals.text_rows import text_rows
from ..training import Feed, Recipe, Scaling, predict, train

__all__ = ["LinearStudent", "NetworkStudent", "PoolPart", "Student", "labels_of", "linear"]

COMPONENTS = 128  # of the inputs, for the linear student
WIDE = 4096  # longer inputs are randomly projected before the components are computed
LOOSE = 10.0  # inverse penalty of the linear student: close to the maximum margin of the theory's student
ROUNDS = 1000  # most iterations of the linear student


@dataclass(frozen=True, eq=False)
class PoolPart:
    """The examples of one training: their positions in the pool, and weights and soft targets if there are any."""

    where: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None
    soft: SoftLabels | None = None

    @property
    def key(self) -> list[object]:
        """What identifies it."""
        weights = None if self.weights is None else fingerprint(self.weights.tobytes())
        soft = None if self.soft is None else [self.soft.fingerprint, self.soft.weight]
        return [fingerprint(self.where.tobytes()), *([] if weights is None and soft is None else [weights, soft])]


class Student(Protocol):
    """Anything that can be trained on part of the pool and evaluated on the held-out part."""

    @property
    def pool(self) -> Source:
        """The examples it may be trained on, sorted by id."""
        ...

    @property
    def held(self) -> Source:
        """The held-out examples, sorted by id."""
        ...

    @property
    def varies(self) -> bool:
        """Whether two trainings on the same examples differ."""
        ...

    @property
    def key(self) -> object:
        """What its results depend on beyond the examples trained on."""
        ...

    def learn(self, part: PoolPart, seed: int) -> tuple[int, float, NDArray[Any]]:
        """Train on a part of the pool; return steps, seconds, and logits of the held-out part."""
        ...


@dataclass(frozen=True, eq=False)
class LinearStudent:
    """Multinomial logistic regression on standardised components; convex, so the seed has no effect."""

    pool: Source
    held: Source
    pool_features: NDArray[np.float64]
    held_features: NDArray[np.float64]
    varies: bool = False

    @cached_property
    def key(self) -> object:
        """What its results depend on beyond the examples trained on."""
        return [self.pool.fingerprint, fingerprint(self.pool_features.tobytes(), self.held_features.tobytes()), LOOSE]

    def learn(self, part: PoolPart, seed: int) -> tuple[int, float, NDArray[Any]]:
        """Fit to the labels of a part; a class without training examples is never predicted."""
        import warnings

        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits

        start = time.perf_counter()
        where = part.where
        labels = labels_of(self.pool)[where]
        seen = np.unique(labels)
        given = np.full((len(self.held), len(self.pool.classes)), -1e6)
        if seen.size == 1:
            given[:, seen] = 0.0
        else:
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # on separable data the weights grow forever
                fitted = LogisticRegression(C=LOOSE, max_iter=ROUNDS).fit(self.pool_features[where], labels)
                logits = fitted.decision_function(self.held_features)
                given[:, seen] = np.stack([-logits, logits], 1) / 2 if seen.size == 2 else logits
        return 0, time.perf_counter() - start, given


@dataclass(frozen=True, eq=False)
class NetworkStudent:
    """The user's own network and recipe; a part is trained as a proof would train a subset of that size.

    So the pilot's learning curve is the one a proof would measure, and the full data lies further along the same curve.
    """

    pool: Source
    held: Source
    model: Any
    recipe: Recipe
    match_iterations: float
    full: int  # number of examples of the whole source, for matched steps
    seed: int
    varies: bool = True

    @cached_property
    def key(self) -> object:
        """What its results depend on beyond the examples trained on."""
        return [
            self.pool.fingerprint,
            self.held.fingerprint,
            describe_model(self.model),
            network_code(self.model),
            self.recipe.settings(),
            self.match_iterations,
            self.full,
            self.seed,
        ]

    def learn(self, part: PoolPart, seed: int) -> tuple[int, float, NDArray[Any]]:
        """Train one new network; all trainings with the same seed start from the same weights."""
        where, weights, soft = part.where, part.weights, part.soft
        examples = self.pool.at(where)
        feed = Feed(examples, Scaling.of(examples, weights))
        first = seed_number(self.seed, "pilot", "init", seed)
        model = build(self.model, classes=self.pool.outputs, shape=self.pool.shape, kind=self.pool.kind, seed=first)
        steps = self.recipe.matched_steps(where.size, self.full, self.match_iterations)
        number = seed_number(self.seed, "pilot", "training", seed)
        how: dict[str, Any] = {} if soft is None else {"soft": soft.at(feed.ids), "soft_weight": soft.weight}
        done = train(model, feed, self.recipe, number, weights=weights, steps=steps, **how)
        given = predict(model, Feed(self.held, feed.scaling), self.recipe)
        if not np.isfinite(given).all():
            raise DivergedError("a pilot training gives NaN or infinite outputs; lower lr of Recipe.")
        return done.steps, done.seconds, given


def linear(pool: Source, held: Source, embeddings: Signals | None, seed: int) -> LinearStudent:
    """The linear student, with components computed on the pool only."""
    from threadpoolctl import threadpool_limits

    if embeddings is None and pool.kind == "text":
        tables = [text_rows(part, seed).astype(np.float64) for part in (pool, held)]
    elif embeddings is None:
        feed = Feed(pool)
        tables = [_flat(part, seed) for part in (feed, Feed(held, feed.scaling))]
    else:
        tables = [embeddings.take(part.ids).embeddings.astype(np.float64) for part in (pool, held)]
    mean = tables[0].mean(0)
    tables = [table - mean for table in tables]
    with threadpool_limits(1):  # sums split over threads round differently
        if tables[0].shape[1] > COMPONENTS:
            _, vectors = np.linalg.eigh(tables[0].T @ tables[0])
            tables = [table @ vectors[:, -COMPONENTS:] for table in tables]
    spread = tables[0].std(0)
    live = spread > 1e-6 * spread.max(initial=0.0)  # the rest is rounding error, which scaling would amplify
    live = live if live.any() else np.ones_like(live)
    scale = np.where(spread[live] > 0, spread[live], 1.0)
    return LinearStudent(pool, held, tables[0][:, live] / scale, tables[1][:, live] / scale)


def _flat(feed: Feed, seed: int) -> NDArray[np.float64]:
    """Scaled inputs, one row per example, randomly projected if they are too long for principal components."""
    import torch

    length = int(np.prod(feed.source.shape))
    sketch = SparseProjection(length, WIDE, seed) if length > WIDE else None
    rows = []
    for start in range(0, len(feed), 256):
        x = feed.inputs(np.arange(start, min(start + 256, len(feed)))).flatten(1)
        if sketch is not None:
            out = torch.zeros(len(x), WIDE)
            sketch.add(out, x, 0)
            x = out
        rows.append(x.numpy().astype(np.float64))
    return np.concatenate(rows)


def labels_of(source: Source) -> NDArray[np.int64]:
    """Class numbers of a labelled source."""
    if source.labels is None:
        raise NotDefinedError(f"a pilot needs labels, and source {source.name!r} has none.")
    return np.asarray(source.labels)
