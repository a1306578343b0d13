"""Two seeds side by side on two cores, beside one seed on one core: trainings per second of `observe`.

    python benchmarks/seeds_side_by_side.py [--examples 10000] [--epochs 6] [--repeats 3]

Take at least 4 epochs of 10,000 examples: `Local` does shorter trainings in one process, and then nothing is compared.

LeNet-5 on Fashion-MNIST if it is at hand (WINNOW_DATA), random images otherwise. Both run in turn. Seconds of the wall
say what two cores save only if nothing else runs beside it; two processes that do nothing but multiply say how much of
two cores there was. Processor seconds of all processes say it on a busy machine too: if two seeds cost twice as many as
one, and each has a core, they take as long as one. Starting the workers, which import torch and read their data, is
left out by taking twice the epochs minus once the epochs. The same network in plain torch, without winnow
(`plain_training.py`), one process and two, says how much of two cores a training of this kind can use.
"""

from __future__ import annotations

import argparse
import datetime
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from machine import processor

import winnow as wn
from winnow.core.errors import WinnowError
from winnow.engines.local import Local

BUSY = "import numpy as n, time; a = n.random.default_rng(0).random((700, 700)); s = time.perf_counter()\nfor _ in range(150): a @ a\nprint(time.perf_counter() - s)"  # noqa: E501


def data(examples: int) -> wn.Source:
    if os.environ.get("WINNOW_DATA"):
        try:
            return wn.open("fashion-mnist").at(np.arange(examples))
        except (WinnowError, AttributeError) as error:
            print(f"Fashion-MNIST is not at hand ({error}); taking random images.")
    draw = np.random.default_rng(0)
    return wn.open((draw.random((examples, 1, 28, 28), dtype=np.float32), draw.integers(0, 10, examples)))


def spent() -> float:
    """Processor seconds of this process and of all that it started and that are still there."""
    rows = {}
    for found in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = found.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        rows[int(found.parent.name)] = (int(words[1]), int(words[11]) + int(words[12]))
    ours, before = {os.getpid()}, 0
    while len(ours) > before:
        before = len(ours)
        ours |= {one for one, (parent, _) in rows.items() if parent in ours}
    return sum(rows[one][1] for one in ours) / os.sysconf("SC_CLK_TCK")


def observed(source: wn.Source, seeds: int, workers: int, epochs: int) -> tuple[float, float]:
    """Seconds of the wall and of the processors."""
    start, used = time.perf_counter(), spent()
    recipe = wn.Recipe(epochs=epochs, batch=128)
    wn.observe(source, "lenet5", recipe, seeds=seeds, engine=Local(workers=workers, threads=1))
    return time.perf_counter() - start, spent() - used


def plain(examples: int, epochs: int, count: int) -> tuple[float, float]:
    """So many trainings in plain torch, at once: seconds of the wall and of the processors."""
    command = [sys.executable, str(Path(__file__).with_name("plain_training.py")), str(examples), str(epochs)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
    ]
    for one in started:
        one.stdout.readline()  # it is ready
    for one in started:
        one.stdin.write("\n")
        one.stdin.flush()
    taken = [tuple(map(float, one.communicate()[0].split())) for one in started]
    return max(wall for wall, _ in taken), sum(used for _, used in taken)


def best_of_two_cores() -> float:
    """How much faster two processes work than one, if they need nothing but the processor."""

    def together(count: int) -> float:
        started = [
            subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]
        return max(float(one.communicate()[0]) for one in started)

    return 2 * together(1) / together(2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    source = data(asked.examples)
    ways = {(seeds, epochs): [] for epochs in (asked.epochs, 2 * asked.epochs) for seeds in (1, 2)}
    bare = {1: [], 2: []}
    observed(source, 2, 2, 1)
    for _ in range(asked.repeats):
        for count, taken in bare.items():
            taken.append(plain(len(source), asked.epochs, count))
        for (seeds, epochs), taken in ways.items():
            taken.append(observed(source, seeds, seeds, epochs))
    wall, used = ({way: statistics.median(one[k] for one in taken) for way, taken in ways.items()} for k in (0, 1))
    print(f"{datetime.date.today()}, {processor()}, {os.cpu_count()} cores; LeNet-5, {len(source):,} examples\n")
    print("| | one seed, one core | two seeds, two cores | rate of two |\n|---|---|---|---|")
    for name, found, cores in (("wall", wall, 1), ("processor", used, 2)):
        one, two = (found[seeds, 2 * asked.epochs] - found[seeds, asked.epochs] for seeds in (1, 2))
        print(f"| {asked.epochs} epochs, s of the {name} | {one:.2f} | {two:.2f} | {2 * one / (two / cores):.2f} |")
        one, two = (found[seeds, 2 * asked.epochs] for seeds in (1, 2))
        print(
            f"| the whole call, {2 * asked.epochs} epochs, s of the {name} | {one:.2f} | {two:.2f} "
            f"| {2 * one / (two / cores):.2f} |"
        )
    for k, name, cores in ((0, "wall", 1), (1, "processor", 2)):
        one, two = (statistics.median(taken[k] for taken in bare[count]) for count in (1, 2))
        rate = 2 * one / (two / cores)
        print(f"| {asked.epochs} epochs in plain torch, s of the {name} | {one:.2f} | {two:.2f} | {rate:.2f} |")
    print(f"\nTwo processes that only multiply small matrices: {best_of_two_cores():.2f} times one.")


if __name__ == "__main__":
    main()
