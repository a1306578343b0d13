"""What recording dynamics and predictions in the training pass costs, in percent of an epoch of winnow's own loop.

    python benchmarks/dynamics.py [--repeats 5]

An MLP on the digits of scikit-learn, repeated to 20,000 rows, and LeNet-5 on 20,000 images (Fashion-MNIST if
WINNOW_DATA holds it, otherwise the digits enlarged). The processor's time inside the recording is set against that of
the rest of the same training, on one thread: on a shared machine two trainings differ by more than recording costs.
"""

from __future__ import annotations

import argparse
import datetime
import os
import time

import numpy as np
import torch
from machine import processor
from numpy.typing import NDArray
from recording import data

import winnow as wn
from winnow.core.seeds import number
from winnow.signals.dynamics import dynamics, predictions
from winnow.signals.observation import Look, Observation
from winnow.training import Feed, train

EXAMPLES = 20_000


def digits() -> wn.Source:
    """The digits of scikit-learn as a table of 20,000 rows."""
    from sklearn.datasets import load_digits

    found = load_digits()
    where = np.arange(EXAMPLES) % len(found.target)
    return wn.open((found.data[where].astype(np.float32), found.target[where]))


def images() -> wn.Source:
    """20,000 images of 28 x 28 pixels."""
    x, y, _ = data(EXAMPLES)
    return wn.open(((x.numpy() * 255).astype(np.uint8), y.numpy()))


def seconds(feed: Feed, model: str, recipe: wn.Recipe) -> tuple[float, float]:
    """Train once and record; the processor's seconds of the training alone, and of the recording."""
    source, inside = feed.source, 0.0
    network = wn.models.build(model, classes=10, shape=source.shape, seed=number(0, "init", 0))
    what = Observation(model, recipe, ("dynamics", "predictions"), "train", 1, 1, 10, None, 0)
    look = Look(feed, what, network)
    watchers = [dynamics(look), predictions(look)]
    batches = [watcher.after_batch for watcher in watchers if watcher.after_batch is not None]

    def after_batch(positions: NDArray[np.int64], output: torch.Tensor) -> None:
        nonlocal inside
        start = time.process_time()
        for watch in batches:
            watch(positions, output)
        inside += time.process_time() - start

    def after_epoch(epoch: int, trained: torch.nn.Module) -> None:
        nonlocal inside
        start = time.process_time()
        for watcher in watchers:
            watcher.after_epoch(epoch, trained)
        inside += time.process_time() - start

    start = time.process_time()
    train(network, feed, recipe, 0, after_batch=after_batch, after_epoch=after_epoch)
    return time.process_time() - start - inside, inside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{datetime.date.today()}; {os.cpu_count()} cores, {processor()}; torch {torch.__version__}, 1 thread")
    print(f"{EXAMPLES:,} examples, medians of {options.repeats} repeats after one to warm up, per epoch")
    print(f"{'':10s} {'training':>12s} {'recording':>12s} {'overhead':>10s}")
    for name, source, epochs in (("mlp", digits(), 3), ("lenet5", images(), 1)):
        feed, recipe = Feed(source), wn.Recipe(epochs=epochs)
        spent = np.array([seconds(feed, name, recipe) for _ in range(options.repeats + 1)])[1:] / epochs
        (alone, recording), share = np.median(spent, axis=0), np.median(spent[:, 1] / spent[:, 0])
        print(f"{name:10s} {alone:10.3f} s {1000 * recording:9.1f} ms {100 * share:8.2f} %")


if __name__ == "__main__":
    main()
