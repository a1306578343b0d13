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
from .provenance import Provenance
from .source import Source

if TYPE_CHECKING:
    import torch.utils.data

__all__ = ["Subset", "WeightedSampler"]


@dataclass(frozen=True, eq=False)
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
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    certificate: Mapping[str, Any] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=dict)

    def __post_init__(self) -> None:
        ids = checks.ids("subset", self.ids)
        given = self.weights if len(self.weights) else np.ones(ids.size)
        weights = checks.weights("subset", given, ids.size)
        order = np.argsort(ids, kind="stable")
        object.__setattr__(self, "ids", ids[order])
        object.__setattr__(self, "weights", weights[order])

    def __len__(self) -> int:
        return int(self.ids.size)

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

        if isinstance(dataset, Source):
            source = dataset
        if source is not None:
            if len(dataset) != len(source):
                raise InputError(
                    f"dataset of Subset.to_torch must have the {len(source)} examples of the source; "
                    f"it has {len(dataset)}."
                )
            where = self.indices(source)
        elif self.ids.dtype.kind == "i":
            where = self.ids
            if where[-1] >= len(dataset) or where[0] < 0:
                raise InputError(
                    f"dataset of Subset.to_torch has {len(dataset)} examples; the subset names "
                    f"position {where[-1] if where[-1] >= len(dataset) else where[0]}."
                )
        else:
            raise InputError(
                f"Subset.to_torch needs source= to find ids such as {str(self.ids[0])!r} in a torch "
                "dataset; pass the source the subset was chosen from."
            )
        return torch.utils.data.Subset(dataset, where.tolist())

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


class WeightedSampler:
    """Positions within a subset, one epoch an iteration, the same for the same seed and epoch.

    Equal weights give a fresh shuffle each epoch; unequal weights give as many draws with replacement,
    in proportion to weight. `state_dict` remembers the epoch and how far it got.
    """

    def __init__(self, weights: NDArray[np.float64], seed: int = 0) -> None:
        self._weights = np.asarray(weights, dtype=np.float64)
        self._seed = checks.integer("seed", "sampler", seed, low=0)
        self._epoch = 0
        self._drawn = 0

    def __len__(self) -> int:
        return int(self._weights.size)

    def __iter__(self) -> Iterator[int]:
        rng = stream(self._seed, "sampler", self._epoch)
        n = self._weights.size
        if np.ptp(self._weights) > 0:
            order = rng.choice(n, size=n, replace=True, p=self._weights / self._weights.sum())
        else:
            order = rng.permutation(n)
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
        self._seed, self._epoch, self._drawn = state["seed"], state["epoch"], state["drawn"]
