"""The input of a report: the files of a finished run, or a study alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..artefacts import Scores, Study, Subset
from ..artefacts.explanation import DatasetExplanation
from ..artefacts.gallery import Gallery
from ..core.errors import NotFoundError, StoreError
from ..core.files import read_json
from ..core.step_record import read_record
from ..core.stored_runs import whole

__all__ = ["SavedRun", "read_run"]

A = TypeVar("A", Gallery, DatasetExplanation)


@dataclass(frozen=True)
class SavedRun:
    """Everything a report may show. It needs a study or a subset; the rest is optional.

    Parameters
    ----------
    study
        The study; None if nothing was retrained, for example without labels.
    subset, subset_path
        The subset of the run, and its file.
    scores
        The run's scores, the one used in the gallery first.
    gallery
        The examples to show.
    relations, pictures
        How examples teach each other, if the run observed it, and images of the examples it mentions.
    settings
        The run's settings.
    steps
        Seconds of each finished step.
    """

    study: Study | None
    subset: Subset | None = None
    subset_path: Path | None = None
    scores: tuple[Scores, ...] = ()
    gallery: Gallery | None = None
    relations: DatasetExplanation | None = None
    pictures: Gallery | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)


def read_run(run_dir: str | Path) -> SavedRun:
    """Read a run directory.

    Parameters
    ----------
    run_dir
        A directory written by `winnow prune` or `winnow evaluate`.
    """
    where = Path(run_dir)
    if not where.is_dir():
        raise NotFoundError(f"run_dir of the report must be the directory of a run; there is none at {where}.")
    about = where / "run.json"
    study_at, subset_path = where / "study", where / "subset.parquet"
    if not about.exists() and not study_at.is_dir():
        raise StoreError(f"{where} is not the directory of a winnow run; it holds no run.json.")
    studied = (study_at / "study.json").exists()
    if not studied and not subset_path.exists():
        raise StoreError(
            f"the run in {where} is not finished: it holds neither a subset nor a study yet; run its command again "
            "to continue."
        )
    settings = read_json(about).get("settings", {}) if about.exists() else {}
    gallery = _held(where / "gallery.json", Gallery)
    scores = [Scores.load(whole(path)) for path in sorted((where / "scores").glob("*.parquet"))]
    main = gallery.score if gallery is not None else None
    return SavedRun(
        study=Study.load(whole(study_at)) if studied else None,
        subset=Subset.load(whole(subset_path)) if subset_path.exists() else None,
        subset_path=subset_path,
        scores=tuple(sorted(scores, key=lambda score: score.name != main)),
        gallery=gallery,
        relations=_held(where / "relations.json", DatasetExplanation),
        pictures=_held(where / "relations-pictures.json", Gallery),
        settings=settings,
        steps=_steps(where / "steps"),
    )


def _held(path: Path, kind: type[A]) -> A | None:
    return kind.load(whole(path)) if path.exists() else None


def _steps(where: Path) -> dict[str, float]:
    found = {path.relative_to(where).with_suffix("").as_posix(): path for path in sorted(where.rglob("*.json"))}
    records = {name: read_record(path) for name, path in found.items()}
    return {name: float(record["seconds"]) for name, record in records.items() if record is not None}
