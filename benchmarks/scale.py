"""How the steps of a selection grow with the number of rows: CPU seconds, growth exponent, peak memory.

    python benchmarks/scale.py [--rows 1e5 1e6 1e7] [--steps open embed ...] [--folder DIR]
    python benchmarks/scale.py --rows 1e8 --steps rank strata tilted random        # 2.4 GB on disk

Every cell is a process of its own on one thread, and its peak memory is that of the whole process, with Python and
torch (0.7 GB where a step imports torch). Data are made up, in a process before: a table of 16 columns with 1,000
classes; scores in a file; training dynamics of 10 epochs. Making data up is not counted, nor are imports and compiling:
each step runs once on few rows before.

    open         wn.open of a parquet file, with its seal, which reads all of it once
    embed        wn.embed(source, "raw", out=folder): the scaled columns, in shards on disk
    prototype    wn.score("prototype", k=10) of these embeddings, mapped from disk
    dynamics     wn.Recorder(keep="dynamics"), 10 classes: logging and ending one epoch
    score        wn.score("dual") of dynamics mapped from disk
    beta         wn.select("beta") of these and their scores: 10 % with floors
    rank, strata, tilted, random      wn.select of a file of scores: 10 % with floors
    observe      wn.observe(source, "mlp", want=("dynamics", "embeddings"), out=folder): an epoch of training, and a
                 pass that gives 128 numbers per row; only if it is named
    duplicates   wn.checking's near-duplicates among the embeddings of 16 numbers
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import processor

import winnow as wn

CLASSES, COLUMNS, EPOCHS, BLOCK = 1000, 16, 10, 1 << 18
FEW = 2000  # rows of the run before the one that is timed
FEW_NEAR = 60_000  # the same of `duplicates`, which compares fewer rows with all others and needs no cells then
NAMES = tuple(map(str, range(CLASSES)))
KEYED = ("rank", "strata", "tilted", "random")  # selections from a file of scores


def table(folder: Path, rows: int) -> Path:
    """A parquet file with ids, labels and columns; one row in a thousand repeats the one before it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, rng, file = folder / f"table-{rows}.parquet", np.random.default_rng(0), None
    if path.exists():
        return path
    for start in range(0, rows, BLOCK):
        count = min(BLOCK, rows - start)
        x = rng.standard_normal((count, COLUMNS), dtype=np.float32)
        x[999::1000] = x[998::1000][: len(x[999::1000])]
        columns = {"id": np.arange(start, start + count), "label": rng.integers(0, CLASSES, count).astype(str)}
        made = pa.table(columns | {f"x{k}": x[:, k] for k in range(COLUMNS)})
        file = file or pq.ParquetWriter(path, made.schema)
        file.write_table(made)
    assert file is not None
    file.close()
    return path


def scores(folder: Path, rows: int) -> Path:
    """A file of scores, as `Scores.save` writes it, made block by block."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, rng = folder / f"scores-{rows}.parquet", np.random.default_rng(1)
    if path.exists():
        return path
    few = wn.Scores("el2n", [0], [1.0], task="classification", labels=np.array([0]), classes=NAMES)
    header = pq.read_schema(few.save(folder / "few.parquet")).metadata
    kinds = [("id", pa.int64()), ("score", pa.float64()), ("label", pa.int64())]
    with pq.ParquetWriter(path, pa.schema(kinds, header), compression="none", use_dictionary=False) as file:
        for start in range(0, rows, BLOCK):
            count = min(BLOCK, rows - start)
            parts = [np.arange(start, start + count), rng.gamma(2, 1, count), rng.integers(0, CLASSES, count)]
            file.write_table(pa.table(parts, schema=file.schema))
    return path


def probabilities(folder: Path, rows: int) -> Path:
    """A file of probabilities of the label in ten epochs."""
    path, rng = folder / f"chances-{rows}.npy", np.random.default_rng(2)
    if path.exists():
        return path
    made = np.lib.format.open_memmap(path, "w+", np.float32, (1, EPOCHS, rows))
    for epoch in range(EPOCHS):
        made[0, epoch] = rng.random(rows, dtype=np.float32) ** (1 / (1 + epoch))
    made.flush()
    return path


def seen(folder: Path, rows: int) -> wn.Signals:
    """Probabilities of the label in ten epochs, mapped from a file."""
    labels = np.random.default_rng(3).integers(0, CLASSES, rows)
    chances = np.load(probabilities(folder, rows), mmap_mode="r")
    return wn.Signals(
        np.arange(rows), {"probabilities": chances}, "classification", labels, NAMES, tuple(range(1, 11)), EPOCHS
    )


def recorded(rows: int) -> None:
    """Log one epoch of a million rows or so, and end it."""
    rng = np.random.default_rng(0)
    logits, labels = rng.standard_normal((8192, 10), dtype=np.float32), rng.integers(0, 10, rows)
    recorder = wn.Recorder(rows, 10, keep="dynamics")
    for start in range(0, rows, 8192):
        where = np.arange(start, min(start + 8192, rows))
        recorder.log(where, logits[: where.size], labels[where])
    recorder.end_epoch()
    recorder.signals()


def work(step: str, rows: int, folder: Path) -> Callable[[], Any]:
    """What is timed; whatever it needs is made before."""
    if step in KEYED:
        file = scores(folder, rows)
        return lambda: wn.select(step, file, keep=0.1, balance=0.5)
    if step == "open":
        path = table(folder, rows)
        return lambda: wn.open(path).fingerprint
    if step == "dynamics":
        return lambda: recorded(rows)
    if step in ("score", "beta"):
        signals = seen(folder, rows)
        if step == "score":
            return lambda: wn.score("dual", signals)
        found = wn.score("dual", signals)
        return lambda: wn.select("beta", found, keep=0.1, balance=0.5, signals=signals)
    source = wn.open(table(folder, rows))
    source.fingerprint  # noqa: B018  (the seal belongs to `open`)
    place = Path(tempfile.mkdtemp(dir=os.environ["XDG_CACHE_HOME"])) / "run"
    if step == "observe":
        once, wanted = wn.Recipe(epochs=1, batch=512), ("dynamics", "embeddings")
        return lambda: wn.observe(source, "mlp", once, want=wanted, out=place, engine=wn.Local(workers=1))
    if step == "embed":
        return lambda: wn.embed(source, "raw", out=place)
    embedded = wn.embed(source, "raw", out=place)
    if step == "prototype":
        return lambda: wn.score("prototype", embedded, k=10)
    from winnow.checking.duplicates import duplicates

    return lambda: duplicates(source, embedded.embeddings)


STEPS = ("open", "embed", "prototype", "dynamics", "score", "beta", *KEYED, "duplicates")


def few(step: str) -> int:
    return FEW_NEAR if step == "duplicates" else FEW


def make(step: str, rows: int, folder: Path) -> None:
    """Make up the data of a step, if it has any."""
    if step != "dynamics":
        made = scores if step in KEYED else probabilities if step in ("score", "beta") else table
        for some in (few(step), rows):
            made(folder, some)


def cell(step: str, rows: int, folder: Path) -> None:
    """One step in this process; prints CPU seconds and the peak."""
    work(step, few(step), folder)()  # imports and compiles
    doing = work(step, rows, folder)
    start = time.process_time()
    doing()
    spent, peak = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": spent, "peak": peak * (1 if sys.platform == "darwin" else 1024)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--steps", nargs="+", choices=(*STEPS, "observe"), default=list(STEPS))
    parser.add_argument("--folder", type=Path, help="where made-up data are kept; a temporary folder if not given")
    parser.add_argument("--do", choices=("make", "cell"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.do is not None:
        {"make": make, "cell": cell}[options.do](options.steps[0], int(options.rows[0]), options.folder)
        return
    print(f"{datetime.date.today()}; {os.cpu_count()} cores, {processor()}; one thread", flush=True)
    print("| step | rows | CPU seconds | growth exponent | peak memory, GB |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        for step in options.steps:
            before: tuple[float, float] | None = None
            for rows in options.rows:
                asked = [sys.executable, __file__, "--steps", step, "--rows", str(rows), "--folder", folder, "--do"]
                subprocess.run([*asked, "make"], check=True)
                with tempfile.TemporaryDirectory(dir=folder) as cache:  # where seals are kept: none from before
                    apart = {**os.environ, "XDG_CACHE_HOME": cache}
                    run = subprocess.run([*asked, "cell"], check=True, stdout=subprocess.PIPE, text=True, env=apart)
                found = json.loads(run.stdout.splitlines()[-1])
                growth = "" if before is None else f"{math.log(found['seconds'] / before[1], rows / before[0]):.2f}"
                words = (step, f"{rows:.0e}".replace("e+0", "e"), f"{found['seconds']:.2f}", growth)
                print(f"| {' | '.join(words)} | {found['peak'] / 1e9:.2f} |", flush=True)
                before = (rows, found["seconds"])


if __name__ == "__main__":
    main()
