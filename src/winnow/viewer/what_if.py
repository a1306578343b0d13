"""What if: which examples another fraction, method or balance would keep, by an order and quota arithmetic alone.

A method is instant here if its smaller answers are part of its larger ones: the order that `prune` stored, any score
from its hardest or its easiest example on (selector `rank`), and random draws. With quotas, the floor of each class is
filled from the order first, and the rest from the whole order, as `selectors/balance.py` does it. Other methods are
computed anew by the library, see `recompute`.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.quotas import floors
from ..core.errors import InputError
from ..core.seeds import drawn_first, uniforms
from .example_table import ExampleTable, Mask, Rows
from .run_contents import CHOSEN

__all__ = ["Choice", "Orders", "WhatIf"]

KEPT = 8


@dataclass(frozen=True)
class Choice:
    """One side of a comparison: a method with its fraction and balance, or a subset of the run by name."""

    method: str
    keep: float = 0.5
    balance: float | None = None

    @classmethod
    def read(cls, text: str) -> Choice:
        """A choice from JSON; raises one sentence for anything else."""
        try:
            given = json.loads(text)
            share = given.get("balance")
            made = cls(str(given["method"]), float(given.get("keep", 0.5)), None if share is None else float(share))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            raise InputError("a choice must be a JSON object with method, keep and balance.") from None
        if not 0 < made.keep <= 1 or not 0 <= (made.balance or 0) <= 1:
            raise InputError("keep of a choice must be in (0, 1], and balance in [0, 1].")
        return made


class Orders:
    """The orders of a run, and what each keeps at any size.

    Whatever the quotas, a method keeps the first examples of each class in its own order, so a choice is one count per
    class. Arrays that say something about every example are grouped by class (`grouping`), where counting is a slice.
    """

    def __init__(self, table: ExampleTable, seed: int = 0) -> None:
        self.table, self.seed = table, seed
        self.total = int(np.count_nonzero(table.observed))
        labels = np.zeros(table.n, dtype=np.int32) if table.labels is None else table.labels
        self.grouping: Rows = np.argsort(labels, kind="stable").astype(np.int32)
        sizes = np.bincount(labels, minlength=max(1, len(table.source.classes) if table.labels is not None else 1))
        ends = np.cumsum(sizes).tolist()
        self.groups = [slice(end - size, end) for end, size in zip(ends, sizes.tolist(), strict=True)]
        self._labels = labels
        self._orders: dict[str, Rows] = {}
        self._ranks: dict[str, list[Rows]] = {}
        self._places: dict[str, Rows] = {}
        self._masks: OrderedDict[Choice, Mask] = OrderedDict()
        self._subsets: dict[str, Mask] = {}
        self._lock = threading.Lock()  # requests come from several threads

    def methods(self) -> list[dict[str, Any]]:
        """Every method that is instant, and every subset of the run."""
        run = self.table.run
        found = [] if run.order is None else [{"name": CHOSEN, "said": f"{run.order.method}, the order of this run"}]
        scores = [one.name for one in run.scores]
        found += [{"name": f"{one}+hard", "said": f"{one}, hardest first"} for one in scores]
        found += [{"name": f"{one}+easy", "said": f"{one}, easiest first"} for one in scores]
        found += [{"name": "random", "said": "random"}]
        return found + [
            {"name": f"subset:{one}", "said": f"{one}, as it is", "fixed": int(np.count_nonzero(mask))}
            for one, mask in self.table.members.items()
        ]

    def order(self, method: str) -> Rows:
        """Row numbers in the order in which a method takes them."""
        if method not in self._orders:
            self._orders[method] = self._made(method).astype(np.int32)
        return self._orders[method]

    def _made(self, method: str) -> NDArray[Any]:
        table, run = self.table, self.table.run
        if method == CHOSEN and run.order is not None:
            return table.places(run.order.ids)[0]
        ids = table.source.ids
        if method == "random":
            order = table.source.order[drawn_first(self.seed, "random selection", ids[table.source.order])]
            return order[table.observed[order]]
        name, _, policy = method.rpartition("+")
        if name not in table.columns or policy not in ("hard", "easy"):
            raise InputError(f"method {method!r} has no order in this run; it has to be computed anew.")
        values = table.columns[name] if policy == "easy" else -table.columns[name]
        by_id = table.source.order
        ties = uniforms(self.seed, ("rank", "ties"), ids[by_id])
        order = by_id[np.lexsort((ties, values[by_id]))]
        return order[: table.known(name)]

    def ranks(self, method: str) -> list[Rows]:
        """For each class, the places of its examples in the order of a method, ascending."""
        if method not in self._ranks:
            own = self._labels[self.order(method)]
            sorted_by_class = np.argsort(own, kind="stable").astype(np.int32)
            counts = np.bincount(own, minlength=len(self.groups))
            self._ranks[method] = np.split(sorted_by_class, np.cumsum(counts)[:-1])
        return self._ranks[method]

    def places(self, method: str) -> Rows:
        """The place of every example in the order of its class, grouped by class; beyond all if it is not in it."""
        if method not in self._places:
            order = self.order(method)
            found = np.full(self.table.n, self.table.n, dtype=np.int32)
            for ranks in self.ranks(method):
                found[order[ranks]] = np.arange(ranks.size, dtype=np.int32)
            self._places[method] = found[self.grouping]
        return self._places[method]

    def counts(self, asked: Choice) -> NDArray[np.int64]:
        """How many examples of each class are kept."""
        if asked.method.startswith("subset:"):
            mask = self.grouped(asked)
            return np.array([np.count_nonzero(mask[group]) for group in self.groups])
        ranks = self.ranks(asked.method)
        size = min(self.order(asked.method).size, max(1, round(asked.keep * self.total)))
        if not asked.balance:
            return _first(ranks, size)
        if self.table.labels is None:
            raise InputError("balance by class needs one class per example; the other kinds have to be computed anew.")
        floor = floors(np.array([one.size for one in ranks]), size, asked.balance)
        low, high, rest = 0, self.order(asked.method).size, size - int(floor.sum())
        while low < high:  # how far the whole order is followed until the rest is filled
            middle = (low + high) // 2
            if int(np.maximum(_first(ranks, middle) - floor, 0).sum()) < rest:
                low = middle + 1
            else:
                high = middle
        return np.maximum(floor, _first(ranks, low))

    def grouped(self, asked: Choice) -> Mask:
        """Which examples are kept, grouped by class."""
        if asked.method.startswith("subset:"):
            name = asked.method.removeprefix("subset:")
            if name not in self.table.members:
                raise InputError(f"there is no subset {name!r} in this run.")
            if name not in self._subsets:
                self._subsets[name] = self.table.members[name][self.grouping]
            return self._subsets[name]
        places, mask = self.places(asked.method), np.empty(self.table.n, dtype=bool)
        for group, count in zip(self.groups, self.counts(asked).tolist(), strict=True):
            np.less(places[group], count, out=mask[group])
        return mask

    def mask(self, asked: Choice) -> Mask:
        """Which rows are kept."""
        with self._lock:
            if asked in self._masks:
                self._masks.move_to_end(asked)
                return self._masks[asked]
        mask = np.empty(self.table.n, dtype=bool)
        mask[self.grouping] = self.grouped(asked)
        with self._lock:
            self._masks[asked] = mask
            while len(self._masks) > KEPT:
                self._masks.popitem(last=False)
        return mask


def _first(ranks: list[Rows], size: int) -> NDArray[np.int64]:
    """How many of each class are among the first of an order; of the same type, so that nothing is converted."""
    return np.array([np.searchsorted(one, np.int32(size)) for one in ranks], dtype=np.int64)


class WhatIf:
    """Two choices side by side: A and B, what is in both, and what only one of them keeps."""

    def __init__(self, orders: Orders, a: Choice, b: Choice) -> None:
        self.orders, self.a, self.b = orders, a, b
        self.key = (a, b)

    def mask(self, show: str) -> Mask:
        """Which rows a word of the filter stands for; `enters` and `leaves` are from A to B."""
        a, b = self.orders.mask(self.a), self.orders.mask(self.b)
        makes: dict[str, Callable[[], Mask]] = {
            "a": lambda: a,
            "b": lambda: b,
            "both": lambda: a & b,
            "only_a": lambda: a & ~b,
            "leaves": lambda: a & ~b,
            "only_b": lambda: b & ~a,
            "enters": lambda: b & ~a,
            "neither": lambda: ~(a | b),
        }
        return makes[show]()

    def counts(self) -> dict[str, Any]:
        """How many each side keeps, overall and per class."""
        orders = self.orders
        a, b = orders.counts(self.a), orders.counts(self.b)
        if self.a.method == self.b.method and not self.a.method.startswith("subset:"):
            both = np.minimum(a, b)  # both are the first ones of each class in the same order
        else:
            shared = orders.grouped(self.a) & orders.grouped(self.b)
            both = np.array([np.count_nonzero(shared[group]) for group in orders.groups])
        per = {"a": a, "b": b, "only_a": a - both, "only_b": b - both, "both": both}
        found: dict[str, Any] = {name: int(counts.sum()) for name, counts in per.items()}
        if orders.table.labels is not None:
            found["per_class"] = {name: counts.tolist() for name, counts in per.items()}
        return found
