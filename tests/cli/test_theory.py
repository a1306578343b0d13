"""winnow theory: its numbers are the library's, its advice follows from them, and mistakes are one line."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Said
from winnow.methods import theory as th

Winnow = Callable[..., Said]
FIELDS = ("R", "rho", "kappa", "error")


def column(rows: list[dict[str, Any]], key: str) -> list[Any]:
    return [row[key] for row in rows]


def test_every_option_is_in_the_help(winnow: Winnow) -> None:
    said = winnow("theory", "--help")
    assert (said.code, said.err) == (0, "")
    names = "alpha from to points keep angle policy window total smallest information simulate dimension draws seed"
    assert all(f"--{name}" in said.out for name in [*names.split(), "workers", "figure", "json"])


def test_help_loads_neither_numba_nor_torch() -> None:
    code = (
        "import sys; from winnow.cli import _run; _run(['--help']); _run(['theory', '--help']); "
        "print('LOADED', {'numba', 'torch', 'scipy', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("LOADED set()\n")


def test_json_holds_the_numbers_of_the_library(winnow: Winnow) -> None:
    found = winnow("theory", "--from", 0.5, "--to", 20, "--points", 4, "--keep", 0.1, "--keep", 0.5, "--angle", 10,
                   "--json").json  # fmt: skip
    alphas = np.geomspace(0.5, 20, 4)
    rows = found["points"]
    assert column(rows, "keep") == [0.1] * 4 + [0.5] * 4
    for keep, some in ((0.1, rows[:4]), (0.5, rows[4:])):
        curve = th.learning_curve(alphas, keep, 10.0)
        assert column(some, "alpha") == alphas.tolist()
        for name in FIELDS:
            assert column(some, name) == pytest.approx(getattr(curve, name).tolist(), rel=1e-9)
        assert column(some, "random_error") == pytest.approx(th.learning_curve(alphas).error.tolist(), rel=1e-12)
    assert found["figure"] is None


def test_points_named_one_by_one_are_put_in_order(winnow: Winnow) -> None:
    rows = winnow("theory", "--alpha", 5, "--alpha", 1, "--alpha", 5, "--policy", "easy", "--json").json["points"]
    assert column(rows, "alpha") == [1.0, 5.0]
    assert column(rows, "error") == [th.solve(a, 0.2, 0.0, "easy").error for a in (1.0, 5.0)]


def test_the_range_ends_at_the_total(winnow: Winnow) -> None:
    assert column(winnow("theory", "--points", 3, "--json").json["points"], "alpha") == pytest.approx([0.1, 1, 10])
    found = winnow("theory", "--points", 3, "--total", 30, "--json").json["points"]
    assert column(found, "alpha") == pytest.approx([0.3, 3, 30])
    assert found[-1]["alpha"] == 30.0


def test_windows_are_the_best_or_those_given(winnow: Winnow) -> None:
    row = winnow("theory", "--alpha", 2, "--policy", "window", "--json").json["points"][0]
    best = th.optimal_window(2, 0.2)
    assert (row["policy"], row["a"], row["b"]) == ("window", best.a, best.b)
    assert row["error"] == pytest.approx(best.error, rel=1e-12)
    row = winnow("theory", "--alpha", 2, "--window", "0.5,1.2", "--json").json["points"][0]
    given = th.window(0.5, 1.2)
    assert (row["a"], row["b"], row["keep"]) == (0.5, 1.2, given.keep)
    assert row["error"] == th.solve(2, policy=given).error
    text = winnow("theory", "--alpha", 2, "--policy", "hard", "--policy", "window").out
    assert {"window from", "to"} <= set(text.splitlines()[0].replace("  ", "\t").split("\t"))


def test_the_best_fraction_of_a_total(winnow: Winnow) -> None:
    found = winnow("theory", "--total", 100, "--alpha", 4, "--alpha", 20, "--keep", 0.5, "--angle", 10, "--json").json
    best = th.frontier([4.0, 20.0], total=100.0, angle=10.0)
    rows = found["points"][2:]
    assert column(rows, "keep") == best.keep.tolist()
    assert column(rows, "error") == pytest.approx(best.error.tolist(), rel=1e-9)
    enough = th.best_keep(total=100.0, angle=10.0)
    assert f"the hardest {enough.keep:.2g} ({enough.alpha:.3g} per dimension) are enough" in found["advice"][1]
    assert f"error {enough.error:.4g}" in found["advice"][1]


def test_an_imperfect_probe_has_a_best_fraction_of_its_own(winnow: Winnow) -> None:
    found = winnow("theory", "--keep", "best", "--alpha", 5, "--angle", 10, "--json").json
    best = th.best_keep(5, angle=10)
    assert found["points"][0]["keep"] == pytest.approx(best.keep, rel=1e-4)
    assert f"is {best.keep:.2g}: error {best.error:.4g}" in found["advice"][0]


def test_advice_turns_where_the_curves_cross(winnow: Winnow) -> None:
    advice = winnow("theory", "--points", 2, "--json").json["advice"]
    assert len(advice) == 1
    turn = float(advice[0].split("easy ones up to about ")[1].split(",")[0])
    hard, easy = (lambda a, p=p: th.solve(a, 0.2, 0.0, p).error for p in ("hard", "easy"))
    assert hard(turn / 1.1) > easy(turn / 1.1)
    assert hard(turn * 1.1) < easy(turn * 1.1)
    assert f"hard {hard(10.0):.4g}, easy {easy(10.0):.4g}, random {th.solve(10).error:.4g}." in advice[0]
    blind = winnow("theory", "--angle", 90, "--points", 2, "--json").json["advice"][0]
    assert "keep random ones (from 0.1 to 10" in blind
    assert "Everything is kept" in winnow("theory", "--keep", 1, "--alpha", 3).out


def test_simulated_students_stand_beside(winnow: Winnow) -> None:
    typed = ("theory", "--alpha", 1, "--policy", "easy", "--policy", "window", "--angle", 20, "--simulate",
             "--dimension", 30, "--draws", 8, "--seed", 3, "--workers", 1)  # fmt: skip
    found = winnow(*typed, "--json").json
    best = th.optimal_window(1, 0.2, 20.0).policy
    for row, keep, policy in zip(found["points"], (0.2, 1.0), ("easy", best), strict=True):
        got = th.simulate(1, keep, 20.0, N=30, draws=8, seed=3, policy=policy, workers=1)
        assert (row["simulated_error"], row["standard_error"]) == (got.error, got.standard_error)
    apart = [abs(row["simulated_error"] - row["error"]) / row["standard_error"] for row in found["points"]]
    assert found["advice"][-1].startswith(f"{sum(a <= 2 for a in apart)} of 2 simulated errors")
    assert f"is {max(apart):.1f} away" in found["advice"][-1]
    head = winnow(*typed).out.splitlines()[0]
    assert "simulated" in head
    assert "standard error" in head


def test_information(winnow: Winnow) -> None:
    found = winnow("theory", "--information", "--alpha", 1, "--alpha", 8, "--keep", 0.5, "--json").json
    for row in found["points"]:
        told = th.information_gain(row["alpha"], 0.5)
        assert (row["information"], row["q"], row["R"]) == (told.nats, told.q, told.R)
        assert row["random_information"] == th.information_gain(row["alpha"]).nats
    assert f"{th.information_gain(1, 0.5).nats:.4g} nats" in found["advice"][0]


def test_the_table_is_in_words(winnow: Winnow) -> None:
    lines = winnow("theory", "--alpha", 5).out.splitlines()
    words = ("kept per dimension", "keep", "angle", "error", "at random", "margin (kappa)", "overlap with teacher (R)",
             "with probe (rho)")  # fmt: skip
    assert all(word in lines[0] for word in words)
    assert "window" not in lines[0]
    assert lines[1].split()[:5] == ["5", "hard", "0.2", "0", "0.01997"]


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_figures(kind: str, winnow: Winnow, tmp_path: Path) -> None:
    path = tmp_path / "new" / f"curves.{kind}"
    said = winnow("theory", "--points", 3, "--keep", 0.5, "--keep", 0.1, "--figure", path)
    assert said.out.endswith(f"\n\nfigure  {path}\n")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind]
    assert path.read_bytes().startswith(start)
    if kind == "svg":
        texts = [node.text for node in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]
        wanted = {"keep 0.5", "keep 0.1", "random", "hard, perfect probe", "kept examples per dimension"}
        assert wanted <= set(texts)


USER_ERRORS = [
    ("--alpha 0", "alphas of learning_curve must be a number above 0"),
    ("--alpha nan", "must be finite"),
    ("--from 0", "--from of winnow theory"),
    ("--from 5 --to 2", "--from of winnow theory"),
    ("--to -1", "--to of winnow theory"),
    ("--points 1", "--points"),
    ("--alpha 1 --to 3", "give one of them"),
    ("--keep 2", "--keep must be a number in (0, 1]"),
    ("--keep 0", "--keep must be"),
    ("--keep half", "--keep must be a fraction"),
    ("--angle 100", "--angle must be a number in [0, 90]"),
    ("--policy hrad", "hrad"),
    ("--policy window --window 1", "--window must be two numbers"),
    ("--policy window --window 2,1", "b of window"),
    ("--policy hard --window 1,2", "--window belongs to --policy window"),
    ("--window 0.5,1.2 --keep 0.9", "must agree with its window"),
    ("--keep best", "there is no best one"),
    ("--total -3", "--total must be"),
    ("--total 5 --alpha 6", "at most total=5"),
    ("--smallest 3", "--smallest must be"),
    ("--total 100 --policy random --points 2", "random"),
    ("--information --angle 10", "--information"),
    ("--information --alpha -1", "alpha of information_gain"),
    ("--simulate --draws 1 --points 2", "draws of simulate"),
    ("--simulate --dimension 1 --points 2", "N of simulate"),
    ("--figure x.jpg", "must end in .png, .svg or .pdf"),
]


@pytest.mark.parametrize(("typed", "words"), USER_ERRORS, ids=[typed for typed, _ in USER_ERRORS])
def test_a_mistake_is_one_line_and_code_two(typed: str, words: str, winnow: Winnow) -> None:
    said = winnow("theory", *typed.split())
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("winnow: ")
    assert said.err.count("\n") == 1
    assert words in said.err


def test_a_refused_figure_leaves_the_old_file(winnow: Winnow, tmp_path: Path) -> None:
    path = tmp_path / "old.png"
    path.write_bytes(b"old")
    assert winnow("theory", "--keep", 2, "--figure", path).code == 2
    assert path.read_bytes() == b"old"
    (tmp_path / "folder.png").mkdir()
    assert "is a directory" in winnow("theory", "--figure", tmp_path / "folder.png").err
