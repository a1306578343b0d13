"""Redo what the lpNTK paper shows, sized for a small machine, and say where its claims hold.

    python -m studies.lpntk --out runs/lpntk [--only poison tail] [--publish docs/studies]

Every result is kept as soon as it is there. Kill it at any moment: the same command goes on. Sizes and settings were
chosen before anything was looked at; test data are used to report, never to choose.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg

from winnow.progress import shown

from ..shelf import Shelf
from .parts import Asked, Part

PARTS = ("difficulty", "companions", "forgetting", "tail", "pruning", "poison")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.lpntk", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--publish", type=Path, help="also write tables and figures into this folder of the docs")
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=list(PARTS), help="the parts to run; all unless given"
    )
    parser.add_argument("--data", nargs="+", default=["mnist", "fashion-mnist"], help="names that wn.open takes")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, proves nothing")
    return parser.parse_args()


def main() -> None:
    given = options()
    for name in given.only:
        shelf = Shelf(given.out / name, f"lpntk {name}")
        asked = Asked(shelf, given.out / name, tuple(given.data), given.seeds, given.quick)
        part = importlib.import_module(f".{name}", __package__).run(asked)
        command = f"python -m studies.lpntk --only {name} --seeds {given.seeds}" + (" --quick" if given.quick else "")
        if given.data != ["mnist", "fashion-mnist"]:
            command += f" --data {' '.join(given.data)}"
        text = told(part, command, shelf.seconds())
        for folder in (given.out, given.publish):
            if folder is not None:
                publish(part, text, folder)
        print(text)


def told(part: Part, command: str, seconds: float) -> str:
    """The part as Markdown."""
    made = (
        f"{part.settings} Made {datetime.date.today()} on {os.cpu_count()} cores by `{command}`, "
        f"{seconds / 60:.0f} processor minutes of kept results."
    )
    return "\n".join([*part.table, "", *part.verdict, "", made, ""])


def publish(part: Part, text: str, folder: Path) -> None:
    """Write `lpntk-<name>.md` and its figure into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"lpntk-{part.name}.md").write_text(text)
    if part.figure is not None:
        FigureCanvasAgg(part.figure).print_png(folder / f"lpntk-{part.name}.png", metadata={"Software": None})


if __name__ == "__main__":
    with shown():
        main()
