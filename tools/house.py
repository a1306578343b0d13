"""What the house looks like in numbers: its size, the way of one image through it, its names, what importing it costs.

    python -m tools.house [--tree CHECKOUT] [--json] [--no-runs] [--repeats 5]

Everything is read from the tree or measured in fresh processes, so that any checkout can be compared with any other:
`--tree` is the root of another one. `--no-runs` leaves out what needs a process (the way and the imports).

Definitions
-----------
module
    A `.py` file below `src/winnow`, an `__init__` included.
room
    A top-level package or module of winnow; the package's own `__init__` is a door and no room.
code lines
    Lines with at least one token of code: no blank line, comment or docstring (`source_tree`).
way of one image
    The functions, modules and rooms whose code runs while a few dozen images of two classes are pruned to a half with
    two epochs and one seed: to a subset from Python, and to proof and report from the command line. Counted are named
    functions and methods that are called at least once, not what runs during an import (`way` has the details).
names
    Module and class names that are used twice, gerunds, small modules with one user; `names` says what is exempt. The
    figures in brackets are without exemptions.
imports
    Medians over fresh processes, and their ratio to `import torch`; first use is `wn.prune` on a small array until it
    starts to train (`import_time`).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from . import names
from .child import ROOT, child
from .import_time import medians
from .source_tree import Package, read_package

__all__ = ["measure"]


def measure(tree: Path, *, runs: bool = True, repeats: int = 5) -> dict[str, Any]:
    """All figures of a checkout, as plain values."""
    source = tree / "src"
    package = read_package(source / "winnow")
    found: dict[str, Any] = {"size": size(package), "names": named(package)}
    if runs:
        found["way"] = {which: way(which, source) for which in ("subset", "proof")}
        found["imports"] = medians(source, repeats)
    return found


def size(package: Package) -> dict[str, Any]:
    """Modules, rooms and lines."""
    modules = package.modules.values()
    return {
        "modules": len(modules),
        "rooms": package.rooms,
        "lines": sum(module.lines for module in modules),
        "code_lines": sum(module.code_lines for module in modules),
        "code_lines_by_room": {
            room: sum(module.code_lines for module in modules if module.room == room) for room in package.rooms
        },
    }


def named(package: Package) -> dict[str, Any]:
    """Names that hide what they hold."""
    return {
        "modules_twice": names.duplicate_modules(package),
        "modules_twice_without_exemptions": names.duplicate_modules(package, exempt=False),
        "classes_twice": names.duplicate_classes(package),
        "classes_twice_without_exemptions": names.duplicate_classes(package, exempt=False),
        "gerunds": names.gerunds(package),
        "in_ing": names.in_ing(package),
        "small_with_one_user": names.small_with_one_user(package),
    }


def way(which: str, source: Path) -> dict[str, list[str]]:
    """What one image passes; see `way`."""
    with tempfile.TemporaryDirectory() as folder:
        passed: dict[str, list[str]] = child("tools.way", [which, folder], source)
    return passed


def table(found: dict[str, Any]) -> str:
    """The figures, one per line, then the names that are worth a look."""
    told = found["names"]
    rows: list[tuple[str, object]] = [
        ("modules", found["size"]["modules"]),
        ("rooms", len(found["size"]["rooms"])),
        ("lines", found["size"]["lines"]),
        ("code lines", found["size"]["code_lines"]),
    ]
    for which, passed in found.get("way", {}).items():
        counts = f"{len(passed['functions'])} in {len(passed['modules'])} and {len(passed['rooms'])}"
        rows.append((f"functions in modules and rooms on the way to the {which}", counts))
    rows += [
        ("module names used twice", _with_all(told, "modules_twice")),
        ("class names used twice", _with_all(told, "classes_twice")),
        ("modules called by a gerund", f"{len(told['gerunds'])} ({len(told['in_ing'])} in -ing)"),
        ("modules under 40 lines with one user", len(told["small_with_one_user"])),
    ]
    if "imports" in found:
        rows += _import_rows(found["imports"])
    wide = max(len(name) for name, _ in rows)
    lines = [f"{name:<{wide}}  {value}" for name, value in rows]
    for title in ("modules_twice", "classes_twice"):
        lines += ["", f"{title.replace('_', ' ')}:", *(f"  {n}: {', '.join(who)}" for n, who in told[title].items())]
    lines += ["", "gerunds:", *(f"  {name}" for name in told["gerunds"])]
    lines += ["", "small with one user:", *(f"  {n} of {user}" for n, user in told["small_with_one_user"].items())]
    return "\n".join(lines)


def _with_all(told: dict[str, Any], key: str) -> str:
    return f"{len(told[key])} ({len(told[f'{key}_without_exemptions'])})"


def _import_rows(imports: dict[str, Any]) -> list[tuple[str, object]]:
    titles = {
        "torch": "import torch",
        "winnow": "import winnow",
        "names": "wn.open and wn.prune resolved",
        "prune": "first use of wn.prune",
    }
    rows: list[tuple[str, object]] = []
    for name, title in titles.items():
        seconds, busy = imports["clock_seconds"][name], imports["processor_seconds"][name]
        ratios = f"{imports['ratio_to_torch'][name]:.2f} and {imports['processor_ratio_to_torch'][name]:.2f} of torch"
        rows.append((title, f"{seconds:.3f} s, {busy:.3f} s of processor ({ratios})"))
    rows.append(("loaded by a first use", ", ".join(imports["loaded_by_first_prune"]) or "none of those watched"))
    return rows


def main() -> None:
    """Print the figures of a checkout."""
    parser = argparse.ArgumentParser(description="The house in numbers.", allow_abbrev=False)
    parser.add_argument("--tree", type=Path, default=ROOT, help="root of a checkout; this one if not given")
    parser.add_argument("--json", action="store_true", help="print JSON, with every list in full")
    parser.add_argument("--no-runs", action="store_true", help="only what is read from the tree")
    parser.add_argument("--repeats", type=int, default=5, help="fresh processes per import time")
    given = parser.parse_args()
    found = measure(given.tree.resolve(), runs=not given.no_runs, repeats=given.repeats)
    print(json.dumps(found, indent=1) if given.json else table(found))


if __name__ == "__main__":
    main()
