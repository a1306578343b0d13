"""How the time of every score and selector grows: processor seconds at three sizes, and the exponent between them.

    python benchmarks/growth.py [--sizes 3000 9000 27000] [--keep 0.1] [--limit 30] [--write docs/speed-growth.md]

Planted signals (`winnow.testing.planted`): ten classes, two seeds, ten epochs, embeddings of ten numbers. Selectors
keep a share of the examples, so those that compare examples with kept ones grow up to quadratically. Each call is
made once on few examples, and once at each size on one thread, so small times are rough; below a hundredth of a
second at the largest size no exponent is given. A size is left out if the one before says that it would take longer
than the limit.
"""

from __future__ import annotations

import argparse
import datetime
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from machine import processor
from stopwatch import exponent
from threadpoolctl import threadpool_limits

import winnow as wn
from winnow.core import registry
from winnow.core.errors import WinnowError
from winnow.testing import planted

FEW, SHORT = 400, 0.01


def made(n: int) -> wn.Signals:
    return planted(n=n, classes=10, seeds=2, epochs=10, models=60).signals


def calls(signals: wn.Signals, keep: float) -> dict[tuple[str, str], Callable[[], object]]:
    """A call per score and selector; selectors that need scores are given some."""
    found: dict[tuple[str, str], Callable[[], object]] = {}
    for entry in registry.listing("score"):
        found["score", entry.name] = lambda name=entry.name: wn.score(name, signals)
    scores = wn.score("el2n", signals)
    for entry in registry.listing("selector"):
        given = scores if "scores" in entry.needs else signals
        found["selector", entry.name] = lambda name=entry.name, given=given: wn.select(
            name, given, keep=keep, signals=signals if given is scores else None
        )
    return found


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def measured(
    first: Callable[[], object], ways: list[Callable[[], object]], sizes: list[int], limit: float
) -> tuple[list[float], str]:
    """Seconds at the sizes that were tried, and why it ended early, if it was refused."""
    taken: list[float] = []
    try:
        first()
        for place, way in enumerate(ways):
            if taken and taken[-1] * (sizes[place] / sizes[place - 1]) ** 2 > limit:
                break
            taken.append(seconds(way))
    except WinnowError as error:
        return taken, str(error).split(";")[0].split(".")[0]
    return taken, ""


def row(kind: str, name: str, taken: list[float], sizes: list[int], why: str) -> str:
    said = [f"{spent:.3f}" for spent in taken] + [why or "left out"] * (len(sizes) - len(taken))
    measured = len(taken) > 1 and taken[-1] >= SHORT
    growth = f"{exponent(sizes[: len(taken)], taken):.2f}" if measured else "-"
    return f"| {kind} | {name} | {' | '.join(said)} | {growth} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[3_000, 9_000, 27_000])
    parser.add_argument("--keep", type=float, default=0.1)
    parser.add_argument("--limit", type=float, default=30.0, help="processor seconds of a call")
    parser.add_argument("--kind", choices=("both", "score", "selector"), default="both")
    parser.add_argument("--write", type=Path, help="a file for the table")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        f"| | name | {' | '.join(f'{n:,}' for n in asked.sizes)} | exponent |",
        "|---" * (3 + len(asked.sizes)) + "|",
    ]
    print("\n".join(lines), flush=True)
    with threadpool_limits(1):
        few, *every = (calls(made(n), asked.keep) for n in (FEW, *asked.sizes))
        for which, call in few.items():
            if asked.kind not in ("both", which[0]):
                continue
            taken, failed = measured(call, [each[which] for each in every], asked.sizes, asked.limit)
            lines.append(row(*which, taken, asked.sizes, failed))
            print(lines[-1], flush=True)
    sizes, kind = " ".join(map(str, asked.sizes)), "" if asked.kind == "both" else f" --kind {asked.kind}"
    said = (
        f"Processor seconds, {asked.keep:g} kept; {datetime.date.today()}, {processor()}, one thread, one run by "
        f"`python benchmarks/growth.py --sizes {sizes} --keep {asked.keep:g} --limit {asked.limit:g}{kind}`."
    )
    print(f"\n{said}")
    if asked.write:
        asked.write.write_text("\n".join([*lines, "", said]) + "\n")


if __name__ == "__main__":
    main()
