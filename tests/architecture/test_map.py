"""The picture of the rooms: the committed one is what the imports say, and it changes with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from tools.import_graph import PICTURE, draw, room_imports, room_order
from tools.source_tree import read_package

ROOT = Path(__file__).parents[2]
FILES = {
    "__init__.py": "from .low import thing\n",
    "low.py": "",
    "middle/__init__.py": "",
    "middle/one.py": "from ..low import a, b\n",
    "middle/two.py": "def when_called():\n    from .. import low\n",
    "high/__init__.py": "from ..middle import one, two\nfrom . import inner\n",
    "high/inner.py": "import winnow.low\n",
}


def house(folder: Path, **more: str) -> Path:
    for name, text in {**FILES, **more}.items():
        file = folder / "src" / "winnow" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def check(tree: Path) -> int:
    command = [sys.executable, "-m", "tools.import_graph", "--check", "--tree", str(tree)]
    return subprocess.run(command, cwd=ROOT, capture_output=True).returncode


def test_the_committed_picture_is_up_to_date() -> None:
    assert (ROOT / PICTURE).read_text() == draw(ROOT), "run make map"


def test_import_lines_are_counted_by_room(tmp_path: Path) -> None:
    package = read_package(house(tmp_path) / "src" / "winnow")
    assert room_imports(package) == {("middle", "low"): 2, ("high", "middle"): 1, ("high", "low"): 1}


def test_the_order_is_laid_down_or_follows_the_imports(tmp_path: Path) -> None:
    tree = house(tmp_path)
    package = read_package(tree / "src" / "winnow")
    assert room_order(tree, package) == ["low", "middle", "high"]
    (tree / ".importlinter").write_text(
        "[importlinter:contract:order]\nlayers =\n    middle\n    (absent)\n    (high)\n    low\n"
    )
    assert room_order(tree, package) == ["low", "high", "middle"]


def test_each_pair_of_rooms_has_one_arrow_and_an_exception_is_dashed(tmp_path: Path) -> None:
    tree = house(tmp_path)
    (tree / ".importlinter").write_text("[importlinter:contract:order]\nlayers =\n    middle\n    high\n    low\n")
    curves = [node for node in ElementTree.fromstring(draw(tree)).iter() if "C" in node.get("d", "")]
    assert len(curves) == 3
    assert len([node for node in curves if node.get("stroke-dasharray")]) == 1


def test_the_check_notices_a_new_import(tmp_path: Path) -> None:
    tree = house(tmp_path)
    (tree / PICTURE).parent.mkdir(parents=True)
    assert check(tree) == 1
    (tree / PICTURE).write_text(draw(tree))
    assert check(tree) == 0
    house(tree, **{"low.py": "def when_called():\n    from .high import inner\n"})
    assert check(tree) == 1
