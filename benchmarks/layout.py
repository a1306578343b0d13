"""What channels last brings to a training on a CPU: seconds per image of winnow's networks with it and without.

    python benchmarks/layout.py [--repeats 3]

One process, one thread, both ways in turn; random images, which does not matter for the time.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import numpy as np
import torch
from machine import processor
from stopwatch import interleaved

import winnow as wn
from winnow.models import layout
from winnow.training.feed import Feed
from winnow.training.loop import train

NETWORKS = {  # name: shape, images
    "lenet5": ((1, 28, 28), 10_000),
    "convnet:width=16": ((3, 32, 32), 3_000),
    "convnet": ((3, 32, 32), 1_500),
    "resnet20": ((3, 32, 32), 600),
}


def trained(name: str, shape: tuple[int, ...], feed: Feed, packages: tuple[str, ...]) -> None:
    """One epoch; layers of `packages` may have their channels last."""
    with patch.object(layout, "KNOWN", packages):
        train(wn.models.build(name, classes=10, shape=shape), feed, wn.Recipe(epochs=1), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    print(f"{datetime.date.today()}, {processor()}, one thread\n")
    print("| network | usual order, us per image | channels last | ratio |\n|---|---|---|---|")
    for name, (shape, count) in NETWORKS.items():
        images = rng.integers(0, 255, (count, *shape[1:], shape[0]), dtype=np.uint8).squeeze()
        feed = Feed(wn.open((images, rng.integers(0, 10, count))))
        ways: dict[str, Callable[[], None]] = {
            "usual": partial(trained, name, shape, feed, ()),
            "last": partial(trained, name, shape, feed, layout.KNOWN),
        }
        usual, last = (1e6 * reading.seconds / count for reading in interleaved(ways, asked.repeats).values())
        print(f"| `{name}` | {usual:.0f} | {last:.0f} | {usual / last:.2f} |", flush=True)


if __name__ == "__main__":
    main()
