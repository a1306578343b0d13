"""What the lpNTK costs: the exact Gram matrix layer by layer, beside per-example gradients and the authors' blocks.

    python benchmarks/lpntk.py [--network lenet5] [--examples 5000] [--many 50000] [--repeats 3]
                               [--no-blocks] [--no-usual]

LeNet-5 on Fashion-MNIST or ResNet-20 on CIFAR-10, at initialisation, if the data are at hand (WINNOW_DATA), on random
images otherwise: the cost does not depend on the pixels. Each way runs in a process of its own, all in turn, so that
its peak memory is its own; seconds are the processor's, on one thread, without reading the data. Projected features are
compared with one forward and backward pass over the same examples. The bound is the time of the multiplications that a
Gram matrix needs, at the speed of a large product of matrices by oneDNN: one pass, every weight gradient, half of the
products.
The usual way is torch.func's vmap(grad) for n x parameters and one product; the authors' way is a K x K block for
every pair, timed on a few examples and extended by n^2. Ratios are printed, not asserted.
"""

from __future__ import annotations

import argparse
import datetime
import functools
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
TASKS = {"lenet5": ("fashion-mnist", (1, 28, 28), 61_706), "resnet20": ("cifar10", (3, 32, 32), 269_722)}
PASS = {"lenet5": 0.416e6, "resnet20": 40.6e6}  # multiplications of a forward pass
NETWORK = os.environ.get("WINNOW_BENCHMARK_NETWORK", "lenet5")


@functools.cache  # read before anything is timed
def data(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    if os.environ.get("WINNOW_DATA"):
        try:
            source = wn.open(TASKS[NETWORK][0])
            x = torch.from_numpy(source.read(np.arange(n)).astype(np.float32) / 255)
            return x, torch.tensor(np.asarray(source.labels[:n]))
        except WinnowError as error:
            print(f"the data are not at hand ({error}); taking random images.")
    draws = [torch.Generator().manual_seed(seed) for seed in range(2)]  # so that the first are the same for every n
    return torch.rand(n, *TASKS[NETWORK][1], generator=draws[0]), torch.randint(0, CLASSES, (n,), generator=draws[1])


def network() -> torch.nn.Module:
    return wn.models.build(NETWORK, classes=CLASSES, shape=TASKS[NETWORK][1], seed=0).eval()


def layered(n: int) -> np.ndarray:
    return wn.lpntk.gram(network(), *data(n))


def usual(n: int) -> np.ndarray:
    """n x parameters by vmap(grad), then one product."""
    model, (x, y) = network(), data(n)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    signs = (2 * torch.nn.functional.one_hot(y, CLASSES) - 1).float() / CLASSES**0.5
    size = sum(p.numel() for p in parameters.values())

    def signed(p: dict[str, torch.Tensor], one: torch.Tensor, sign: torch.Tensor) -> torch.Tensor:
        return (functional_call(model, p, (one.unsqueeze(0),))[0] * sign).sum()

    each = vmap(grad(signed), in_dims=(None, 0, 0))
    features = torch.empty(n, size)
    for part in torch.arange(n).split(256 if NETWORK == "lenet5" else 64):
        found = each(parameters, x[part], signs[part])
        features[part] = torch.cat([g.flatten(1) for g in found.values()], 1)
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


def passed(n: int) -> np.ndarray:
    """One forward and backward pass, batches of 64."""
    model, (x, y) = network(), data(n)
    for part in torch.arange(n).split(64):
        torch.nn.functional.cross_entropy(model(x[part]), y[part]).backward()
    return np.zeros((FEW, FEW), np.float32)


def bound(n: int) -> float:
    """Seconds of the multiplications alone."""
    torch.set_num_threads(1)
    a, b = torch.randn(2048, 2048).to_mkldnn(), torch.randn(2048, 2048)
    taken = []
    for _ in range(5):
        start = time.process_time()
        torch.nn.functional.linear(a, b)
        taken.append(time.process_time() - start)
    needed = 3 * n * PASS[NETWORK] + n * n / 2 * (2_572 + 812 if NETWORK == "lenet5" else TASKS[NETWORK][2])
    return needed * min(taken) / 2048**3


def alone(work: Callable[[int], np.ndarray], n: int, queue: multiprocessing.Queue) -> None:
    torch.set_num_threads(1)
    work(64)  # what is loaded and compiled once is not part of it
    data(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    found = work(n)
    seconds = time.process_time() - start
    queue.put((seconds, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, found[:FEW, :FEW].copy()))


def measured(
    ways: dict[str, Callable[[int], np.ndarray]], n: int, repeats: int
) -> dict[str, tuple[float, float, np.ndarray]]:
    """Of each way, all in turn: median seconds, peak megabytes of the process, and a corner of the result."""
    context = multiprocessing.get_context("spawn")
    found: dict[str, list[tuple[float, float, float, np.ndarray]]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, work in ways.items():
            queue = context.Queue()
            process = context.Process(target=alone, args=(work, n, queue))
            process.start()
            found[name].append(queue.get())
            process.join()
    return {
        name: (statistics.median(f[0] for f in each), max(f[2] for f in each) / 1024, each[0][3])
        for name, each in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--network", choices=TASKS, default=NETWORK)
    parser.add_argument("--examples", type=int, default=5000)
    parser.add_argument("--many", type=int, default=50000, help="examples whose features are projected; 0 for none")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--blocks", action=argparse.BooleanOptionalAction, default=True, help="time the authors' way")
    parser.add_argument("--usual", action=argparse.BooleanOptionalAction, default=True, help="time vmap(grad)")
    asked = parser.parse_args()
    globals()["NETWORK"] = os.environ["WINNOW_BENCHMARK_NETWORK"] = asked.network  # the processes started below read it
    n = asked.examples
    print(f"{datetime.date.today()}, {processor()}, one thread, {asked.network}\n")
    print(
        "| what | examples | seconds | peak memory of the process | ratio to the layered Gram |\n|---|---|---|---|---|"
    )
    found = measured({"layered": layered} | ({"usual": usual} if asked.usual else {}), n, asked.repeats)
    seconds, peak, mine = found["layered"]
    print(f"| exact Gram, layer by layer | {n:,} | {seconds:.2f} | {peak:,.0f} MB | 1 |", flush=True)
    needed = bound(n)
    print(f"| the multiplications alone | {n:,} | {needed:.2f} | | {needed / seconds:.2f} |", flush=True)
    said = []
    if asked.usual:
        slow, slow_peak, theirs = found["usual"]
        print(
            f"| vmap(grad), then a product | {n:,} | {slow:.2f} | {slow_peak:,.0f} MB | {slow / seconds:.2f} |",
            flush=True,
        )
        off = abs(mine - theirs).max() / abs(theirs).max()
        said.append(f"largest difference over the largest entry: {off:.1e} to vmap(grad)")
    if asked.network == "lenet5" and asked.blocks:
        blocks, blocks_peak, literal = measured({"authors": authors}, FEW, 1)["authors"]
        whole = blocks * (n / FEW) ** 2
        print(
            f"| K x K blocks, as the authors | {FEW} | {blocks:.1f} ({whole:,.0f} for {n:,}) | {blocks_peak:,.0f} MB "
            f"| {whole / seconds:,.0f} |",
            flush=True,
        )
        said.append(f"{abs(mine - literal).max() / abs(literal).max():.1e} to K x K blocks")
    if asked.many:
        found = measured({"projected": projected, "passed": passed}, asked.many, asked.repeats)
        (many, many_peak, _), (once, once_peak, _) = found["projected"], found["passed"]
        print(f"| features projected to 512 | {asked.many:,} | {many:.2f} | {many_peak:,.0f} MB | |")
        print(f"| a forward and backward pass | {asked.many:,} | {once:.2f} | {once_peak:,.0f} MB | |")
        said.append(f"projected features take {many / once:.2f} times a forward and backward pass")
    print(f"\n{', '.join(said)}")


if __name__ == "__main__":
    main()
