"""winnow proxy: a search on subset files, what it prints, what it keeps, and mistakes in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import winnow as wn
from tests.cli.conftest import Said
from winnow.evaluation.proxy import ProxyStudy

Winnow = Callable[..., Said]
SHORT = ["--epochs", 2, "--batch", 32, "--workers", 1, "--limit", 80, "--seeds", 2]
SPACE = [part for size in (2, 8, 16) for part in ("--network", f"mlp:hidden=[{size}]")]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two subsets of the same 80 digits."""
    source = wn.open("digits", limit=80)
    paths = tmp_path / "first.parquet", tmp_path / "last.parquet"
    for path, ids in zip(paths, (source.ids[:30], source.ids[-30:]), strict=True):
        wn.Subset(ids).save(path)
    return paths


def test_proxy_says_and_keeps_what_the_library_finds(winnow: Winnow, files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = ["proxy", "digits", files[0], f"late={files[1]}", *SHORT, *SPACE, "--out", out]
    said = winnow(*command, "--json")
    assert (said.code, said.err) == (0, "")
    found = said.json
    assert found["networks"] == [f"mlp:hidden=[{size}]" for size in (2, 8, 16)]
    assert [row["arm"] for row in found["table"]] == ["full", "random@0.375", "first", "late"]
    assert len(found["transfer"]) == 3 * 2
    study = ProxyStudy.load(found["study"])
    assert found["table"][3]["correlation"] == study.table()[3]["correlation"]
    assert found["table"][3]["search_s"] is None  # the files lie in no run: nobody knows what they cost
    times = {path: path.stat().st_mtime_ns for path in out.glob("networks/*/study/trainings/*/*.json")}
    assert len(times) == 3 * 4 * 2
    text = winnow(*command)
    assert all(
        word in text.out for word in ("full, another seed", "random@0.375", "late", "rank correlation", "not known")
    )
    assert text.out.endswith(f"study  {out / 'proxy'}\n")
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--network", "mlp"], "must be at least 3"),
        ([*SPACE, "--test", "choose=digits", "--test", "other=digits"], "or 'choose' and 'judge'; got choose, other"),
        ([*SPACE, "--test", "judge=digits"], "or 'choose' and 'judge'; got judge"),
        ([*SPACE, "--test", "choose=digits", "--test", "judge=digits"], "must be different data"),
        ([*SPACE, "--network", "mlpp"], "mlpp"),
        ([*SPACE, "--match-iterations", 3], "--match-iterations must be"),
        ([*SPACE, "first=nowhere.parquet"], "SUBSET has the name 'first' twice"),
        ([*SPACE, "nowhere.parquet"], "nowhere.parquet"),
    ],
)
def test_a_mistake_is_one_line(
    extra: list[object], words: str, winnow: Winnow, files: tuple[Path, Path], tmp_path: Path
) -> None:
    said = winnow("proxy", "digits", files[0], *SHORT, *extra, "--out", tmp_path / "run")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("winnow: ")
    assert said.err.count("\n") == 1
    assert words in said.err
