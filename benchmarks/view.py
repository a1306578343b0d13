"""The viewer with a million examples: bytes before the first paint, time of each call, memory of the server.

    python benchmarks/view.py [--examples 1000000] [--repeats 15]

Rows of a table with 8 columns and 10 classes, a run with recorded training, a score, a stored order and a subset,
all made up. The server is a process of its own; its time per call is what it says in Server-Timing (the work of
the answer, without the network: time that went by, and CPU, which other work on the machine does not lengthen), its
memory what the system says. Every repeat asks something new, so that nothing is
answered from memory, except where the table says "again".
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from machine import processor

import winnow as wn
from winnow.artefacts import Scores, Signals, Source, Subset
from winnow.artefacts.selection_order import SelectionOrder
from winnow.core.run import Run

CLASSES, COLUMNS, EPOCHS = 10, 8, 5
LIMITS = {"membership": 10.0, "page": 50.0}  # milliseconds


def data(folder: Path) -> Source:
    return wn.open((np.load(folder / "rows.npy", mmap_mode="r"), np.load(folder / "labels.npy")), name="made up")


def prepare(folder: Path, n: int) -> None:
    """Write the data and a run as the commands would have left it."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, n)
    rows = rng.normal(size=(n, COLUMNS)).astype(np.float32)
    rows[:, 0] += labels
    np.save(folder / "rows.npy", rows)
    np.save(folder / "labels.npy", labels)
    source = data(folder)
    ids, classes = source.ids, source.classes
    about = {"step": "made up"}
    score = rng.random(n)
    losses = rng.random((1, EPOCHS, n), dtype=np.float32)
    dynamics = {"losses": losses, "probabilities": np.exp(-losses), "correct": (losses < 0.5).astype(np.float32)}
    predictions = rng.dirichlet(np.ones(CLASSES), n).astype(np.float32)[None]
    arrays = {**dynamics, "predictions": predictions}
    epochs = tuple(range(1, EPOCHS + 1))
    ordered = ids[np.argsort(-score)]
    with Run(folder / "run", {"command": "prune", "keep": 0.3, "balance": None, "seed": 0}) as run:
        signals = Signals(ids, arrays, "classification", source.labels, classes, epochs, EPOCHS, provenance=about)
        run.put("observe/seed-0", signals, 1.0, file="signals/seed-0.safetensors")
        run.put("score/el2n", Scores("el2n", ids, score, provenance=about), 1.0, file="scores/el2n.parquet")
        run.put("select/order", SelectionOrder(ordered, "el2n", None, about), 1.0, file="order.parquet")
        kept = np.sort(ordered[: int(0.3 * n)])
        run.put("select/subset", Subset(kept, np.ones(kept.size), {}, about), 1.0, file="subset.parquet")
    wn.view(folder / "run", source).stop()  # lays out the map, which stays with the run


def serve(folder: Path) -> None:
    """The server process: say the address, and end with the parent."""
    with wn.view(folder / "run", data(folder)) as viewer:
        print(viewer.url, flush=True)
        sys.stdin.read()


def memory(process: int) -> dict[str, int]:
    """Megabytes: held now, and at most so far."""
    text = Path(f"/proc/{process}/status").read_text()
    return {
        name: int(re.search(rf"{key}:\s+(\d+)", text)[1]) // 1024 for name, key in (("now", "VmRSS"), ("most", "VmHWM"))
    }  # type: ignore[index]


class Client:
    """Asks, and reads what the server says it took."""

    def __init__(self, url: str) -> None:
        self.home, _, token = url.partition("/#token=")
        headers = {"origin": self.home, "x-winnow-token": token}
        self.http = httpx.Client(base_url=self.home, headers=headers, timeout=120)

    def ask(self, path: str, **given: Any) -> tuple[float, float, int]:
        """Milliseconds that went by, milliseconds of CPU, and bytes of the answer."""
        body = given.pop("body", None)
        words = {name: one if isinstance(one, str) else json.dumps(one) for name, one in given.items()}
        answer = self.http.get(path, params=words) if body is None else self.http.post(path, json=body)
        answer.raise_for_status()
        said = answer.headers["server-timing"]
        wall, own = (float(one) for one in re.findall(r"dur=([\d.]+)", said))
        return wall, own, len(answer.content)


def first_paint(client: Client) -> tuple[int, int]:
    """Bytes until examples are in sight, and for the map after that."""
    modules, waiting = set(), {"/static/app.js"}
    while waiting:
        name = waiting.pop()
        modules.add(name)
        text = client.http.get(name).text
        waiting |= {f"/static/{one}" for one in re.findall(r'from "\./([\w.]+)"', text)} - modules
    page = ["/", "/static/style.css", "/static/icon.svg", *modules]
    drawn = [f"/static/map/{one}" for one in ("map.html", "map.css", "scatterplot.js", "flat.js", "map.js")]
    size = sum(len(client.http.get(one).content) for one in page)
    size += client.ask("/api/about")[2] + client.ask("/api/rows", count="60")[2]
    chart = sum(len(client.http.get(one).content) for one in drawn)
    return size, chart + client.ask("/api/points")[2] + client.ask("/api/colours", by="class")[2]


def calls(n: int) -> dict[str, tuple[str, Callable[[int], dict[str, Any]]]]:
    """What is asked: a name, the path, and the parameters of each repeat."""

    def choice(k: int, **more: Any) -> dict[str, Any]:
        return {"method": "this run", "keep": 0.02 + 0.06 * (k % 15) + 0.0001 * k, **more}

    def two(k: int, **more: Any) -> dict[str, Any]:
        return {"a": {"method": "subset:this run"}, "b": choice(k, **more)}

    def square(k: int) -> list[list[float]]:
        x, r = -0.5 + 0.05 * k, 0.3
        return [[x - r, -r], [x + r, -r], [x + r, r], [x - r, r]]

    el2n = {"sort": "el2n", "descending": True}
    return {
        "what the page needs first": ("/api/about", lambda k: {}),
        "membership: another fraction": ("/api/what-if", lambda k: two(k)),
        "membership: with balance": ("/api/what-if", lambda k: two(k, balance=0.5)),
        "membership: another method": ("/api/what-if", lambda k: two(k, method="random")),
        "page: sorted by a score": ("/api/rows", lambda k: {"start": str(60 * k), "filter": el2n}),
        "page: anywhere in the view": ("/api/rows", lambda k: {"start": str(k * n // 16), "filter": el2n}),
        "page: another class": ("/api/rows", lambda k: {"filter": {**el2n, "classes": [k % 10], "descending": k < 10}}),
        "page: range of a score": ("/api/rows", lambda k: {"filter": {**el2n, "ranges": {"el2n": [0.01 * k, 0.9]}}}),
        "page: lasso": ("/api/rows", lambda k: {"filter": {**el2n, "lasso": square(k)}}),
        "page: what enters": ("/api/rows", lambda k: {"filter": {**el2n, "show": "enters"}, **two(k + 100)}),
        "page: search by id": ("/api/rows", lambda k: {"filter": {**el2n, "search": f"{k:x}a"}}),
        "points of the map": ("/api/points", lambda k: {}),
        "colours by a score": ("/api/colours", lambda k: {"by": "el2n"}),
        "mask of the map": ("/api/mask", lambda k: {"filter": {"classes": [k % 10]}}),
        "example": ("/api/example", lambda k: {"row": str(k * n // 20)}),
        "mark": ("/api/mark", lambda k: {"body": {"rows": [k], "choice": "drop"}}),
        "export of a class as Subset": ("/api/export", lambda k: {"filter": {"classes": [k % 10]}, "format": "subset"}),
        "export of a class as CSV": ("/api/export", lambda k: {"filter": {"classes": [k % 10]}, "format": "csv"}),
    }


def main() -> int:
    """Measure and print a table; exit code 1 if a limit is missed."""
    options = argparse.ArgumentParser()
    options.add_argument("--examples", type=int, default=1_000_000)
    options.add_argument("--repeats", type=int, default=15)
    options.add_argument("--serve", type=Path)
    given = options.parse_args()
    if given.serve:
        serve(given.serve)
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(folder, given.examples)
        words = [sys.executable, __file__, "--serve", place]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        missed = measure(process.stdout.readline().strip(), process.pid, given.examples, given.repeats)
        process.communicate("")
    return missed


def measure(url: str, process: int, n: int, repeats: int) -> int:
    client, missed = Client(url), 0
    page, chart = first_paint(client)
    busy = f"{os.getloadavg()[0]:.0f} processes at work on {os.cpu_count()} cores"
    print(f"{n:,} examples; {datetime.date.today()}, {processor()}, {busy}\n")
    print(f"bytes before the first paint {page:,}; then the map {chart:,}\n")
    print("| call | median, ms | largest, ms | median of CPU, ms | bytes |\n|---|---|---|---|---|")
    for name, (path, given) in calls(n).items():
        client.ask(path, **given(repeats + 1))  # orders are sorted once, when they are first asked for
        found = [client.ask(path, **given(k)) for k in range(3 if "export" in name else repeats)]
        times = np.array([one[0] for one in found])
        limit = next((most for word, most in LIMITS.items() if name.startswith(word)), None)
        late = limit is not None and float(np.median(times)) > limit
        missed += late
        note = f" (over {limit:g})" if late else ""
        own, size = np.median([one[1] for one in found]), found[0][2]
        print(f"| {name} | {np.median(times):.1f}{note} | {times.max():.1f} | {own:.1f} | {size:,} |", flush=True)
    held = memory(process)
    print(f"\nmemory of the server: {held['now']} MB now, {held['most']} MB at most")
    return int(bool(missed) or held["most"] > 1000)


if __name__ == "__main__":
    sys.exit(main())
