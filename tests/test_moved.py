"""Old import paths: each finds the module at its new place, once, with a deprecation note."""

from __future__ import annotations

import subprocess
import sys

import pytest

from winnow._moved import MOVED


def run(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=False)


def test_every_old_path_finds_the_module_at_its_new_place() -> None:
    # Those of frameworks take seconds to import and are found in the same way.
    light = {old: new for old, new in MOVED.items() if not old.startswith("training.")}
    code = "import importlib, sys, warnings; warnings.simplefilter('ignore')\n" + "\n".join(
        f"assert importlib.import_module('winnow.{old}') is importlib.import_module('winnow.{new}'), {old!r}\n"
        f"assert importlib.import_module('winnow.{new}').__spec__.name == 'winnow.{new}', {old!r}"
        for old, new in light.items()
    )
    done = run(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "statement", ["import winnow.checks", "from winnow import seeds", "from winnow.store import Run"]
)
def test_an_old_path_warns(statement: str) -> None:
    done = run(statement, "-W", "error::DeprecationWarning")
    assert done.returncode == 1
    assert "has moved to winnow.core." in done.stderr.splitlines()[-1]


def test_public_names_do_not_warn() -> None:
    done = run("import winnow as wn; assert wn.errors; import winnow.errors", "-W", "error")
    assert done.returncode == 0, done.stderr
    assert (
        run("import winnow.nonsense").stderr.splitlines()[-1]
        == "ModuleNotFoundError: No module named 'winnow.nonsense'"
    )
