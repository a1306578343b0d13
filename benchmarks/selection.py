"""What choosing by embeddings costs: k-centre, herding, prototypes and the graph, beside the lines one would write.

    python benchmarks/selection.py [--examples 50000] [--picks 1000] [--graph 300000] [--million 1000000] [--repeats 3]

Made embeddings of 128 dimensions in ten clusters, and the same number without any structure, which is the hard case for
bounds. The plain loops are the former code of winnow: one product of a float64 matrix and a vector per pick. The
prototype score includes its reliability, so it clusters twice; the peer is one k-means of faiss on all rows, 50 rounds,
with the rows scaled and the distances read off. The graph is timed at three sizes for its growth; beside it stand the
cells that are searched per row, and the seconds that the multiplications of all those comparisons would take at the
speed of a large product of matrices, if none was dropped early. K-centre and herding are timed once on many examples,
herding also in shards. Processor seconds on one thread, all ways in turn, medians. Ratios are printed, not asserted;
picks are compared.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import time
from typing import Any
from unittest.mock import patch

import faiss
import numpy as np
from machine import processor
from numpy.typing import NDArray
from stopwatch import exponent, interleaved
from threadpoolctl import threadpool_limits

import winnow as wn
from winnow.signals.neighbours import Neighbours, nearest
from winnow.signals.row_cells import CELL

DIMS = 128


def embeddings(n: int, structure: bool, dims: int = DIMS) -> NDArray[np.float32]:
    draw = np.random.default_rng(0)
    rows = draw.standard_normal((n, dims))
    if structure:
        rows = rows * np.geomspace(1, 0.05, dims) + 2 * draw.standard_normal((10, dims))[draw.integers(0, 10, n)]
    return rows.astype(np.float32)


def signals(rows: NDArray[np.float32]) -> wn.Signals:
    return wn.Signals(ids=np.arange(len(rows)), task="unlabelled", arrays={"embeddings": rows})


def plain_kcenter(rows: NDArray[np.float32], size: int) -> list[int]:
    points = rows.astype(np.float64)
    points -= points.mean(axis=0)
    squares = np.square(points).sum(axis=1)
    picked, gap = [int(squares.argmin())], np.full(len(points), np.inf)
    for step in range(size):
        if step:
            picked.append(int(gap.argmax()))
        last = picked[-1]
        np.minimum(gap, np.maximum(squares + squares[last] - 2.0 * (points @ points[last]), 0.0), out=gap)
        gap[last] = -1.0
    return picked


def plain_herding(rows: NDArray[np.float32], size: int) -> list[int]:
    points = rows.astype(np.float64)
    points -= points.mean(axis=0)
    cost, total, picked = np.square(points).sum(axis=1), np.zeros(points.shape[1]), []
    for _ in range(size):
        picked.append(int((cost + 2.0 * (points @ total)).argmin()))
        total += points[picked[-1]]
        cost[picked[-1]] = np.inf
    return picked


def one_fit(rows: NDArray[np.float32]) -> NDArray[Any]:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    machine = faiss.Kmeans(rows.shape[1], 10, niter=50, spherical=True, max_points_per_centroid=len(rows), seed=0)
    machine.train(unit)
    return np.asarray(1 - machine.index.search(unit, 1)[0][:, 0])


def beside_plain_loops(n: int, picks: int, repeats: int) -> None:
    print("| what | data | winnow, s | plain, s | ratio | same picks |\n|---|---|---|---|---|---|")
    for structure in (True, False):
        rows = embeddings(n, structure)
        seen, data = signals(rows), "ten clusters" if structure else "no structure"
        for name, plain in (("kcenter", plain_kcenter), ("herding", plain_herding)):
            ways = {
                "ours": lambda name=name, seen=seen: wn.select(name, seen, size=picks, balance=0.0),
                "plain": lambda plain=plain, rows=rows: plain(rows, picks),
            }
            found = interleaved(ways, repeats)
            mine, theirs = set(found["ours"].result.ids.tolist()), set(found["plain"].result)
            ours, other = found["ours"].seconds, found["plain"].seconds
            print(f"| {name} | {data} | {ours:.3f} | {other:.3f} | {other / ours:.1f} | {mine == theirs} |", flush=True)
        ways = {"ours": lambda seen=seen: wn.score("prototype", seen), "plain": lambda rows=rows: one_fit(rows)}
        found = interleaved(ways, repeats)
        ours, other = found["ours"].seconds, found["plain"].seconds
        print(f"| prototype | {data} | {ours:.3f} | {other:.3f} (one fit) | 1/{ours / other:.1f} | |", flush=True)
    rows = embeddings(n, False)
    flat, vector = rows.astype(np.int8), np.ones(DIMS, np.float32)
    read = interleaved({"bytes": lambda: [flat.max() for _ in range(10)], "float32": lambda: [rows @ vector] * 1}, 3)
    print(
        f"\nReading the embeddings once, as herding must for each pick: {100 * read['bytes'].seconds:.3f} ms as bytes, "
        f"{1e3 * read['float32'].seconds:.3f} ms as float32."
    )


def on_many(n: int, picks: int) -> None:
    print(f"\n| {n:,} x {DIMS}, {picks:,} picks | data | seconds | certificate |\n|---|---|---|---|")
    for structure in (True, False):
        seen, data = signals(embeddings(n, structure)), "ten clusters" if structure else "no structure"
        for name, more in (("kcenter", {}), ("herding", {}), ("herding", {"shards": 16})):
            start = time.process_time()
            found = wn.select(name, seen, size=picks, balance=0.0, **more)
            taken, said = (
                time.process_time() - start,
                {k: round(v, 4) for k, v in found.certificate.items() if isinstance(v, float)},
            )
            print(f"| {name} {more or ''} | {data} | {taken:.1f} | {said} |", flush=True)


def multiplications_per_second() -> float:
    """The speed of a large product of matrices in single precision."""
    a = np.random.default_rng(0).random((2048, 2048), dtype=np.float32)
    return float(2048**3 / interleaved({"product": lambda: a @ a}, 5)["product"].seconds)


def graph_growth(largest: int) -> None:
    sizes = [largest // 9, largest // 3, largest]
    print(
        "\n| graph, examples | seconds | recall at least | cells per row | rows compared | their multiplications, s |\n"
        "|---|---|---|---|---|---|"
    )
    taken, found_neighbours, speed = [], [], multiplications_per_second()

    def noted(*given: Any, **named: Any) -> Neighbours:
        found_neighbours.append(nearest(*given, **named))
        return found_neighbours[-1]

    for n in sizes:
        rows = embeddings(n, True, 32)
        seen = signals(rows)
        scores = wn.score("random", seen)
        with patch.object(importlib.import_module("winnow.selectors.graph"), "nearest", noted):
            found = interleaved(
                {"graph": lambda s=scores, e=seen: wn.select("graph", s, keep=0.1, signals=e, balance=0.0)}, 1
            )["graph"]
        taken.append(found.seconds)
        recall, cells = found.result.certificate.get("recall", 1.0), found_neighbours[-1].probes
        compared = cells * CELL or n - 1
        print(
            f"| {n:,} | {found.seconds:.1f} | {recall:.3f} | {cells or 'all'} | {compared:,} "
            f"| {n * compared * rows.shape[1] / speed:.1f} |",
            flush=True,
        )
    print(f"\nTime grows like n^{exponent(sizes, taken):.2f} (32 dimensions, ten clusters, a tenth kept).")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--picks", type=int, default=1_000)
    parser.add_argument("--graph", type=int, default=300_000, help="the largest size of the graph; 0 for none")
    parser.add_argument("--million", type=int, default=0, help="examples of k-centre and herding on many; 0 for none")
    parser.add_argument("--repeats", type=int, default=3, help="0 for neither plain loops nor prototypes")
    asked = parser.parse_args()
    faiss.omp_set_num_threads(1)
    print(f"{datetime.date.today()}, {processor()}, one thread, {asked.examples:,} x {DIMS}, {asked.picks:,} picks\n")
    with threadpool_limits(1):
        if asked.repeats:
            beside_plain_loops(asked.examples, asked.picks, asked.repeats)
        if asked.million:
            on_many(asked.million, asked.picks)
        if asked.graph:
            graph_growth(asked.graph)


if __name__ == "__main__":
    main()
