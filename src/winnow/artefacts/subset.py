"""Subset: which examples to train on, with weights, a certificate and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.files import fingerprint, plain
from ..core.layouts import Parquet
from ..core.serialiser import Saved
from .dataset_positions import positions_in
from .notebook_view import Shown, fact_table
from .provenance import Provenance
from .sampler import WeightedSampler
from .soft_labels import SoftLabels
from .source import Source
from .table import Table, data_frame

if TYPE_CHECKING:
    import pandas
    import torch.utils.data

__all__ = ["Arrays", "Subset", "WeightedSampler"]


class Arrays(NamedTuple):
    """A subset as scikit-learn takes it, one row per example in the order of `Subset.ids`."""

    X: NDArray[Any]
    y: NDArray[Any] | None
    sample_weight: NDArray[np.float64]


TARGETS = ("labels", "soft")
LAYOUT = Parquet({"id": "ids", "weight": "weights"}, part="targets")


@dataclass(frozen=True, eq=False, repr=False)
class Subset(Shown, Saved, kind="subset", layout=LAYOUT):
    """A smaller training set.

    Ids are sorted, so that equal subsets give equal files, whatever the order of the source.

    Parameters
    ----------
    ids
        Ids of the kept examples.
    weights
        The weight of each example in training; all ones if not given.
    certificate
        What is guaranteed or was measured for this subset, in JSON-like values.
    provenance
        Where it came from.
    targets
        Soft targets to train on beside the labels, for at least the kept examples; those of others are left out.

    Raises
    ------
    InputError
        If ids repeat, weights are negative or not finite, or a kept example has no target.

    Examples
    --------
    >>> import winnow as wn
    >>> src = wn.open(([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]), ids=["a", "b", "c", "d"])
    >>> sub = wn.Subset(["d", "a"], weights=[1.0, 3.0])
    >>> sub.indices(src).tolist()
    [0, 3]
    >>> X, y, sample_weight = sub.to_arrays(src)
    >>> X.tolist(), y.tolist(), sample_weight.tolist()
    ([[0.0], [3.0]], [0, 1], [3.0, 1.0])
    >>> len(sub.to_torch(src)), len(sub.sampler(seed=0))
    (2, 2)
    >>> path = sub.save("subset.parquet")
    >>> wn.Subset.load(path).ids.tolist()
    ['a', 'd']
    >>> soft = wn.relabel.SoftLabels(["a", "d"], [[0.75, 0.25], [0.5, 0.5]], ("0", "1"), weight=0.6)
    >>> taught = wn.Subset(["a", "d"], targets=soft)
    >>> taught
    Subset(2 examples, soft targets)
    >>> x, y, target = taught.to_torch(src, targets="soft")[0]
    >>> target.tolist()
    [0.75, 0.25]
    """

    ids: NDArray[Any]
    weights: NDArray[np.float64] = None  # type: ignore[assignment]  # None is all ones; never None once built
    certificate: Mapping[str, Any] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=dict)
    targets: SoftLabels | None = None

    def __post_init__(self) -> None:
        ids = checks.ids("subset", self.ids)
        given = np.ones(ids.size) if self.weights is None else self.weights
        weights = checks.weights("subset", given, ids.size)
        order = np.argsort(ids, kind="stable")
        object.__setattr__(self, "ids", checks.frozen(ids[order], copy=False))
        object.__setattr__(self, "weights", checks.frozen(weights[order], copy=False))
        object.__setattr__(self, "certificate", plain(self.certificate))
        object.__setattr__(self, "provenance", plain(self.provenance))
        object.__setattr__(self, "targets", _restricted(self.targets, self.ids))

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        soft = ", soft targets" if self.targets is not None else ""
        return f"Subset({len(self)} examples{', weighted' if self.weighted else ''}{soft})"

    @property
    def weighted(self) -> bool:
        """Whether the weights differ."""
        return bool(np.ptp(self.weights) > 0)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of ids and weights, and of the soft targets if there are any."""
        soft = [] if self.targets is None else [self.targets.fingerprint]
        return fingerprint("\n".join(map(str, self.ids.tolist())).encode(), self.weights.tobytes(), *soft)

    def indices(self, source: Source) -> NDArray[np.int64]:
        """Positions of the kept examples in `source`, in the order of `ids`.

        Parameters
        ----------
        source
            The source this subset was chosen from, or one that holds at least the same examples.

        Returns
        -------
        NDArray
            One position per kept example.

        Raises
        ------
        InputError
            If it is not a Source, or lacks one of the examples.
        """
        if not isinstance(source, Source):
            raise InputError(
                f"source of Subset.indices must be a Source (open it with wn.open); got {type(source).__name__}."
            )
        return source.positions(self.ids)

    def to_torch(
        self, dataset: Any, source: Source | None = None, *, targets: str = "labels"
    ) -> torch.utils.data.Subset[Any]:
        """The kept part of a torch map-style dataset.

        Parameters
        ----------
        dataset
            The dataset, or a Source.
        source
            The source this subset was chosen from, if `dataset` holds the same examples in the same order but was not
            opened by winnow. Without it, ids must be positions.
        targets
            `labels`: items as the data set gives them. `soft`: each with its soft target too, a float32 vector. An item
            `(x, y)` becomes `(x, y, soft)`; a mapping gets an entry `"soft"`. The classes are in the order of the
            source if there is one, otherwise in that of `targets.classes`.

        Returns
        -------
        torch.utils.data.Subset
            The kept examples, in the order of `ids`.

        Raises
        ------
        InputError
            If the dataset is not map-style, its length is not that of the source, it takes a source to find the
            examples, or soft targets are asked for and there are none.
        UnknownNameError
            If there are no such targets.
        """
        import torch.utils.data

        owner = "Subset.to_torch"
        checks.choice("targets", owner, targets, TARGETS)
        where = self._positions_in(owner, dataset, source).tolist()
        if targets == "labels":
            return torch.utils.data.Subset(dataset, where)
        if self.targets is None:
            raise InputError(f"targets of {owner} can be 'soft' only if the subset has soft targets; it has none.")
        from .soft_dataset import SoftDataset

        whole = dataset if isinstance(dataset, Source) else source
        soft = self.targets if whole is None else self.targets.with_classes(whole.classes)
        return SoftDataset(dataset, where, soft)

    def _positions_in(self, owner: str, dataset: Any, source: Source | None) -> NDArray[np.int64]:
        return positions_in(owner, self.ids, self.provenance, dataset, source)

    def to_arrays(self, source: Source, *, flatten: bool = True) -> Arrays:
        """Inputs, targets and weights, for the `fit(X, y, sample_weight)` of scikit-learn.

        Parameters
        ----------
        source
            The source this subset was chosen from.
        flatten
            Whether to flatten each example to one row of numbers.

        Returns
        -------
        Arrays
            Unscaled inputs, as the source reads them; class numbers or regression targets, None without labels; and the
            weights, so that an example of weight 3 counts like three copies of it.

        Raises
        ------
        InputError
            If it is not a Source, or lacks one of the examples.
        """
        where = self.indices(source)
        rows = source.read(where)
        targets = None if source.labels is None else source.labels[where]
        return Arrays(rows.reshape(len(self), -1) if flatten else rows, targets, self.weights)

    def sampler(
        self,
        seed: int = 0,
        *,
        dataset: Any = None,
        source: Source | None = None,
        draw: str = "systematic",
        num_replicas: int | None = None,
        rank: int | None = None,
        uneven: str = "keep",
    ) -> WeightedSampler:
        """A seeded, resumable sampler that shuffles, or draws by weight if weighted, for one or several processes.

        Use it with `to_torch(...)`, or, if made with `dataset` or `source`, with the full data set. Used with anything
        else it returns the wrong examples.

        Parameters
        ----------
        seed
            Decides every epoch.
        dataset
            The full data set that the loader reads, if it is not `to_torch(...)`; positions then refer to it.
        source
            The source this subset was chosen from: what the loader reads or, with `dataset`, as in `to_torch`.
        draw
            `systematic`: the draws of each example per epoch follow its weight, rounded down or up, and exactly on
            average. `independent`: all draws are independent.
        num_replicas, rank, uneven
            See `WeightedSampler`.

        Returns
        -------
        WeightedSampler
            Positions, one epoch per iteration.

        Raises
        ------
        InputError
            If an argument is out of range, or the examples are not found in the full data set.
        """
        whole = source if dataset is None else dataset
        return WeightedSampler(
            self.weights,
            seed,
            positions=None if whole is None else self._positions_in("Subset.sampler", whole, source),
            draw=draw,
            num_replicas=num_replicas,
            rank=rank,
            uneven=uneven,
        )

    def _view(self) -> Table:
        low, high = float(self.weights.min()), float(self.weights.max())
        weights = {"weights": f"{low:.4g} to {high:.4g}"} if self.weighted else {}
        soft = {} if self.targets is None else {"share of soft targets in the loss": self.targets.weight}
        return fact_table({"examples": len(self), **weights, **soft, **self.certificate})

    def to_pandas(self) -> pandas.DataFrame:
        """One row per kept example: `id` and `weight`."""
        return data_frame({"id": self.ids, "weight": self.weights})


def _restricted(targets: object, ids: NDArray[Any]) -> SoftLabels | None:
    """The targets of the kept examples, in their order."""
    if targets is None:
        return None
    if not isinstance(targets, SoftLabels):
        raise InputError(f"targets of subset must be SoftLabels; got {type(targets).__name__}.")
    if np.array_equal(targets.ids, ids):
        return targets
    try:
        return targets.take(ids)
    except InputError as error:
        raise InputError(f"targets of subset must have every kept example: {error}") from None
