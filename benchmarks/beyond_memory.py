"""How fast an epoch is when the data are five times what may be held in memory, against holding all of it.

    python benchmarks/beyond_memory.py [--rows 200000] [--columns 512] [--repeats 3]

A tiny MLP on a table of float32, which makes reading matter most: an epoch in memory, and one from the file that is
mapped, with the usual shuffle and with `Recipe(order="sharded")`. What the machine keeps at hand of a file is part of
what users see, so nothing is dropped between the arms: for data beyond the machine's own memory, the disk decides.
Decoding into the file is timed by itself; it happens once.
"""

from __future__ import annotations

import argparse
import datetime
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from machine import processor

import winnow as wn
from winnow.training import Feed, train


def made(folder: Path, rows: int, columns: int) -> wn.Source:
    """A table in a .npy file, opened as a user would."""
    rng = np.random.default_rng(0)
    x = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (rows, columns))
    for start in range(0, rows, 10_000):
        x[start : start + 10_000] = rng.standard_normal((min(10_000, rows - start), columns), dtype=np.float32)
    x.flush()
    np.save(folder / "y.npy", rng.integers(0, 10, rows))
    return wn.open(folder)


def rate(feed: Feed, recipe: wn.Recipe) -> float:
    """Examples per second of the processor in one epoch."""
    network = wn.models.build("mlp", classes=10, shape=feed.source.shape, seed=0)
    start = time.process_time()
    train(network, feed, recipe, 0)
    return len(feed) / (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{datetime.date.today()}; {os.cpu_count()} cores, {processor()}; torch {torch.__version__}, 1 thread")
    size = options.rows * options.columns * 4
    print(f"{options.rows:,} rows of {options.columns} numbers, {size / 1e6:.0f} MB; budget {size / 5e6:.0f} MB")
    with tempfile.TemporaryDirectory() as name:
        source = made(Path(name), options.rows, options.columns)
        start = time.process_time()
        spilled = Feed(source, budget=size // 5)
        print(f"decoded into a file, and scaling measured: {time.process_time() - start:.2f} s, once")
        whole = Feed(source, spilled.scaling, budget=2 * size)
        one = wn.Recipe(epochs=1)
        arms = {
            "in memory": (whole, one),
            "mapped, shuffled": (spilled, one),
            "mapped, sharded": (spilled, replace(one, order="sharded")),
        }
        found = np.array([[rate(*arm) for arm in arms.values()] for _ in range(options.repeats + 1)])[1:]
    print(f"{'':18s} {'examples per CPU second':>24s} {'against memory':>16s}")
    for k, arm in enumerate(arms):
        ratio = np.median(found[:, k] / found[:, 0])
        print(f"{arm:18s} {np.median(found[:, k]):24,.0f} {ratio:16.2f}")


if __name__ == "__main__":
    main()
