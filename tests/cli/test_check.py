"""winnow check: what it prints for people and for programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

from winnow.artefacts import Finding, Interval, Issues
from winnow.cli.check import check as add
from winnow.cli.command import Group
from winnow.core.request import RunDirectory
from winnow.sources.openable import Data

ISSUES = Issues.of_findings(
    [Finding("duplicate", 1.0, "the same row", id="b", other="c", group=0, flagged=True)],
    ranking={"id": ["a", "b", "c", "d"], "probability": [0.9, 0.1, 0.0, 0.2], "flagged": [True, False, False, False]},
    source="toy",
    task="classification",
    noise_rate=Interval(0.25, 0.2, 0.3, 5),
)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command with a verb that finds the same in any data; returns what it printed."""
    verb = ModuleType("winnow.checking.check")

    def check(source: Data, *, out: RunDirectory = None) -> Issues:
        return ISSUES

    verb.check = check  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "winnow.checking.check", verb)
    if "winnow.checking" not in sys.modules:
        monkeypatch.setitem(sys.modules, "winnow.checking", ModuleType("winnow.checking"))
    app = typer.Typer(cls=Group, add_completion=False)
    add(app)
    app.callback()(lambda: None)

    def run(*words: object) -> str:
        app(args=[str(word) for word in words], prog_name="winnow", standalone_mode=False)
        return capsys.readouterr().out

    return run


def test_people_read_the_summary_and_where_the_files_are(said: Any, tmp_path: Path) -> None:
    text = said("check", "digits", "--out", tmp_path)
    assert text.startswith(ISSUES.summary())
    for name in ("issues.parquet", "issues.csv", "check.html"):
        assert str(tmp_path / name) in text


def test_programs_read_the_same(said: Any, tmp_path: Path) -> None:
    found = json.loads(said("check", "digits", "--out", tmp_path, "--json"))
    assert found["found"] == {"label": 1, "duplicate": 1}
    assert (found["examples"], found["left_out"], found["kept"]) == (4, 2, 2)
    assert found["noise_rate"]["centre"] == 0.25
    assert found["page"] == str(tmp_path / "check.html")
