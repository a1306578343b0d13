"""Networks retrained on what a repeat chose, by `wn.evaluate`; and the kept numbers as rows of differences."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts.intervals import Interval, difference, mean
from winnow.core import run as store
from winnow.core.files import file_name
from winnow.engines import Local

from ..parts import Asked
from .arms import MATCHED, METHODS, chosen, network, recipe, settings, sizes_of, warm

Cell = Mapping[str, Any]  # what one repeat came to
Cells = Mapping[str, Sequence[Cell]]  # by data set, one a repeat


@dataclass(frozen=True)
class Metered:
    """An engine of one worker whose seconds are the processor's, since the clock of a busy machine compares nothing."""

    threads: int = 1

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Any = None
    ) -> Iterator[tuple[int, Any, float]]:
        """Yield (index, result, seconds) of each item as it finishes."""
        for index, item in enumerate(items):
            before = time.process_time()
            ((_, result, _),) = Local(workers=1, threads=self.threads).map(function, [item], shared=shared)
            yield index, result, time.process_time() - before


def retrained(
    asked: Asked,
    data: str,
    repeat: int,
    kind: tuple[str, int | None],
    methods: Sequence[str],
    kept: Sequence[float],
) -> Callable[[int], dict[str, Any]]:
    """What trains a network on everything and on subsets of a repeat, and hands over plain numbers."""

    def make(seed: int) -> dict[str, Any]:
        sizes, drawn = sizes_of(data, asked.quick), chosen(asked, data, repeat)
        # `evaluate` keeps the word random for its own draws, which are not balanced.
        names = {f"by {method} at {share:g}": (method, share) for method in methods for share in kept}
        about = store.fingerprint(settings(data, repeat, sizes), kind)
        folder = asked.out / "evaluate" / f"{Path(data).name}-{repeat}-{about[:10]}"
        warm()
        study = wn.evaluate(
            drawn.source,
            {name: drawn.subsets[arm] for name, arm in names.items()},
            test=wn.open(data, split="test", limit=sizes.tests),
            model=network(kind, drawn.source),
            recipe=recipe(sizes.epochs),
            seeds=[repeat],
            match_iterations=MATCHED,
            random=False,
            same_steps=False,
            seed=seed,
            out=folder,
            engine=Metered(),
        )
        out: dict[str, Any] = {
            "full": _told(study, "full", folder),
            "heads": {f"{s:g}": list(drawn.heads[s]) for s in kept},
        }
        out |= {"agreement": drawn.agreement, "arms": {}}
        for name, (method, share) in names.items():
            cost = {"selection": drawn.seconds[method, share]}
            out["arms"].setdefault(method, {})[f"{share:g}"] = _told(study, name, folder) | cost
        return out

    return make


def _told(study: wn.Study, arm: str, folder: Path) -> dict[str, float]:
    """What one training came to; its seconds have the test in them, which is the same for every arm."""
    ((seed, outcome),) = study.of(arm).items()
    seconds = store.recorded_seconds(folder, f"study/trainings/{file_name(arm)}/seed-{seed}")
    return {"accuracy": outcome.value, "seconds": seconds, "steps": outcome.iterations}


@dataclass(frozen=True)
class Row:
    """One method at one share over the repeats; accuracies and differences in points, paired by repeat.

    Attributes
    ----------
    data, method, share
        Which.
    accuracy, random, full
        Its own, and less that of random of its size and of everything.
    selection
        Processor seconds to choose it.
    saved
        Processor seconds that a training on it is shorter than one on everything.
    """

    data: str
    method: str
    share: float
    accuracy: Interval
    random: Interval
    full: Interval
    selection: float
    saved: float

    @property
    def pays_after(self) -> int | None:
        """Trainings after which choosing has paid, as in the ledger of a study; None if never."""
        return max(1, math.ceil(self.selection / self.saved)) if self.saved > 0 else None


def rows(cells: Cells) -> list[Row]:
    """A row for each method at each share, data set after data set, from the largest share to the smallest."""
    out = []
    for data, found in cells.items():
        methods = [method for method in METHODS if method in found[0]["arms"]]
        shares = sorted((float(share) for share in found[0]["arms"]["random"]), reverse=True)
        out += [_row(data, method, share, found) for share in shares for method in methods]
    return out


def _row(data: str, method: str, share: float, found: Sequence[Cell]) -> Row:
    ours = points(found, method, share)
    arms = [cell["arms"][method][f"{share:g}"] for cell in found]
    full = np.mean([cell["full"]["seconds"] for cell in found])
    return Row(
        data,
        method,
        share,
        mean(ours),
        difference(ours, points(found, "random", share)),
        difference(ours, everything(found)),
        float(np.mean([arm["selection"] for arm in arms])),
        float(full - np.mean([arm["seconds"] for arm in arms])),
    )


def points(found: Sequence[Cell], method: str, share: float) -> NDArray[np.float64]:
    """Accuracies of a method in per cent, a number a repeat."""
    return 100 * np.array([cell["arms"][method][f"{share:g}"]["accuracy"] for cell in found])


def everything(found: Sequence[Cell]) -> NDArray[np.float64]:
    """Accuracies of trainings on everything in per cent, a number a repeat."""
    return 100 * np.array([cell["full"]["accuracy"] for cell in found])
