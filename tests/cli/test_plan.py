"""winnow plan: what it prints, what it writes, what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Said
from winnow.artefacts.plan import Plan
from winnow.planning import recommendation as advising

Winnow = Callable[..., Said]


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advising, "KEEPS", (0.75, 0.5, 0.25))


def test_help_shows_an_example(winnow: Winnow) -> None:
    said = winnow("plan", "--help")
    assert (said.code, said.err) == (0, "")
    assert "winnow plan digits" in said.out.split("Examples:")[1]


def test_plan_prints_writes_and_names_the_command(winnow: Winnow, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = ("plan", "digits", "--limit", 900, "--model", "mlp", "--epochs", 2, "--out", out)
    said = winnow(*command)
    assert (said.code, said.err) == (0, "")
    assert "an estimate, not a guarantee" in said.out
    assert "held-out pilot point" in said.out
    assert "Peak memory" in said.out
    assert said.out.endswith(f"plan  {out / 'plan.json'}\nfigure  {out / 'plan.png'}\n")
    assert (out / "plan.png").read_bytes().startswith(b"\x89PNG")
    made = Plan.load(out)
    assert made.command.startswith("winnow plan digits --limit 900 --pilot")
    assert made.command.endswith("--model mlp --epochs 2")
    found = winnow(*command, "--json").json
    assert found["policy"] == made.policy
    assert found["pilot"] == made.values()["pilot"]  # the clock too: nothing was trained again
    assert found["trust"] in ("use with care", "not to be trusted")
    assert found["resources"]["memory_bytes"] > 0


def test_a_column_of_numbers_is_planned_without_a_forecast(winnow: Winnow, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("a,b,price\n" + "".join(f"{i},{i * i % 7},{i / 3}\n" for i in range(60)))
    said = winnow("plan", table, "--labels", "price", "--task", "regression", "--epochs", 1)
    assert said.code == 0
    assert said.out.startswith("No forecast: the target is a number")
    assert f"Next: winnow prune {table} --labels price --task regression --keep 0.5" in said.out


def test_refusals_are_one_line(winnow: Winnow) -> None:
    said = winnow("plan", "digits", "--tolerance", 2)
    assert said.code == 2
    assert said.err.startswith("winnow: --tolerance must be a number in (0, 1)")
    said = winnow("plan", "digits", "--pilot-size", 300)
    assert (said.code, said.out) == (2, "")
    assert "--pilot-size is for --pilot" in said.err
    said = winnow("plan", "digits", "--limit", 300, "--pilot")
    assert said.code == 2
    assert "needs a pool of at least 200 examples" in said.err
