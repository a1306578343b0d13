"""What a run directory holds, as far as the viewer shows it, whichever command made the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..artefacts import DatasetExplanation, Explanation, Issues, Plan, Scores, Study, Subset
from ..artefacts.dataset_positions import origins
from ..artefacts.plan import FILE as PLAN
from ..artefacts.selection_order import SelectionOrder
from ..core.errors import NotFoundError, StoreError
from ..core.layouts import parquet_header
from ..core.remote import is_url, mirrored, url_of
from ..core.run import Run
from ..core.step_record import read_record
from ..core.stored_runs import whole
from .signal_file import SignalFile, signal_files

__all__ = ["CHOSEN", "WHAT_IF", "RunContents", "read_contents"]

CHOSEN = "this run"  # the name of the subset that prune chose
WHAT_IF = "what-if"  # the folder of the subsets that the viewer had computed


@dataclass(frozen=True)
class RunContents:
    """The artefacts of a run; what it does not have is empty or None."""

    path: Path  # for a run at a URL, the local folder where it is worked on
    where: str  # path or URL as it was given
    settings: Mapping[str, Any]
    steps: Mapping[str, float]
    scores: tuple[Scores, ...] = ()
    subsets: Mapping[str, Subset] = field(default_factory=dict)
    order: SelectionOrder | None = None
    issues: Issues | None = None
    study: Study | None = None
    plan: Plan | None = None
    explanations: tuple[DatasetExplanation, ...] = ()
    examples: tuple[Explanation, ...] = ()
    signals: tuple[SignalFile, ...] = ()

    @property
    def name(self) -> str:
        """The last part of its path or URL."""
        return Path(self.where).resolve().name if self.where == str(self.path) else Path(self.where).name

    @property
    def command(self) -> str:
        """The command that made the run."""
        return str(self.settings.get("command", "a command"))

    def provenances(self) -> Iterator[Mapping[str, Any]]:
        """The provenance of every artefact, the most telling first."""
        yield from (one.provenance for one in self.artefacts() if one.provenance)

    def artefacts(self) -> Iterator[Any]:
        """Everything that can be shown, the most telling first."""
        single = (self.issues, self.study, self.plan)
        several = (*self.signals, *self.scores, *self.subsets.values(), *single, *self.explanations, *self.examples)
        yield from (one for one in several if one is not None)

    def origin(self) -> Mapping[str, Any] | None:
        """Where the data of the run came from; None if no artefact says."""
        found = [origin for one in self.provenances() for origin in origins(one)]
        named = (origin for origin in found if origin.get("builtin") or origin.get("path"))
        return next(named, found[0] if found else None)


def read_contents(run: str | Path) -> RunContents:
    """Read a run directory.

    Parameters
    ----------
    run
        A directory that prune, check, observe, evaluate, explain or plan wrote, or its URL.

    Raises
    ------
    NotFoundError
        If there is no such directory, or it is not a run.
    StoreError
        If nothing in it can be shown yet, or a file is damaged.
    """
    if not is_url(run) and not Path(run).is_dir():
        raise NotFoundError(f"RUN of view must be the directory of a run; there is none at {run}.")
    where = mirrored(run) if is_url(run) else Path(run)
    named = url_of(run) if is_url(run) else str(run)
    if not (where / "run.json").is_file():
        raise NotFoundError(f"{named} is not a winnow run: it holds no run.json.")
    settings = Run.existing(where).settings
    found = RunContents(
        path=where,
        where=named,
        settings=settings,
        steps=_steps(where / "steps"),
        scores=tuple(Scores.load(whole(path)) for path in sorted((where / "scores").glob("*.parquet"))),
        subsets=_subsets(where),
        order=SelectionOrder.load(whole(where / "order.parquet")) if (where / "order.parquet").exists() else None,
        issues=Issues.load(whole(where / "issues.parquet")) if (where / "issues.parquet").exists() else None,
        study=Study.load(whole(where / "study")) if (where / "study" / "study.json").exists() else None,
        plan=Plan.load(where) if (where / PLAN).exists() else None,
        explanations=tuple(
            DatasetExplanation.load(whole(where / name))
            for name in ("relations.json", "explanation.json")
            if (where / name).exists()
        ),
        examples=tuple(_examples(where)),
        signals=tuple(signal_files(where)),
    )
    if next(found.artefacts(), None) is None:
        raise StoreError(
            f"the run in {named} is not finished: there is nothing to look at yet; run its command again to continue."
        )
    return found


def _steps(where: Path) -> dict[str, float]:
    found = {path.relative_to(where).with_suffix("").as_posix(): path for path in sorted(where.rglob("*.json"))}
    records = {name: read_record(path) for name, path in found.items()}
    return {name: float(record["seconds"]) for name, record in records.items() if record is not None}


def _subsets(where: Path) -> dict[str, Subset]:
    """Every subset in the run: that of prune first, then what `winnow select` and the viewer added."""
    found: dict[str, Subset] = {}
    for path in sorted([*where.glob("*.parquet"), *(where / WHAT_IF).glob("*.parquet")]):
        chosen = path.name == "subset.parquet"
        try:
            parquet_header(path, Subset.saved_as)
        except StoreError:  # another kind of artefact, or anybody's file; what prune wrote must be readable
            if chosen:
                raise
            continue
        found[CHOSEN if chosen else path.stem] = Subset.load(whole(path))
    return dict(sorted(found.items(), key=lambda pair: pair[0] != CHOSEN))


def _examples(where: Path) -> Iterator[Explanation]:
    for path in sorted(where.glob("example-*.json")):
        if not path.stem.endswith("-pictures"):
            yield Explanation.load(whole(path))
