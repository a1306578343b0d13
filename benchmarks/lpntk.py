"""What the lpNTK costs: the exact Gram matrix layer by layer, beside per-example gradients and the authors' blocks.

    python benchmarks/lpntk.py [--examples 5000] [--many 50000] [--repeats 1]

LeNet-5 at initialisation on Fashion-MNIST if it is at hand (WINNOW_DATA), on random images otherwise: the cost does not
depend on the pixels. Each way runs in a process of its own, one after the other, so that its peak memory is its own.
The usual way is torch.func's vmap(grad) for n x parameters and one product; the authors' way is a K x K block for
every pair, timed on a few examples and extended by n^2. Ratios are printed, not asserted.
"""

from __future__ import annotations

import argparse
import datetime
import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from machine import processor
from torch.func import functional_call, grad, jacrev, vmap

import winnow as wn
from winnow.core.errors import WinnowError

CLASSES = 10
FEW = 200


def data(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    if os.environ.get("WINNOW_DATA"):
        try:
            source = wn.open("fashion-mnist")
            x = torch.from_numpy(source.read(np.arange(n)).astype(np.float32) / 255)
            return x, torch.tensor(np.asarray(source.labels[:n]))
        except WinnowError as error:
            print(f"Fashion-MNIST is not at hand ({error}); taking random images.")
    draw = torch.Generator().manual_seed(0)
    return torch.rand(n, 1, 28, 28, generator=draw), torch.randint(0, CLASSES, (n,), generator=draw)


def network() -> torch.nn.Module:
    return wn.models.build("lenet5", classes=CLASSES, shape=(1, 28, 28), seed=0).eval()


def layered(n: int) -> np.ndarray:
    return wn.lpntk.gram(network(), *data(n))


def usual(n: int) -> np.ndarray:
    """n x parameters by vmap(grad), then one product."""
    model, (x, y) = network(), data(n)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    signs = (2 * torch.nn.functional.one_hot(y, CLASSES) - 1).float() / CLASSES**0.5

    def signed(p: dict[str, torch.Tensor], one: torch.Tensor, sign: torch.Tensor) -> torch.Tensor:
        return (functional_call(model, p, (one.unsqueeze(0),))[0] * sign).sum()

    each = vmap(grad(signed), in_dims=(None, 0, 0))
    rows = []
    for part in torch.arange(n).split(256):
        found = each(parameters, x[part], signs[part])
        rows.append(torch.cat([g.flatten(1) for g in found.values()], 1))
    features = torch.cat(rows)
    return (features @ features.T).numpy()


def authors(n: int) -> np.ndarray:
    """A K x K block of the tangent kernel for every pair, then the signs."""
    model, (x, y) = network(), data(n)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    signs = (2 * torch.nn.functional.one_hot(y, CLASSES) - 1).float()
    jacobian = vmap(
        lambda one: torch.cat(
            [
                j.flatten(1)
                for j in jacrev(lambda p: functional_call(model, p, (one.unsqueeze(0),))[0])(parameters).values()
            ],
            1,
        )
    )(x)
    kernel = np.empty((n, n), np.float32)
    for i in range(n):
        for j in range(n):
            kernel[i, j] = signs[i] @ (jacobian[i] @ jacobian[j].T) @ signs[j] / CLASSES
    return kernel


def projected(n: int) -> np.ndarray:
    return wn.lpntk.features(network(), *data(n), project=512)


def alone(work: Callable[[int], np.ndarray], n: int, queue: multiprocessing.Queue) -> None:
    torch.set_num_threads(1)
    work(64)  # what is loaded and compiled once is not part of it
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    found = work(n)
    seconds = time.perf_counter() - start
    queue.put((seconds, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, found[:FEW, :FEW].copy()))


def measured(work: Callable[[int], np.ndarray], n: int, repeats: int) -> tuple[float, float, np.ndarray]:
    """Median seconds, peak megabytes of the process, and a corner of the result."""
    context = multiprocessing.get_context("spawn")
    found = []
    for _ in range(repeats):
        queue = context.Queue()
        process = context.Process(target=alone, args=(work, n, queue))
        process.start()
        found.append(queue.get())
        process.join()
    return statistics.median(f[0] for f in found), max(f[2] for f in found) / 1024, found[0][3]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--examples", type=int, default=5000)
    parser.add_argument("--many", type=int, default=50000)
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args()
    n = asked.examples
    print(f"{datetime.date.today()}, {processor()}, one thread, LeNet-5\n")
    print(
        "| what | examples | seconds | peak memory of the process | ratio to the layered Gram |\n|---|---|---|---|---|"
    )
    seconds, peak, mine = measured(layered, n, asked.repeats)
    print(f"| exact Gram, layer by layer | {n:,} | {seconds:.1f} | {peak:,.0f} MB | 1 |", flush=True)
    slow, slow_peak, theirs = measured(usual, n, asked.repeats)
    print(
        f"| vmap(grad), then a product | {n:,} | {slow:.1f} | {slow_peak:,.0f} MB | {slow / seconds:.1f} |", flush=True
    )
    blocks, blocks_peak, literal = measured(authors, FEW, asked.repeats)
    whole = blocks * (n / FEW) ** 2
    print(
        f"| K x K blocks, as the authors | {FEW} | {blocks:.1f} ({whole:,.0f} for {n:,}) | {blocks_peak:,.0f} MB "
        f"| {whole / seconds:,.0f} |",
        flush=True,
    )
    many, many_peak, _ = measured(projected, asked.many, 1)
    print(f"| features projected to 512 | {asked.many:,} | {many:.1f} | {many_peak:,.0f} MB | |")
    off, blocks_off = (abs(mine - other).max() / abs(literal).max() for other in (theirs, literal))
    print(f"\nlargest difference over the largest entry: {off:.1e} to vmap(grad), {blocks_off:.1e} to K x K blocks")


if __name__ == "__main__":
    main()
