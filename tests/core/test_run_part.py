"""A part of a run keeps its steps in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from winnow.artefacts import Subset
from winnow.core.run import Run, recorded_seconds
from winnow.core.run_part import RunPart
from winnow.engines import Job, Local, run_jobs


def made(ids: list[int], size: int) -> Subset:
    return Subset(ids[:size])


def test_the_same_step_can_be_done_in_several_parts(tmp_path: Path) -> None:
    with Run(tmp_path / "run", {}) as run:
        for size in (2, 3):
            part = RunPart(run, f"search/fold-{size}")
            part.step("choose", Subset, lambda size=size: made([1, 2, 3], size), file="subset.parquet")
            inner = RunPart(part, "inner")
            jobs = [Job("look", size, key=1, file="look.parquet")]
            run_jobs(inner, Local(1), made, jobs, Subset, "looking", shared=([4, 5, 6],))
            assert len(inner.get("look", Subset, key=None) or ()) == 0  # under another key
            part.spent("thinking", 2.0)
            assert part.seconds() >= 2.0
        files = {str(path.relative_to(tmp_path / "run")) for path in (tmp_path / "run").rglob("*.parquet")}
        assert files == {
            f"search/fold-{size}/{name}" for size in (2, 3) for name in ("subset.parquet", "inner/look.parquet")
        }
        assert run.seconds("search/") >= 4.0
        assert recorded_seconds(tmp_path / "run", "search") < 4.0  # what makes no artefact is not recorded
    with Run(tmp_path / "run", {}) as again:
        found = RunPart(again, "search/fold-3").step(
            "choose", Subset, lambda: made([1, 2, 3], 3), file="subset.parquet"
        )
        assert found.ids.tolist() == [1, 2, 3]


def test_without_a_directory_nothing_is_saved_and_a_part_is_not_opened() -> None:
    part = RunPart(Run(None, {}), "one")
    assert part.step("choose", Subset, lambda: made([1], 1)).ids.tolist() == [1]
    assert part.earlier("choose", Subset, None) is None
    with pytest.raises(TypeError, match="open while the run is"), part:
        pass
