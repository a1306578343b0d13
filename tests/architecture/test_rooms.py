"""The order of the rooms: each imports only from those above it, the whole package through one door."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import winnow

PACKAGE = Path(winnow.__file__).parent

# Top to bottom, as the design draws them. A room may import itself and anything before it.
ROOMS = [
    "_moved", "core", "artefacts", "engines", "sources", "models", "training", "signals", "methods", "scores",
    "selectors", "checking", "evaluation", "report", "explaining", "pruning", "planning", "bench", "viewer", "cli",
]  # fmt: skip
# Opened only when called: a convenience on an artefact, not a dependency of its module.
UPWARD_DOORS = {("artefacts/study.py", "report")}
# The libraries that only one file may touch, and which.
ONE_HOME = {
    "datasets": "sources/hf.py",
    "torchvision": "models/bridge.py",
    "timm": "models/bridge.py",
    "transformers": "training/integrations/hf_trainer.py",
    "pytorch_lightning": "training/integrations/lightning.py",
    "lightning": "training/integrations/lightning.py",
    "lightly": "methods/relabel/lightly_methods.py",
    "ray": "engines/ray.py",
}
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
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def imports(path: Path) -> list[str]:
    """Absolute names of everything a module imports, at any depth."""
    found = []
    inside = path.relative_to(PACKAGE.parent).with_suffix("").parts
    package = inside[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = [*base, *([node.module] if node.module else [])]
            found += [".".join([*stem, alias.name]) for alias in node.names]
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_come_from_above(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return  # the public door names every room, lazily; test_import guards what it loads
    assert room in ROOMS, f"{room} has no place in the order of the rooms"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "winnow" or len(parts) < 2 or parts[1] not in ROOMS:
            continue
        allowed = ROOMS.index(parts[1]) <= ROOMS.index(room)
        door = (str(path.relative_to(PACKAGE)), parts[1]) in UPWARD_DOORS
        assert allowed or door, f"{path.name} of {room} imports {name}, which lies below it"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_an_optional_library_has_one_home(path: Path) -> None:
    relative = str(path.relative_to(PACKAGE))
    for name in imports(path):
        home = ONE_HOME.get(name.split(".")[0])
        assert home is None or home == relative, f"{relative} imports {name}; its home is {home}"


def test_no_room_hides_a_public_function() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir()} | {p.stem for p in PACKAGE.glob("*.py")}
    assert not rooms & PUBLIC_FUNCTIONS


def test_no_utils() -> None:
    assert not [path for path in modules() if "util" in path.stem or "helper" in path.stem]
