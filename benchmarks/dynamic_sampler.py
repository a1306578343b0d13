"""What a DynamicSampler costs: its own time in an epoch of LeNet-5 and of an MLP, and per epoch at a million examples.

    python benchmarks/dynamic_sampler.py [--examples 10000] [--repeats 5]

The sampler's own calls are timed inside real epochs on one thread, in the processor's time: the next batch less that of
a plain shuffle, and `weigh` less the mean it replaces. Epochs of all settings alternate. `prune=0` visits everything, so the epochs are as long as
plain ones; `prune=0.5`, the default, plans for all examples and visits half of them.
"""

from __future__ import annotations

import argparse
import datetime
import os
import time
from collections.abc import Iterator

import numpy as np
import torch
from machine import processor
from torch.nn import functional

import winnow as wn


def shuffled(count: int) -> Iterator[np.ndarray]:
    """Batches of a plain shuffle."""
    order = np.random.default_rng(0).permutation(count)
    for first in range(0, count, 128):
        yield order[first : first + 128].copy()


def epoch(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, smp: wn.DynamicSampler) -> tuple[float, float]:
    """Train one epoch; the seconds of all of it, and those inside the sampler beyond what a plain shuffle takes."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    begin, own = time.process_time(), 0.0
    batches, plain = iter(smp), shuffled(len(x))
    while True:
        start = time.process_time()
        positions = next(batches, None)
        middle = time.process_time()
        next(plain, None)
        own += (middle - start) - (time.process_time() - middle)
        if positions is None:
            return time.process_time() - begin, own
        where = torch.from_numpy(positions)
        losses = functional.cross_entropy(model(x[where]), y[where], reduction="none")
        start = time.process_time()
        losses.mean()
        middle = time.process_time()
        loss = smp.weigh(losses)
        own += (time.process_time() - middle) - (middle - start)
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
    arms = {
        (name, prune): (
            wn.models.build(name, classes=10),
            wn.DynamicSampler(len(x), prune=prune, epochs=100, batch=128),
        )
        for name in ("lenet5", "mlp")
        for prune in (0.0, 0.5)
    }
    found: dict[tuple[str, float], list[tuple[float, float]]] = {arm: [] for arm in arms}
    for _ in range(options.repeats + 2):
        for arm, (model, smp) in arms.items():
            found[arm].append(epoch(model, x, y, smp))
    for (name, prune), rows in found.items():
        times = np.array(rows[2:])  # the first epoch has no losses to plan by, the second warms up
        share = np.median(times[:, 1] / times[:, 0])
        print(
            f"{name}, {len(x):,} examples, prune={prune:g}: an epoch {np.median(times[:, 0]):.3f} s, "
            f"of it the sampler {1e3 * np.median(times[:, 1]):.1f} ms, {share:.2%}"
        )
    large = wn.DynamicSampler(10**6, epochs=100, batch=1024)
    losses = torch.rand(10**6, generator=made)
    for positions in large:
        large.weigh(losses[torch.from_numpy(positions)])
    start = time.process_time()
    len(large)
    print(f"a million examples: planning an epoch {time.process_time() - start:.3f} s")


if __name__ == "__main__":
    main()
