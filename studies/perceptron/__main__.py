"""Redo the paper's figures of the perceptron with the corrected theory, over simulation, and say how well both agree.

    python -m studies.perceptron --out runs/perceptron

Every simulation is kept as soon as it is done. Kill it at any moment: the same command goes on. What is simulated was
chosen beforehand (`simulations.py`), and every point is in the table.
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path

import winnow as wn
from winnow.core.progress import shown, track

from . import information
from .publishing import publish
from .simulations import Plan, Shelf


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.perceptron", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--publish", type=Path, help="also write tables and figures into this folder of the docs")
    parser.add_argument("--draws", type=int, default=100, help="students of a point in 200 dimensions")
    parser.add_argument("--quick", action="store_true", help="a few small students: shows that it runs, proves nothing")
    parser.add_argument("--workers", type=int, help="threads; as many as there are cores unless given")
    return parser.parse_args()


def main() -> None:
    asked = options()
    plan, shelf = Plan.of(asked.draws, asked.quick), Shelf(asked.out, asked.workers)
    wn.theory.simulate(1.0, N=4, draws=2, workers=1)  # compiles, so that no timed student pays for it
    everything = plan.everything()
    for point, N, draws in track(everything, "simulating the perceptron"):
        shelf.simulate(point, N, draws)
    information.counts(plan, shelf)
    about = {
        "date": datetime.date.today().isoformat(),
        "command": f"python -m studies.perceptron --draws {asked.draws}" + (" --quick" if asked.quick else ""),
        "simulations": len(everything),
        "seconds": shelf.seconds(),
    }
    for folder in (asked.out, asked.publish):
        if folder is not None:
            publish(plan, shelf, about, folder)
    written = (asked.out / "perceptron-table.md").read_text()
    print("\n".join(line for line in written.splitlines() if not line.startswith("<!--")))
    print(f"figures  {asked.out}/perceptron-*.png")


if __name__ == "__main__":
    with shown():
        main()
