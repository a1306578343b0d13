"""ProxyStudy: how well an architecture search on small sets finds what a search on the full data finds.

The test data is split in two: `choose`, by which a search ranks networks, and `judge`, on which the full-data models
are measured, so that no network is judged by the examples that chose it. For one seed, let c_P(a) be the accuracy on
`choose` of network a trained on P, and j_F(a) the accuracy on `judge` of network a trained on the full data. Then

    correlation = Spearman(c_P, j_F),      regret = j_F(argmax c_F) - j_F(argmax c_P).

Networks that tie for first place are averaged. The same two numbers with c_F of another seed in place of c_P are the
noise ceiling: what the full data itself reaches in a second training. No proxy can be expected to do better. A regret
may be negative, because the full data's own winner is also chosen by `choose`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.layouts import Folder
from ..core.rank_correlation import rank_correlation
from ..core.serialiser import Saved
from .class_metrics import in_percent
from .intervals import Interval, difference, mean
from .notebook_view import Shown
from .provenance import Provenance
from .study import Arm, Study
from .table import Table

if TYPE_CHECKING:
    import pandas

__all__ = ["CHOOSE", "FEWEST", "JUDGE", "ProxyStudy"]

CHOOSE, JUDGE = "choose", "judge"
LAYOUT = Folder("proxy.json", parts="studies", order="networks", derived=("table", "transfer"))
FEWEST = 3  # networks; the ranking of two is either right or wrong


@dataclass(frozen=True, eq=False, repr=False)
class ProxyStudy(Shown, Saved, kind="proxy", layout=LAYOUT):
    """A space of networks, searched on proxy sets and on the full data.

    Parameters
    ----------
    studies
        The study of each network, with the full data among its arms and the test sets `choose` and `judge`.
    provenance
        Where it came from.
    """

    studies: Mapping[str, Study]
    provenance: Provenance = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.studies) < FEWEST:
            raise InputError(f"a proxy study needs at least {FEWEST} networks to rank; got {len(self.studies)}.")
        for name, study in self.studies.items():
            if set(study.tests) != {CHOOSE, JUDGE} or study.full is None:
                raise InputError(
                    f"the study of network {name!r} must have the full data among its arms and the test sets "
                    f"{CHOOSE!r} and {JUDGE!r}; it has {', '.join(study.tests)}."
                )
            if _done(study) != _done(self._first):
                raise InputError(f"the study of network {name!r} has other arms or seeds than the first one.")
            for one in study.outcomes:
                if not math.isfinite(one.value):
                    raise InputError(
                        f"the study of network {name!r} has no number for arm {one.arm!r} under seed {one.seed}, so it "
                        "cannot be ranked."
                    )

    def __repr__(self) -> str:
        return f"ProxyStudy({len(self.studies)} networks, {len(self.arms)} arms, {len(self.seeds)} seeds)"

    @property
    def _first(self) -> Study:
        return next(iter(self.studies.values()))

    @property
    def networks(self) -> tuple[str, ...]:
        """Names of the networks."""
        return tuple(self.studies)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The training sets."""
        return self._first.arms

    @property
    def full(self) -> str:
        """Name of the full-data arm."""
        return next(arm.name for arm in self.arms if arm.kind == "full")

    @property
    def seeds(self) -> tuple[int, ...]:
        """The training seeds."""
        return tuple(self._first.of(self.full, JUDGE))

    def accuracies(self, arm: str, test: str = JUDGE) -> dict[int, NDArray[np.float64]]:
        """The metric of every network, in the order of `networks`, by seed."""
        self._first.arm(arm)
        return dict(self._values[arm, checks.choice("test", "accuracies", test, (CHOOSE, JUDGE))])

    @cached_property
    def _values(self) -> dict[tuple[str, str], dict[int, NDArray[np.float64]]]:
        held = {
            (arm.name, test): [study.of(arm.name, test) for study in self.studies.values()]
            for arm in self.arms
            for test in (CHOOSE, JUDGE)
        }
        return {key: {s: np.array([one[s].value for one in found]) for s in self.seeds} for key, found in held.items()}

    def _searches(self, arm: str) -> dict[int, list[NDArray[np.float64]]]:
        """Accuracies a search sees, by the seed it is compared with; for the full data, those of the other seeds."""
        seen = self.accuracies(arm, CHOOSE)
        if arm != self.full:
            return {seed: [values] for seed, values in seen.items()}
        return {seed: [values for other, values in seen.items() if other != seed] for seed in seen}

    def correlations(self, arm: str, top: int | None = None) -> dict[int, float]:
        """Spearman correlation with the full data's ranking, by seed.

        Parameters
        ----------
        arm
            A proxy. The full data gives the ceiling, the mean over the other seeds; NaN if there are none.
        top
            Compare only this many networks, those that the search ranks first.
        """
        if top is not None:
            checks.integer("top", "correlations", top, low=FEWEST, high=len(self.networks))
        truth = self.accuracies(self.full)
        return {
            seed: _mean([rank_correlation(*_best(seen, truth[seed], top)) for seen in searches])
            for seed, searches in self._searches(arm).items()
        }

    def regrets(self, arm: str) -> dict[int, float]:
        """What the proxy's winner loses to the full data's winner, both trained on the full data, by seed.

        The full data gives the ceiling, as in `correlations`.
        """
        truth, own = self.accuracies(self.full), self.accuracies(self.full, CHOOSE)
        return {
            seed: _mean([_won(own[seed], truth[seed]) - _won(seen, truth[seed]) for seen in searches])
            for seed, searches in self._searches(arm).items()
        }

    def seconds(self, arm: str) -> dict[int, float]:
        """Seconds of training every network once, by seed, without selection."""
        done = [study.of(arm, CHOOSE) for study in self.studies.values()]
        return {seed: float(sum(one[seed].seconds for one in done)) for seed in self.seeds}

    def selection(self, arm: str) -> float:
        """Seconds spent on finding a proxy, once for the whole search; NaN if unknown."""
        found = self._first.arm(arm)
        return float(sum(found.selection.values())) if found.selection or found.kind != "subset" else math.nan

    def versus(self, arm: str, other: str, what: str = "correlation", top: int | None = None) -> Interval:
        """Mean of `arm - other` in `correlation` or `regret`, paired by seed, with its 95 % t interval."""
        checks.choice("what", "versus", what, ("correlation", "regret"))
        ours, theirs = (
            self.correlations(name, top) if what == "correlation" else self.regrets(name) for name in (arm, other)
        )
        return difference(list(ours.values()), list(theirs.values()))

    def table(self, top: int | None = None) -> Table:
        """One row per arm: correlation, regret, their differences to random, and seconds; full is the ceiling.

        `search_s` includes finding the proxy, and is NaN if that is unknown. The ceiling's interval is too narrow,
        because its seeds share the searches they are compared with.
        """
        rows = []
        full = _mean(list(self.seconds(self.full).values()))
        for arm in self.arms:
            random = arm.baseline if arm.baseline != self.full else None
            row: dict[str, Any] = {"arm": arm.name, "kept": arm.size}
            for what in ("correlation", "regret"):
                found = self.correlations(arm.name, top) if what == "correlation" else self.regrets(arm.name)
                row |= _ends(what, mean(list(found.values())))
                row |= _ends(f"{what}_vs_random", self.versus(arm.name, random, what, top) if random else None)
            trained, chosen = _mean(list(self.seconds(arm.name).values())), self.selection(arm.name)
            row |= {"train_s": trained, "selection_s": chosen, "search_s": trained + chosen, "full_search_s": full}
            rows.append({**row, "networks": len(self.networks), "seeds": len(self.seeds)})
        return Table(tuple(rows))

    def summary(self) -> Table:
        """A short table to read: half of the 95 % interval after ±, regret in points if the metric is a share."""
        scale = 100 if in_percent(self._first.metric) else 1
        rows = []
        for row in self.table():
            ceiling = row["arm"] == self.full
            rows.append(
                {
                    "searched on": "full, another seed" if ceiling else row["arm"],
                    "examples": row["kept"],
                    "rank correlation": _shown(row, "correlation"),
                    "against random": _shown(row, "correlation_vs_random", sign="+"),
                    "regret, points" if scale == 100 else "regret": _shown(row, "regret", scale),
                    "training, s": f"{row['train_s']:.0f}",
                    "with selection, s": "not known" if math.isnan(row["search_s"]) else f"{row['search_s']:.0f}",
                }
            )
        return Table(tuple(rows))

    def transfer(self) -> Table:
        """One row per network and subset: the metric on `judge`, and the gain over random of the same size."""
        rows = []
        for network, study in self.studies.items():
            for arm in (arm for arm in self.arms if arm.kind == "subset"):
                row: dict[str, Any] = {"network": network, "arm": arm.name, "kept": arm.size}
                row |= {study.metric: study.interval(arm.name, JUDGE).centre}
                gap = study.versus(arm.name, arm.baseline, JUDGE) if arm.baseline else None
                rows.append({**row, **_ends("vs_random", gap)})
        return Table(tuple(rows))

    def _view(self) -> Table:
        return self.summary()

    def to_pandas(self) -> pandas.DataFrame:
        """The rows of `table`."""
        return self.table().to_pandas()


def _best(
    seen: NDArray[np.float64], truth: NDArray[np.float64], top: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both arrays for the networks ranked first, including ties with the last of them."""
    inside = seen >= np.sort(seen)[-(top or len(seen))]
    return seen[inside], truth[inside]


def _won(seen: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """The true value of the winner; the mean over ties."""
    return float(truth[seen == seen.max()].mean())


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _done(study: Study) -> set[tuple[str, int, str]]:
    return {(outcome.arm, outcome.seed, outcome.test) for outcome in study.outcomes}


def _ends(word: str, found: Interval | None) -> dict[str, float]:
    centre, low, high = (math.nan,) * 3 if found is None else (found.centre, found.low, found.high)
    return {word: centre, f"{word}_low": low, f"{word}_high": high}


def _shown(row: Mapping[str, Any], word: str, scale: float = 1, sign: str = "") -> str:
    centre, low, high = (scale * row[key] for key in (word, f"{word}_low", f"{word}_high"))
    if math.isnan(centre):
        return ""
    return f"{centre:{sign}.2f}" + ("" if math.isnan(low) else f" ± {(high - low) / 2:.2f}")
