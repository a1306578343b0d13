"""What random numbers keyed by id cost: against numpy's generator, which knows no ids, and ten lines with hashlib.

    python benchmarks/draws.py [--ids 1000000] [--repeats 7]

Processor time on one thread, median over the repeats; all ways in turn, so that a slow minute slows each of them.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from machine import processor
from numpy.typing import NDArray

from winnow.core.seeds import uniforms


def with_hashlib(ids: NDArray[Any]) -> NDArray[np.float64]:
    """The obvious way: a keyed hash of the text of each id."""
    key = hashlib.blake2b(b"0 draw").digest()
    out = np.empty(len(ids))
    for at, name in enumerate(ids.tolist()):
        digest = hashlib.blake2b(str(name).encode(), digest_size=8, key=key).digest()
        out[at] = ((int.from_bytes(digest, "little") >> 12) + 0.5) / 2**52
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    numbers = np.arange(options.ids)
    texts = np.array([hashlib.blake2b(str(i).encode(), digest_size=16).hexdigest() for i in range(options.ids)])
    ways: dict[str, Callable[[], object]] = {
        "numpy Generator.random": lambda: np.random.default_rng(0).random(options.ids),
        "uniforms, whole numbers": lambda: uniforms(0, "draw", numbers),
        "uniforms, 32 letters": lambda: uniforms(0, "draw", texts),
        "hashlib, whole numbers": lambda: with_hashlib(numbers),
        "hashlib, 32 letters": lambda: with_hashlib(texts),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(options.repeats + 1):
        for way, run in ways.items():
            start = time.process_time()
            run()
            seconds[way].append(time.process_time() - start)
    print(f"{datetime.date.today()}; {os.cpu_count()} cores, {processor()}; numpy {np.__version__}")
    print(f"{options.ids:,} ids, {options.repeats} repeats after one to warm up; processor seconds, median")
    for way, times in seconds.items():
        print(f"{way:26s} {np.median(times[1:]):8.4f} s")


if __name__ == "__main__":
    main()
