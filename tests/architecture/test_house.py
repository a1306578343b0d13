"""The figures of `tools.house`, on a small package whose figures are known."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.house import measure, table
from tools.source_tree import Package, read_package
from tools.way import Passed

CODE = '''"""A docstring
over two lines."""

# a comment
import os  # a comment behind code

TEXT = """a string
is code"""


def one():
    """Said."""
    return (
        1,
        # nothing
    )


class Both:
    "Said."

    x = 1; """no docstring"""
'''
FILES = {
    "__init__.py": "",
    "_old.py": "",
    "training/__init__.py": "",
    "training/making.py": "class Plan: ...\nclass _Plan: ...\n",
    "training/long.py": "from . import short\nfrom .making import Plan\n" + "x = 1\n" * 40,
    "training/short.py": "",
    "cli/__init__.py": "from . import train\n",
    "cli/train.py": "class Plan: ...\n",
    "scores/__init__.py": "from .herding import herding\n",
    "scores/herding.py": "from ..core import registry\n\n\n@registry.score(needs=())\ndef herding(): ...\n",
    "scores/making.py": "class Plan: ...\nclass OwnCallback: ...\n",
    "selectors/__init__.py": "",
    "selectors/herding.py": "from ..core.registry import selector\n\n\n@selector\ndef herding(): ...\n",
    "selectors/train.py": "class OwnCallback: ...\n",
    "core/__init__.py": "",
    "core/registry.py": "score = selector = lambda *a, **k: a\n",
}


def package(folder: Path, files: dict[str, str]) -> Package:
    for name, text in files.items():
        file = folder / "src" / "winnow" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return read_package(folder / "src" / "winnow")


def test_code_lines_leave_out_docstrings_comments_and_blanks(tmp_path: Path) -> None:
    module = package(tmp_path, {"__init__.py": CODE}).modules[""]
    assert module.code_lines == 9  # import, string of 2, def, return of 3, class, x and the string behind it
    assert module.lines == len(CODE.splitlines())


def test_rooms_and_names(tmp_path: Path) -> None:
    package(tmp_path, FILES)
    found = measure(tmp_path, runs=False)
    assert found["size"]["modules"] == len(FILES)
    assert found["size"]["rooms"] == ["cli", "core", "scores", "selectors", "training"]
    names = found["names"]
    assert names["modules_twice"] == {"making": ["scores.making", "training.making"]}
    assert set(names["modules_twice_without_exemptions"]) == {"herding", "making", "train"}
    assert names["classes_twice"] == {"Plan": ["scores.making", "training.making"]}
    assert names["classes_twice_without_exemptions"]["Plan"] == ["cli.train", "scores.making", "training.making"]
    assert names["gerunds"] == ["scores.making", "training.making"]
    assert names["small_with_one_user"] == {"training.making": "training.long", "training.short": "training.long"}
    assert "class names used twice                1 (2)" in table(found)


def test_the_way_counts_named_functions_that_are_called(tmp_path: Path) -> None:
    folder = tmp_path / "passed"
    folder.mkdir()
    (folder / "late.py").write_text("def register():\n    return 1\n\n\nregister()\n\n\ndef late():\n    return 2\n")
    (folder / "early.py").write_text(
        "class Kind:\n    def method(self):\n        import late\n        return [late.late() for _ in range(2)]\n\n\n"
        "def not_called(): ...\n\n\ndef start():\n    class Inner: ...\n    return (lambda: Kind().method())()\n"
    )
    sys.path.insert(0, str(folder))
    passed = Passed(folder)
    try:
        import early

        sys.setprofile(passed.watch)
        early.start()
    finally:
        sys.setprofile(None)
        sys.path.remove(str(folder))
        for name in ("early", "late"):
            sys.modules.pop(name, None)
    assert passed.functions() == ["early.py:Kind.method", "early.py:start", "late.py:late"]
