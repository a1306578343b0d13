"""Who may import whom: the contracts of `.importlinter`, that each can be broken, and the loopholes they do not see."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.source_tree import Module, read_package

import winnow

PACKAGE = Path(winnow.__file__).parent
CONTRACTS = Path(__file__).parents[2] / ".importlinter"
MODULES = [module for name, module in read_package(PACKAGE).modules.items() if name]

# The libraries that only one file may touch, and which.
ONE_HOME = {
    "datasets": "sources.hf",
    "torchvision": "models.library_networks",
    "timm": "models.library_networks",
    "transformers": ("training.integrations.hf_trainer", "models.transformer_folder"),  # subclasses, and loads
    "pytorch_lightning": "training.integrations.lightning",
    "lightning": "training.integrations.lightning",
    "skrub": "sources.table_encoder",
    "lightly": "methods.relabel.lightly_methods",
    "ray": "engines.ray",
}
# Where a module is imported by its name in a string, which no contract can see.
BY_NAME = {"_moved", "cli.command", "core.registry", "methods.relabel", "training.integrations.lightning"}
# No package may bear the name of a public function: importing it would hide the function.
PUBLIC_FUNCTIONS = {
    "open",
    "observe",
    "embed",
    "score",
    "select",
    "prune",
    "plan",
    "evaluate",
    "narrow",
    "probe",
    "proxy",
    "train",
}
# What is planted in which file, and the contract that has to break.
LAZY = "def planted():\n    from ..{} import anything\n"
FAULTS = {
    "a room further up": ("order", {"artefacts/planted.py": "from ..cli import main\n"}),
    "a room without a place": ("order", {"planted/__init__.py": ""}),
    "evaluation imports scores when called": ("evaluation", {"evaluation/planted.py": LAZY.format("scores")}),
    "evaluation imports selectors when called": ("evaluation", {"evaluation/planted.py": LAZY.format("selectors")}),
    "evaluation reaches scores through a third room": (
        "evaluation",
        {
            "evaluation/planted.py": "from ..artefacts import planted\n",
            "artefacts/planted.py": "from .. import scores\n",
        },
    ),
    "evaluation imports checking once there is one": (
        "evaluation",
        {"checking/__init__.py": "", "evaluation/planted.py": "from .. import checking\n"},
    ),
    "the report imports training for a type": (
        "readers",
        {
            "report/planted.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
            "    from ..training.recipe import Recipe\n"
        },
    ),
    "the viewer imports scores": (
        "readers",
        {"viewer/__init__.py": "", "viewer/planted.py": LAZY.format("scores")},
    ),
    "the core imports torch when called": ("core", {"core/planted.py": "def planted():\n    import torch\n"}),
}


def lint(folder: Path, contract: str | None = None) -> subprocess.CompletedProcess[str]:
    """Check the package that lies in `folder`, all contracts or one."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    command += ["--no-logo", "--config", str(CONTRACTS), *(["--contract", contract] if contract else [])]
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_the_contracts_are_kept() -> None:
    done = lint(PACKAGE.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("fault", FAULTS)
def test_a_contract_breaks_if_it_is_broken(fault: str, tmp_path: Path) -> None:
    contract, files = FAULTS[fault]
    shutil.copytree(PACKAGE, tmp_path / "winnow", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in files.items():
        file = tmp_path / "winnow" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    done = lint(tmp_path, contract)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 broken" in done.stdout
    assert "planted" in done.stdout


def test_each_contract_has_been_seen_to_break() -> None:
    contracts = re.findall(r"^\[importlinter:contract:(\w+)\]", CONTRACTS.read_text(), re.MULTILINE)
    assert set(contracts) == {contract for contract, _ in FAULTS.values()}


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.name)
def test_nothing_goes_out_and_in_again_by_the_public_door(module: Module) -> None:
    """The contracts leave the door out, since it names every room; so nobody may import a room's name from it."""
    inside = {each.room for each in MODULES} | {"__version__"}
    for name, line in module.imported_names("winnow"):
        first, _, rest = name.partition(".")
        allowed = first != "winnow" or rest.partition(".")[0] in inside
        assert allowed, f"{module.name}, line {line}, imports {name} from the door; import it from its room"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.name)
def test_imports_by_a_string_have_a_named_place(module: Module) -> None:
    names = {node.id for node in ast.walk(module.syntax) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(module.syntax) if isinstance(node, ast.Attribute)}
    assert module.name in BY_NAME or not names & {"import_module", "__import__"}


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.name)
def test_an_optional_library_has_one_home(module: Module) -> None:
    for name, line in module.imported_names("winnow"):
        home = ONE_HOME.get(name.split(".")[0])
        homes = home if isinstance(home, tuple) else (home,)
        assert home is None or module.name in homes, f"{module.name}, line {line}, imports {name}; its home is {home}"


def test_no_room_hides_a_public_function() -> None:
    assert not {module.room for module in MODULES} & PUBLIC_FUNCTIONS


def test_no_utils() -> None:
    assert not [module.name for module in MODULES if "util" in module.name or "helper" in module.name]
