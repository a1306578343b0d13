"""Is the default worth using? Every data set and fraction, against everything that is free.

    python -m studies.winning --out runs/winning [--data digits letter] [--seeds 5] [--publish docs/studies]

Finished trainings are kept: kill it at any moment, the same command goes on. `studies/winning/data.py` lists the data
on which the rules were fixed, and those they were then confirmed on. Test data choose nothing. Two commands belong to
it: `python -m studies.winning.validity` (do intervals hold?) and `python -m studies.winning.tolerance_simulation`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import winnow as wn
from winnow.core.progress import shown

from .cells import KEEPS, run_setting
from .data import CONFIRMATION, DEVELOPMENT, FRESH, IMBALANCED, SETTINGS
from .publishing import RECORD, publish


def options() -> argparse.Namespace:
    names = [*DEVELOPMENT, *CONFIRMATION, *FRESH, *IMBALANCED]
    parser = argparse.ArgumentParser(prog="python -m studies.winning", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--data", nargs="+", choices=names, default=names, help="data sets; all if not given")
    parser.add_argument("--seeds", type=int, default=5, help="retrainings per arm")
    parser.add_argument("--keep", type=float, nargs="+", default=list(KEEPS), help="fractions")
    parser.add_argument(
        "--examples", type=int, help="at most so many training examples; those of the setting if not given"
    )
    parser.add_argument("--workers", type=int, help="processes; as many as there are cores if not given")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, proves nothing")
    parser.add_argument(
        "--publish", type=Path, help="also join the record, and write table and figure into this folder"
    )
    return parser.parse_args()


def main() -> None:
    asked = options()
    cells = []
    engine = wn.Local(workers=asked.workers) if asked.workers else None
    for name in asked.data:
        setting = SETTINGS[name].limited(asked.examples)
        cells += run_setting(setting, asked.out, asked.seeds, asked.keep, asked.quick, engine)
        publish(cells, asked.out)
    if asked.publish:
        publish(cells, asked.publish, RECORD)
    print((asked.out / "winning-table.md").read_text())


if __name__ == "__main__":
    with shown():
        main()
