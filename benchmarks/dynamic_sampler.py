"""What a DynamicSampler costs: its own time in an epoch of LeNet-5, and per epoch at a million examples.

    python benchmarks/dynamic_sampler.py [--examples 10000] [--repeats 5]

The sampler's own calls (the next batch, `weigh` less the mean it replaces) are timed inside real epochs on one thread,
so that a slow minute of the machine slows both. `prune=0` visits everything, so the epochs are as long as plain ones.
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


def epoch(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, smp: wn.DynamicSampler) -> tuple[float, float]:
    """Train one epoch; the seconds of all of it, and those inside the sampler beyond a plain shuffle's mean."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    begin, own = time.perf_counter(), 0.0
    batches = iter(smp)
    while True:
        start = time.perf_counter()
        positions = next(batches, None)
        own += time.perf_counter() - start
        if positions is None:
            return time.perf_counter() - begin, own
        where = torch.from_numpy(positions)
        losses = functional.cross_entropy(model(x[where]), y[where], reduction="none")
        start = time.perf_counter()
        losses.mean()
        middle = time.perf_counter()
        loss = smp.weigh(losses)
        own += (time.perf_counter() - middle) - (middle - start)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{datetime.date.today()}; {os.cpu_count()} cores, {processor()}; torch {torch.__version__}, 1 thread")
    made = torch.Generator().manual_seed(0)
    x, y = torch.rand(options.examples, 1, 28, 28, generator=made), torch.arange(options.examples) % 10
    smp = wn.DynamicSampler(len(x), prune=0.0, epochs=100, batch=128)
    times = np.array([epoch(wn.models.build("lenet5", classes=10), x, y, smp) for _ in range(options.repeats + 1)][1:])
    share = np.median(times[:, 1] / times[:, 0])
    print(f"LeNet-5, {len(x):,} examples: an epoch {np.median(times[:, 0]):.3f} s, of it the sampler {share:.2%}")
    large = wn.DynamicSampler(10**6, epochs=100, batch=1024)
    losses = torch.rand(10**6, generator=made)
    for positions in large:
        large.weigh(losses[torch.from_numpy(positions)])
    start = time.perf_counter()
    len(large)
    print(f"a million examples: planning an epoch {time.perf_counter() - start:.3f} s")


if __name__ == "__main__":
    main()
