"""Pruning again when new data have come: old examples keep their signals, new ones are observed by a continuation.

The cost is in proportion to what is new: three quarters of the epochs on the new examples and as many old ones. The
trial of the candidate is taken over from the base, whatever it found, if less than `TRUSTED` of the examples are new.
"""

from __future__ import annotations

import csv
import dataclasses
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals, Source, Subset
from ..artefacts.example_digests import ExampleDigests
from ..core import registry
from ..core.errors import InputError, NotDefinedError
from ..core.files import atomic
from ..core.request import requested
from ..core.run import Run
from ..core.seeds import drawn_first
from ..engines import Engine, Job, Needs, run_jobs
from ..models.identity import network_code
from ..signals.continued_training import NETWORKS, Continuation, checkpoint_file, continue_training
from ..signals.observation import Entries, Observation, signals_for
from ..signals.observe import observation_of, observe
from ..sources.content import content_keys
from .base_run import DIGESTS, BaseRun
from .earlier_plan import NEAR
from .resolved_request import Request
from .veto import Veto, random_instead

__all__ = ["Arrival", "KeptTrial", "arrival_of", "continued_signals", "keep_digests", "kept_trial", "with_changes"]

TRUSTED = 0.3  # share of new examples below which the trial of the base still counts
SHOWN = 20  # ids of each kind in the certificate; changes.csv has all


@dataclass(frozen=True, eq=False)
class Arrival:
    """What has come, gone and changed since a base run.

    Parameters
    ----------
    base
        The run.
    source
        The data now, with classes numbered as in the base.
    new
        Ids that the base has not seen.
    changed
        Ids that it has seen with another label or content; they count as new.
    removed
        Ids that it has seen and that are gone.
    """

    base: BaseRun
    source: Source
    new: NDArray[Any]
    changed: NDArray[Any]
    removed: NDArray[Any]

    @cached_property
    def fresh(self) -> NDArray[Any]:
        """Ids to observe: new and changed ones, sorted."""
        return np.sort(np.concatenate([self.new, self.changed])) if self.changed.size else np.sort(self.new)

    @cached_property
    def old(self) -> NDArray[Any]:
        """Ids that keep their signals, sorted."""
        return np.setdiff1d(self.source.ids, self.fresh)

    @property
    def share(self) -> float:
        """Share of the examples that are observed."""
        return self.fresh.size / len(self.source)


def arrival_of(source: Source, base: BaseRun, seen: Signals) -> Arrival:
    """Compare data with what a base run has seen.

    Parameters
    ----------
    source
        The data now.
    base
        The run.
    seen
        What it recorded.
    """
    known, digests = seen.ids, base.digests
    if known.dtype.kind != source.ids.dtype.kind:
        raise InputError(
            f"base of prune must have the ids of source {source.name!r}; its ids look like {known[0]!s}, those of the "
            f"source like {source.ids[0]!s}."
        )
    if seen.task == "classification":
        extra = sorted(set(source.classes) - set(seen.classes))
        if extra:
            raise InputError(
                f"base of prune has no class {extra[0]!r}, so its networks do not know it; start over without base."
            )
        source = source.with_classes(seen.classes)
    there = np.isin(source.ids, known)
    both = source.ids[there]
    other = np.zeros(both.size, dtype=bool)
    if seen.labels is not None and source.labels is not None:
        now, then = source.labels[there].reshape(both.size, -1), seen.take(both).labels
        other |= (now != np.asarray(then).reshape(both.size, -1)).any(axis=1)
    if digests is not None:
        place = np.searchsorted(digests.ids, both)
        other |= digests.digests[place] != _digests(source.at(np.flatnonzero(there)))
    if other.all():
        raise InputError(
            f"base of prune has seen none of the examples of source {source.name!r} as they are now; start over "
            "without base."
        )
    return Arrival(base, source, source.ids[~there], both[other], np.setdiff1d(known, source.ids))


def keep_digests(source: Source, run: Run) -> None:
    """Keep in a run what its examples hold, if their ids do not say it and a later run could compare."""
    if run.path is None or source.origin.get("ids") in ("content", "positions"):
        return

    def make() -> ExampleDigests:
        return ExampleDigests(source.ids[source.order], _digests(source)[source.order])

    run.step("observe/digests", ExampleDigests, make, file=DIGESTS)


def _digests(source: Source) -> NDArray[np.int64]:
    return content_keys(source).view(np.int64)


def continued_signals(arrival: Arrival, request: Request, run: Run, engine: Engine) -> Signals:
    """The signals of old and new examples, one continued training per seed."""
    base, source = arrival.base, arrival.source
    want = request.want
    asked = requested(observe, source, request.observer, request.recipe, list(request.numbers), want, seed=request.seed)
    what = observation_of(asked, source)
    entries = signals_for(what.want)
    codes = [entry.code for entry in entries]
    ends = dict(zip(request.numbers, ("", registry.AGAIN), strict=False))
    jobs = []
    for number in request.numbers:
        before = base.signals(number)
        _check_arrays(before, entries, base)
        if run.path is not None:
            _copy(base.checkpoint(number), checkpoint_file(run.path / NETWORKS, number))
        job = Continuation(
            source.take(_trained_on(arrival, request.seed, number)),
            arrival.fresh,
            before.take(arrival.old),
            base.checkpoint(number),
            number,
            ends.get(number),
        )
        key = [source.fingerprint, base.fingerprint, what.settings(), network_code(what.model), codes, number]
        jobs.append(Job(f"observe/seed-{number}", job, key, f"signals/seed-{number}.safetensors"))
    needs, common = Needs.to_train(source, what.model, what.recipe), (source, what, entries)
    made = run_jobs(run, engine, _continued, jobs, Signals, "observing what is new", shared=common, needs=needs)
    found = Signals.stack(made, {"step": "continue", "base": base.fingerprint, "source": source.provenance})
    return found.take(source.ids)


def _continued(source: Source, what: Observation, entries: Entries, job: Continuation) -> Signals:
    return continue_training(source, what, entries, job) if job.new.size else job.before


def _trained_on(arrival: Arrival, seed: int, number: int) -> NDArray[Any]:
    """The new examples and as many old ones, drawn by their ids."""
    size = min(arrival.old.size, max(arrival.fresh.size, 1))
    drawn = arrival.old[drawn_first(seed, ("since", number), arrival.old, size)] if size else arrival.old
    return np.sort(np.concatenate([arrival.fresh, drawn])) if arrival.fresh.size else drawn


def _check_arrays(before: Signals, entries: list[registry.Signal], base: BaseRun) -> None:
    wanted = {name: layout for entry in entries if entry.when == "training" for name, layout in entry.arrays.items()}
    given = [name for name, layout in wanted.items() if before.task in layout.tasks]
    # what follows from logits was not recorded itself, and cannot be joined with what will be
    missing = [name for name in given if name not in before or before.origin(name) == "logits" != name]
    if missing:
        raise NotDefinedError(
            f"{base.path} did not record {missing[0]}, which this method needs of every example; start over without it."
        )


def _copy(given: Path, path: Path) -> None:
    """Copy a checkpoint, so that the new run can be a base in turn."""
    if path.resolve() != given.resolve():
        with atomic(path) as part:
            shutil.copyfile(given, part)


@dataclass(frozen=True)
class KeptTrial:
    """A trial that was made in the base run and still counts."""

    method: str
    found: Mapping[str, Any]
    share: float
    soft: bool = True  # whether the subset has soft targets

    @property
    def holds(self) -> bool:
        """Whether the candidate is used."""
        return bool(self.found["holds"])

    def sentence(self, metric: str) -> str:
        """What was decided, in words."""
        new = f"{100 * self.share:.0f} % of the examples are new"
        if self.holds:
            return f"{self.method} held in the base run, and {new}"
        return f"{self.method} did not hold in the base run, and {new}; {random_instead(self.soft)}"

    def certificate(self) -> dict[str, Any]:
        """The trial of the base, for the certificate of the subset."""
        return {**self.found, "from_base": True, "new_share": self.share}


def kept_trial(arrival: Arrival, request: Request) -> KeptTrial | None:
    """The trial of the base, if it was of the same candidate at about the same fraction and little is new."""
    found = arrival.base.subset.certificate.get("veto")
    then = arrival.base.settings.get("keep")
    if request.pairs is not None or not isinstance(found, Mapping) or not found.get("pairs") or not then:
        return None
    near = request.keep is not None and 1 / NEAR <= request.keep / then <= NEAR
    same = found.get("candidate") == request.method.name and near
    if not same or arrival.share >= TRUSTED:
        return None
    return KeptTrial(request.method.name, found, arrival.share, request.soft)


def with_changes(subset: Subset, arrival: Arrival, run: Run, tried: Veto | KeptTrial | Any | None) -> Subset:
    """The subset with what changed since the base in its certificate; the run gets the whole list as `changes.csv`."""
    before = arrival.base.subset.ids
    lists = {
        "entered": np.setdiff1d(subset.ids, before),
        "left": np.setdiff1d(before, subset.ids),
        "new": arrival.new,
        "changed": arrival.changed,
        "removed": arrival.removed,
    }
    counts = {name: int(ids.size) for name, ids in lists.items()}
    kept_new = int(np.isin(arrival.fresh, subset.ids).sum())
    said = (
        f"since {arrival.base.path.name}: {counts['new']} new examples, {counts['changed']} changed, "
        f"{counts['removed']} removed; {counts['entered']} entered the subset ({kept_new} of them new), "
        f"{counts['left']} left it"
    )
    trial = "none" if tried is None else "base" if isinstance(tried, KeptTrial) else "repeated"
    about = {
        "base": arrival.base.fingerprint,
        "said": said,
        "counts": counts,
        "observed": int(arrival.fresh.size),
        "trial": trial,
        "ids": {name: np.sort(ids)[:SHOWN].tolist() for name, ids in lists.items()},
    }
    if run.path is not None:
        with atomic(run.path / "changes.csv") as part, part.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["id", "change"])
            rows.writerows([id, name] for name, ids in lists.items() for id in np.sort(ids).tolist())
    return dataclasses.replace(subset, certificate={**subset.certificate, "since": about})
