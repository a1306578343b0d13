"""Run the record, or a part of it, and write its tables and figures.

    python -m studies.record --out runs/record                        # every method, four data sets
    python -m studies.record --out runs/record --part grid            # four methods, Fashion-MNIST of 2,000 to 60,000
    python -m studies.record --out runs/record --part bridge          # from one study to another, a change at a time
    python -m studies.record --out runs/record --data digits --budget 0.2

The rules are those of docs/record.md, written down before the first run. Kill it at any moment: the same command goes
on. A budget is for each data set; what does not fit is listed. `--publish docs/studies` keeps results in
`studies/record/results`, joins what was kept there before, also of single fractions (`--keeps 0.3`), and writes tables
of the data sets that have all fractions.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import winnow as wn
from studies.winning.data import SETTINGS, opened
from winnow.bench.benchmark import joined
from winnow.core.progress import shown

from .bridge import bridge_told
from .publishing import finished, keep, publish, publish_bridge

DATA = ("fashion-mnist", "cifar10", "sst2", "satimage")
SIZES = (2_000, 6_000, 20_000, 60_000)
GRID_METHODS = ("el2n", "aum+strata", "beta", "tilted")
KEEPS = (0.5, 0.3, 0.1)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.record", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--part", choices=("methods", "grid", "bridge"), default="methods")
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=sorted(SETTINGS), help="data sets")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="of the grid")
    parser.add_argument("--methods", nargs="+", help="methods to run; all that are registered unless given")
    parser.add_argument("--keeps", nargs="+", type=float, default=list(KEEPS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=float, help="hours per data set")
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--labels-only", action="store_true", help="no soft targets")
    parser.add_argument(
        "--publish", type=Path, help="keep the results in the repo, with those of before, and write tables here"
    )
    return parser.parse_args()


def main() -> None:
    asked = options()
    out = asked.out / asked.part
    if asked.part == "bridge":
        with shown():
            folder = asked.publish or out
            bridge_told(out, asked.seeds, at_row=lambda lines: publish_bridge(lines, asked.seeds, folder))
        return
    with shown():
        if asked.part == "methods":
            for name in asked.data:
                source, test = opened(SETTINGS[name])
                run(asked, SETTINGS[name].model, SETTINGS[name].recipe, source, test, asked.methods, out)
        else:
            setting = SETTINGS["fashion-mnist"]
            for size in asked.sizes:
                source, test = wn.open("fashion-mnist", limit=size), wn.open("fashion-mnist", split="test")
                run(asked, setting.model, setting.recipe, source, test, asked.methods or GRID_METHODS, out)
    record = joined(out)
    print(record.summary())
    publish(record, asked.part, out)
    if asked.publish is not None:
        publish(finished(keep(out, asked.part), KEEPS), asked.part, asked.publish)


def run(
    asked: argparse.Namespace,
    model: str,
    recipe: wn.Recipe,
    source: wn.Source,
    test: wn.Source,
    methods: list[str] | tuple[str, ...] | None,
    out: Path,
) -> None:
    """Benchmark one data set."""
    wn.benchmark(
        source,
        asked.keeps,
        methods=methods,
        test=test,
        model=model,
        recipe=recipe,
        seeds=asked.seeds,
        labels_only=asked.labels_only,
        budget=asked.budget,
        out=out,
        engine=wn.Local(workers=asked.workers),
    )


if __name__ == "__main__":
    main()
