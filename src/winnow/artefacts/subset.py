"""Subset: which examples to train on, with weights, a certificate and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.files import fingerprint, plain
from ..core.layouts import SHARD, Parquet
from ..core.serialiser import Saved
from .canonical_bytes import array_bytes, id_bytes
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
LAYOUT = Parquet({"id": "ids", "weight": "weights"}, part="targets", shard=SHARD)


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
        return (
            f"Subset({len(self)} example{'s' if len(self) != 1 else ''}{', weighted' if self.weighted else ''}{soft})"
        )

    @property
    def weighted(self) -> bool:
        """Whether the weights differ."""
        return bool(np.ptp(self.weights) > 0)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of ids and weights, and of the soft targets if there are any."""
        soft = [] if self.targets is None else [self.targets.fingerprint]
        order = np.arange(len(self))
        return fingerprint(id_bytes(self.ids, order), array_bytes(self.weights, order), *soft)

    def indices(self, source: Any, **opening: Any) -> NDArray[np.int64]:
        """Positions of the kept examples in your own data, in the order of `ids`.

        Parameters
        ----------
        source
            The data this subset was chosen from, or data that hold at least the same examples: a Source, or anything
            that `wn.open` takes, such as a frame, an HF or torch dataset, a list, arrays or a path.
        **opening
            Keywords of `wn.open`, if they are not those that the data were opened with, or were arrays (`ids=`).

        Returns
        -------
        NDArray
            One position per kept example.

        Raises
        ------
        InputError
            If it cannot be opened, or lacks one of the examples.
        """
        if isinstance(source, Source) and not opening:
            return source.positions(self.ids)
        from ..sources.own_rows import kept_positions

        return kept_positions(self, source, "Subset.indices", opening)

    def filter(self, source: Any, **opening: Any) -> Any:
        """The kept rows of your own object, as an object of the same kind, in the order of the object.

        Parameters
        ----------
        source
            A frame of pandas, polars or arrow, an HF dataset, a list, an array or tensor, `(X, y)` of these, a torch
            map-style dataset or a Source, with at least the kept examples.
        **opening
            As for `indices`.

        Returns
        -------
        Any
            The same kind of object; a `torch.utils.data.Subset` of a torch dataset.

        Raises
        ------
        InputError
            If it is not such an object, or lacks one of the examples.

        Examples
        --------
        >>> import winnow as wn
        >>> wn.Subset([0, 2]).filter(wn.open([[0.0], [1.0], [2.0]], ids=[0, 1, 2])).ids.tolist()
        [0, 2]
        """
        from ..sources.own_rows import kept_positions, only

        return only(source, np.sort(kept_positions(self, source, "Subset.filter", opening)), "Subset.filter")

    def export(
        self,
        path: str | Path | None,
        source: Any = None,
        format: str | None = None,
        *,
        copy: bool = False,
        **opening: Any,
    ) -> Any:
        """Write what is kept in the format the data came in, whole or not at all.

        Every column of a table is kept, whether winnow reads it or not, and rows stay in the order of the data. Weights
        that are not all one are a column `winnow_weight`; soft targets are a column `winnow_soft` of lists, or one
        column per class in CSV. A folder has them in a file `winnow.csv`.

        Parameters
        ----------
        path
            Where to write; its ending is the format: `.csv`, `.tsv`, `.jsonl` (also with `.gz`), `.parquet`, `.npz`,
            `.npy`, `.tar` (WebDataset). A path without an ending is a folder of images or texts, or an HF dataset. None
            returns the rows of a frame or HF dataset in memory, with the columns added.
        source
            The data this subset was chosen from: anything that `wn.open` takes. If not given, the path or name that the
            provenance names.
        format
            The format, if the ending does not say it: `folder`, `hf`, `csv`, `tsv`, `jsonl`, `parquet`, `npz`, `npy` or
            `webdataset`.
        copy
            Whether files of a folder are copied; otherwise they are linked.
        **opening
            As for `indices`.

        Returns
        -------
        Path
            Where it was written; the rows themselves if `path` is None.

        Raises
        ------
        InputError
            If the data cannot be written in that format, lack one of the examples, or would be overwritten.
        StoreError
            If nothing can be written there.

        Examples
        --------
        >>> import winnow as wn
        >>> sub = wn.prune("digits", keep=0.1, method="random", limit=100)
        >>> sub.export("kept.npz").name, len(wn.open("kept.npz"))
        ('kept.npz', 10)
        """
        from ..sources.export import export

        return export(self, path, source, format, copy, opening)

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
