"""The study of arriving data, in small: it runs to the end, and goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from studies.arriving.__main__ import main


@pytest.mark.filterwarnings("ignore:score .* is unreliable here")
def test_it_runs_and_keeps_its_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--out", str(tmp_path), "--data", "digits", "--first", "150", "--more", "40", "--model", "mlp"]
    words += ["--epochs", "2", "--seeds", "2", "--keep", "0.75"]
    main(words)
    said = capsys.readouterr().out
    assert "| since |" in said
    assert "Since base: 40 new examples, 0 changed, 0 removed" in said
    assert said.count("\n| ") >= 14
    took = json.loads((tmp_path / "since" / "seconds.json").read_text())
    main(words)
    assert json.loads((tmp_path / "since" / "seconds.json").read_text()) == took
    assert capsys.readouterr().out.split("Made ")[0] == said.split("Made ")[0]
