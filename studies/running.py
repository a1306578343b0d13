"""Runs a study in parts: one command, any of the parts, tables and figures written as each is done."""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
from collections.abc import Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg

from .parts import Asked, Part
from .shelf import Shelf


def run(study: str, parts: Sequence[str], about: str, data: Sequence[str] = ()) -> None:
    """Read the command line, run the parts asked for, print and publish what they found.

    Parameters
    ----------
    study
        The package in `studies`; its parts are modules with a function `run(asked)`.
    parts
        Their names, in order.
    about
        One line for the help.
    data
        The data sets it runs on unless told otherwise, if it takes any.
    """
    given = options(study, parts, about, data)
    for name in given.only:
        shelf = Shelf(given.out / name, f"{study} {name}")
        asked = Asked(shelf, given.out / name, tuple(given.data), given.seeds, given.quick)
        part = importlib.import_module(f"studies.{study}.{name}").run(asked)
        command = f"python -m studies.{study} --only {name} --seeds {given.seeds}" + (" --quick" if given.quick else "")
        if list(given.data) != list(data):
            command += f" --data {' '.join(given.data)}"
        text = told(part, command, shelf.seconds())
        for folder in (given.out, given.publish):
            if folder is not None:
                publish(study, part, text, folder)
        print(text)


def options(study: str, parts: Sequence[str], about: str, data: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m studies.{study}", description=about)
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--publish", type=Path, help="also write tables and figures into this folder of the docs")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts), help="parts to run; all unless given")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, proves nothing")
    if data:
        parser.add_argument("--data", nargs="+", default=list(data), help="names that wn.open takes")
    else:
        parser.set_defaults(data=[])
    return parser.parse_args()


def told(part: Part, command: str, seconds: float) -> str:
    """The part as Markdown."""
    made = (
        f"{part.settings} Made {datetime.date.today()} on {os.cpu_count()} cores by `{command}`, "
        f"{seconds / 60:.0f} processor minutes of kept results."
    )
    return "\n".join([*part.table, "", *spaced(part.verdict), "", made, ""])


def spaced(lines: Sequence[str]) -> list[str]:
    """The claim as a paragraph, what was found as a list under it."""
    found = [line if line.startswith("- ") else f"- {line}" for line in lines[1:]]
    return [*lines[:1], *([""] if found else []), *found]


def publish(study: str, part: Part, text: str, folder: Path) -> None:
    """Write `<study>-<name>.md` and its figure into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{study}-{part.name}.md").write_text(text)
    if part.figure is not None:
        FigureCanvasAgg(part.figure).print_png(folder / f"{study}-{part.name}.png", metadata={"Software": None})
