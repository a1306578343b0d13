"""Subset: which examples to train on, with what weight, what is known about it and where it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import checks
from ..errors import InputError
from ..seeds import stream
from ..store import fingerprint
from .parquet import read_table, write_table
from .provenance import Provenance, plain
from .source import Source

if TYPE_CHECKING:
    import torch.utils.data

__all__ = ["Subset", "WeightedSampler"]


@dataclass(frozen=True, eq=False, repr=False)
class Subset:
    """A smaller training set.

    Ids are kept sorted, so that equal subsets are equal files, whatever the order of the source.

    Parameters
    ----------
    ids
        Ids of the kept examples.
    weights
        How much each counts in training; all ones unless given.
    certificate
        What is guaranteed or was measured about this subset, in JSON-like values.
    provenance
        Where it came from.
    """

    ids: NDArray[Any]
    weights: NDArray[np.float64] = None  # type: ignore[assignment]  # None is all ones; never None once built
    certificate: Mapping[str, Any] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=dict)

    def __post_init__(self) -> None:
        ids = checks.ids("subset", self.ids)
        given = np.ones(ids.size) if self.weights is None else self.weights
        weights = checks.weights("subset", given, ids.size)
        order = np.argsort(ids, kind="stable")
        object.__setattr__(self, "ids", checks.frozen(ids[order], copy=False))
        object.__setattr__(self, "weights", checks.frozen(weights[order], copy=False))
        object.__setattr__(self, "certificate", plain(self.certificate))
        object.__setattr__(self, "provenance", plain(self.provenance))

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        return f"Subset({len(self)} examples{', weighted' if self.weighted else ''})"

    @property
    def weighted(self) -> bool:
        """Whether the examples count unequally."""
        return bool(np.ptp(self.weights) > 0)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of ids and weights."""
        return fingerprint("\n".join(map(str, self.ids.tolist())).encode(), self.weights.tobytes())

    def indices(self, source: Source) -> NDArray[np.int64]:
        """Positions of the kept examples in `source`, in the order of `ids`."""
        if not isinstance(source, Source):
            raise InputError(
                f"source of Subset.indices must be a Source (open it with wn.open); got {type(source).__name__}."
            )
        return source.positions(self.ids)

    def to_torch(self, dataset: Any, source: Source | None = None) -> torch.utils.data.Subset[Any]:
        """The kept part of a torch map-style dataset.

        Parameters
        ----------
        dataset
            The dataset, or a Source.
        source
            The source this subset was chosen from, if `dataset` holds the same examples in the same
            order but was not itself opened by winnow. Without it, ids must be positions.
        """
        import torch.utils.data

        if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
            raise InputError(
                "dataset of Subset.to_torch must be map-style, with len() and [position]; "
                f"got {type(dataset).__name__}."
            )
        whole = dataset if isinstance(dataset, Source) else source
        where = self.indices(whole) if whole is not None else self._as_positions()
        expected = len(dataset) if whole is None else len(whole)
        if len(dataset) != expected:
            raise InputError(
                f"dataset of Subset.to_torch must have the {expected} examples of the source; it has {len(dataset)}."
            )
        beyond = where[(where < 0) | (where >= expected)]
        if beyond.size:
            raise InputError(
                f"dataset of Subset.to_torch has {expected} examples; the subset names position {beyond[0]}."
            )
        return torch.utils.data.Subset(dataset, where.tolist())

    def _as_positions(self) -> NDArray[np.int64]:
        """The ids, if they are positions: whole numbers that nobody gave a meaning of their own."""
        made = sorted(set(_id_kinds(self.provenance)) - {"positions"})
        if self.ids.dtype.kind != "i" or made:
            kind = f"come from {made[0]}" if made else f"are names such as {str(self.ids[0])!r}"
            raise InputError(
                f"Subset.to_torch needs source= to find the examples in a torch dataset, for the ids {kind}; pass "
                "the source the subset was chosen from."
            )
        return self.ids

    def sampler(self, seed: int = 0) -> WeightedSampler:
        """A seeded, resumable sampler over `to_torch(...)`: shuffles, or draws by weight if weighted."""
        return WeightedSampler(self.weights, seed)

    def save(self, path: str | Path) -> Path:
        """Write a parquet file with columns `id` and `weight`."""
        write_table(
            path,
            "subset",
            {"id": self.ids, "weight": self.weights},
            {"certificate": dict(self.certificate), "provenance": dict(self.provenance)},
        )
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Subset:
        """Read what `save` wrote."""
        columns, about = read_table(path, "subset")
        return cls(
            ids=columns["id"],
            weights=columns["weight"],
            certificate=about["certificate"],
            provenance=about["provenance"],
        )


def _id_kinds(value: Any) -> Iterator[str]:
    """What every source in a provenance says its ids were made from."""
    if isinstance(value, Mapping):
        origin = value.get("origin")
        if isinstance(origin, Mapping) and isinstance(origin.get("ids"), str):
            yield origin["ids"]
        for item in value.values():
            yield from _id_kinds(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _id_kinds(item)


class WeightedSampler:
    """Positions within a subset, one epoch an iteration, the same for the same seed and epoch.

    Equal weights give a fresh shuffle each epoch; unequal weights give as many draws with replacement,
    in proportion to weight. `state_dict` remembers the epoch and how many positions were handed out (a loader that
    fetches ahead has asked for more than it has given on); the iteration after `load_state_dict` goes on there.
    """

    def __init__(self, weights: NDArray[np.float64], seed: int = 0) -> None:
        self._weights = np.asarray(weights, dtype=np.float64)
        self._seed = checks.integer("seed", "sampler", seed, low=0)
        self._epoch = 0
        self._drawn = 0
        self._start = 0  # where the next epoch begins: beyond 0 only just after load_state_dict

    def __len__(self) -> int:
        return int(self._weights.size)

    def __iter__(self) -> Iterator[int]:
        rng = stream(self._seed, "sampler", self._epoch)
        n = self._weights.size
        if np.ptp(self._weights) > 0:
            order = rng.choice(n, size=n, replace=True, p=self._weights / self._weights.sum())
        else:
            order = rng.permutation(n)
        self._drawn, self._start = self._start, 0
        for position in order[self._drawn :]:
            self._drawn += 1
            yield int(position)
        self._epoch += 1
        self._drawn = 0

    def state_dict(self) -> dict[str, int]:
        """Where the sampler is."""
        return {"seed": self._seed, "epoch": self._epoch, "drawn": self._drawn}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on where another sampler was."""
        self._seed, self._epoch = state["seed"], state["epoch"]
        self._drawn = self._start = state["drawn"]
