"""What acceleration costs a step: each method alone, and stage 1 with two weak views and with one.

    python benchmarks/rela.py [--examples 5000] [--repeats 5] [--block 4] [--methods byol,simsiam] [--prior NAME]

All arms are timed in one process on one thread, in turn, a block of steps at a time, so that a slow minute of the
machine slows each of them. Medians over blocks are printed, and ratios to the method are taken within a turn before
their median is. Stage 1 is timed as it runs before each method: its momentum networks follow. Beside the clock on the
wall stands the processor's time. At the end: seconds to make the targets, against those of an epoch of each method.
"""

from __future__ import annotations

import argparse
import datetime
import os
import time

import numpy as np
import torch
from machine import processor

import winnow as wn
from winnow.core.errors import WinnowError
from winnow.methods.relabel.acceleration import RECIPE
from winnow.methods.relabel.accelerator import Accelerator
from winnow.methods.relabel.pretrain_loop import Pretraining
from winnow.methods.relabel.self_supervised import METHODS, method_of
from winnow.methods.relabel.student import student
from winnow.training import Feed

STEPS = 800
DIM = 128


def data(examples: int) -> tuple[wn.Source, str]:
    """CIFAR-10 if it is at hand, otherwise noise of the same shape: a step takes as long."""
    if os.environ.get("WINNOW_DATA"):
        try:
            src = wn.open("cifar10")
            where = np.random.default_rng(0).choice(len(src), min(examples, len(src)), replace=False)
            return src.at(where).with_labels(None, "unlabelled"), "CIFAR-10"
        except (WinnowError, ImportError) as error:
            print(f"CIFAR-10 is not at hand ({error}); taking noise.")
    pixels = np.random.default_rng(0).integers(0, 256, (examples, 3, 32, 32), dtype=np.uint8)
    return wn.open(pixels), "noise"


def pretraining(feed: Feed, targets: wn.relabel.Targets, name: str, views: int) -> Pretraining:
    """A method alone (no views), or stage 1 before it with so many weak views."""
    network, features = student("convnet", feed.source.shape, 0)
    method = method_of(name, network, features, 0, STEPS, examples=len(feed), batch=RECIPE.batch)
    method.local_size = (feed.source.shape[1] // 2, feed.source.shape[2] // 2) if method.local_views else None
    accelerator = Accelerator(features, targets.dim, STEPS, switch=None) if views else None
    rows = targets.at(feed.ids) if views else None
    return Pretraining(feed, RECIPE, STEPS, 0, network, accelerator, rows, method, None, views, None)


def block(training: Pretraining, steps: int) -> tuple[float, float]:
    """Seconds a step, on the wall's clock and on the processor's."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        training.step()
    return (time.perf_counter() - wall) / steps, (time.process_time() - cpu) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--block", type=int, default=4)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--prior", default="random", help="any prior that relabel.targets knows by name")
    parser.add_argument("--weights", help="a file of weights for it")
    options = parser.parse_args()
    torch.set_num_threads(1)
    src, name = data(options.examples)
    began, worked = time.perf_counter(), time.process_time()
    targets = wn.relabel.targets(src, options.prior, DIM, weights=options.weights, device="cpu")
    making = (time.perf_counter() - began, time.process_time() - worked)
    feed = Feed(src)
    epoch = len(feed) // RECIPE.batch
    print(f"{datetime.date.today()}; {os.cpu_count()} cores, {processor()}; torch {torch.__version__}, 1 thread")
    print(f"convnet of 128 features, {len(feed):,} images ({name}), batch {RECIPE.batch}; ", end="")
    print(f"{options.repeats} turns of {options.block} steps after one to warm up; milliseconds a step, medians")
    print(f"targets: one pass of prior {options.prior!r}, {making[0]:.2f} s wall, {making[1]:.2f} s processor")
    print(
        f"{'':14s} {'wall':>8s} {'processor':>10s} {'stage 1, 2 views':>18s} {'1 view':>18s} {'targets / epoch':>16s}"
    )
    for method in options.methods.split(","):
        arms = [pretraining(feed, targets, method, views) for views in (0, 2, 1)]
        spent = np.empty((options.repeats + 1, 3, 2))
        for turn in range(len(spent)):
            for arm in np.roll(np.arange(3), turn):
                spent[turn, arm] = block(arms[arm], options.block)
        times = np.median(spent[1:], 0)
        ratio = np.median(spent[1:] / spent[1:, :1], 0)[:, 1]
        stages = " ".join(f"{1e3 * times[arm, 1]:9.1f} x{ratio[arm]:7.3f}" for arm in (1, 2))
        share = making[1] / (epoch * times[0, 1])
        print(f"{method:14s} {1e3 * times[0, 0]:8.1f} {1e3 * times[0, 1]:10.1f} {stages} {share:16.3f}", flush=True)
    print("Stage 1 is in seconds of processor, its ratio to the method alone taken within each turn.")


if __name__ == "__main__":
    main()
