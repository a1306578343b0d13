"""What recording costs: an epoch of LeNet-5 without it, with `rec.log` in the loop, with a pass in eval mode.

    python benchmarks/recording.py [--examples 10000] [--repeats 7]

All three are timed in one process on one thread, in turn, so that a slow minute of the machine slows each of
them; medians are printed, and ratios are taken between neighbours before their median is. Beside the clock on
the wall stands the processor's time, which on a shared machine says more about the work done.
"""

from __future__ import annotations

import argparse
import datetime
import os
import time

import numpy as np
import torch
from machine import processor
from torch.nn import functional

import winnow as wn
from winnow.core.errors import WinnowError
from winnow.models.modes import eval_mode

BATCH = 128


def data(examples: int) -> tuple[torch.Tensor, torch.Tensor, str]:
    """Fashion-MNIST if it is at hand, otherwise the digits of scikit-learn enlarged and repeated."""
    if os.environ.get("WINNOW_DATA"):
        try:
            src = wn.open("fashion-mnist")
            x = src.read(np.arange(examples)).astype(np.float32) / 255
            return torch.from_numpy(x), torch.tensor(src.labels[:examples]), "Fashion-MNIST"
        except (WinnowError, ImportError) as error:
            print(f"Fashion-MNIST is not at hand ({error}); taking digits.")
    from sklearn.datasets import load_digits

    digits = load_digits()
    where = np.arange(examples) % len(digits.target)
    x = torch.tensor(digits.images[where], dtype=torch.float32)[:, None] / 16
    x = functional.interpolate(x, (28, 28), mode="bilinear")
    return x, torch.tensor(digits.target[where]), "digits, enlarged"


def epoch(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    x: torch.Tensor,
    y: torch.Tensor,
    order: torch.Tensor,
    rec: wn.Recorder | None,
    afterwards: bool,
) -> tuple[float, float]:
    """Train one epoch, recorded or not; the seconds it took on the wall's clock and on the processor's."""
    wall, cpu = time.perf_counter(), time.process_time()
    model.train()
    for where in order.split(BATCH):
        logits = model(x[where])
        loss = functional.cross_entropy(logits, y[where])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rec is not None and not afterwards:
            rec.log(where, logits, y[where])
    if rec is not None and afterwards:
        with eval_mode(model), torch.no_grad():
            for where in torch.arange(len(x)).split(2 * BATCH):
                rec.log(where, model(x[where]), y[where])
    if rec is not None:
        rec.end_epoch()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    x, y, name = data(options.examples)
    ways = {"no recording": (False, False), "rec.log in the loop": (True, False), "pass in eval mode": (True, True)}
    arms = {}
    for way, (recorded, _) in ways.items():
        model = wn.models.build("lenet5", classes=10)
        rec = wn.Recorder(len(x), 10, keep=("dynamics", "predictions")) if recorded else None
        arms[way] = (model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), rec)
    seconds: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for repeat in range(options.repeats + 1):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(repeat))
        for turn in range(len(ways)):
            way = list(ways)[(turn + repeat) % len(ways)]
            model, optimizer, rec = arms[way]
            seconds[way].append(epoch(model, optimizer, x, y, order, rec, ways[way][1]))
    print(f"{datetime.date.today()}; {os.cpu_count()} cores, {processor()}; torch {torch.__version__}, 1 thread")
    print(f"LeNet-5, {len(x):,} examples ({name}), batch {BATCH}, {options.repeats} repeats after one to warm up")
    plain = np.array(seconds["no recording"][1:])
    print(f"{'median of an epoch':20s} {'wall':>9s} {'ratio':>8s} {'processor':>12s} {'ratio':>8s}")
    for way, times in seconds.items():
        spent = np.array(times[1:])
        (wall, cpu), (more, work) = np.median(spent, 0), np.median(spent / plain, 0)
        print(f"{way:20s} {wall:7.3f} s {more:8.3f} {cpu:10.3f} s {work:8.3f}")


if __name__ == "__main__":
    main()
