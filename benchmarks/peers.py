"""The same work by winnow and by the libraries one would use instead: processor seconds and peak memory.

    python benchmarks/peers.py [--examples 1000 10000] [--repeats 3] [--limit 120] [--write docs/speed-peers.md]
    python benchmarks/peers.py --environment FOLDER --only facility      # keeps the environment; one kind of work

Makes an environment of its own in a temporary folder, or in the one given, with those peers that install there; a peer
that does not is listed with the reason. Nothing is left in the user's cache: home and cache folders are temporary too.
Every run is a new process on one thread, all in turn; medians. Libraries are imported, and what compiles is compiled on
a small case, before the clock starts; memory is the peak of the whole process.

    facility location   a twentieth kept; judged by the mean distance of an example from its nearest kept one; apricot
                        compares all pairs up to 20,000 examples, above, where those do not fit, the 32 nearest
    recombination       56 moments; judged by the largest relative error
    influence           of every example on the losses of 20, softmax head with 330 parameters; judged by the mean
                        correlation with the exact influence, from the formulas
    label quality       from out-of-fold probabilities, a tenth of the labels wrong; judged by average precision
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from machine import processor

PEERS = {  # what to install, and what to import
    "apricot-select": "apricot", "submodlib-py": "submodlib", "coreax": "coreax", "cleanlab": "cleanlab",
    "dattri": "dattri", "kronfluence": "kronfluence", "traker": "trak",
}  # fmt: skip
BESIDES = {"apricot-select": ["scikit-learn"]}  # what a peer needs and does not ask for
Measured = tuple[float, float, list[np.ndarray]]
TIMED = """
import json, resource, sys, time
import numpy as np
given = dict(np.load(sys.argv[1]))
{body}
work({{name: rows[:200] for name, rows in given.items()}}, 20)
start = time.process_time()
found = work(given, int(sys.argv[2]))
taken = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
np.savez(sys.argv[3], *[np.asarray(part) for part in found])
print(json.dumps([taken, peak]))
"""
WINNOW_FACILITY = """
import winnow as wn
def work(given, size):
    rows = given["rows"]
    seen = wn.Signals(ids=np.arange(len(rows)), task="unlabelled", arrays={"embeddings": rows})
    return [wn.select("facility_location", seen, size=size, balance=0.0).ids]
"""
APRICOT = """
from apricot import FacilityLocationSelection
def work(given, size):
    rows = given["rows"]
    near = None if len(rows) <= 20_000 else 32
    return [FacilityLocationSelection(size, metric="euclidean", optimizer="lazy", n_neighbors=near).fit(rows).ranking]
"""
SUBMODLIB = """
from submodlib import FacilityLocationFunction
def work(given, size):
    rows = given["rows"]
    made = FacilityLocationFunction(n=len(rows), mode="sparse", data=rows, metric="euclidean",
                                    num_neighbors=min(33, len(rows)))
    return [[pick for pick, _ in made.maximize(size, optimizer="LazyGreedy", show_progress=False)]]
"""
WINNOW_MOMENTS = """
import winnow as wn
def work(given, size):
    return wn.moments.compress(given["points"], 56, 5)
"""
COREAX = """
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
from coreax import Data
from coreax.solvers import TreeRecombination
solver = TreeRecombination(mode="implicit-explicit")
run = jax.jit(lambda x: solver.reduce(Data(x))[0])
run(jnp.asarray(given["products"]))  # compiled for this shape
def work(given, size):
    found = run(jnp.asarray(given["products"]))
    return found.unweighted_indices, found.points.weights
"""
WINNOW_INFLUENCE = """
import winnow as wn
def work(given, size):
    x, chances, labels = given["features"], given["chances"], given["labels"]
    tests, missed = x[:20], chances[:20] - np.eye(10)[labels[:20]]
    vectors = np.asarray(wn.influence.vectors(x, chances, labels, 1e-2))
    return [vectors @ np.einsum("nf,nk->nfk", tests, missed).reshape(len(tests), -1).T]
"""
TORCH_HEAD = """
import tempfile, torch
from torch import nn
torch.set_num_threads(1)
def made(given):
    head = nn.Linear(33, 10, bias=False).double()
    head.load_state_dict({"weight": torch.tensor(weights.T.copy())})
    x, y = torch.tensor(given["features"]), torch.tensor(given["labels"])
    every = torch.utils.data.TensorDataset(x, y)
    return head, every, torch.utils.data.TensorDataset(x[:20], y[:20])
weights = given["weights"]
"""
DATTRI = (
    TORCH_HEAD
    + """
from dattri.algorithm.influence_function import IFAttributorExplicit
from dattri.task import AttributionTask
def work(given, size):
    head, every, tests = made(given)
    def loss(params, data):
        outputs = torch.func.functional_call(head, params, (data[0],))
        return nn.functional.cross_entropy(outputs, data[1].flatten().long())
    asked = AttributionTask(loss_func=loss, model=head, checkpoints=head.state_dict())
    found = IFAttributorExplicit(task=asked, device="cpu", regularization=1e-2)
    load = lambda some: torch.utils.data.DataLoader(some, batch_size=len(some))
    found.cache(load(every))
    return [found.attribute(load(every), load(tests)).detach().numpy()]
"""
)
KRONFLUENCE = (
    TORCH_HEAD
    + """
import logging
from kronfluence.analyzer import Analyzer, prepare_model
from kronfluence.task import Task
class Softmax(Task):
    def compute_train_loss(self, batch, model, sample=False):
        outputs = model(batch[0])
        if sample:
            batch = [batch[0], torch.multinomial(outputs.detach().softmax(1), 1).flatten()]
        return nn.functional.cross_entropy(outputs, batch[1], reduction="sum")
    def compute_measurement(self, batch, model):
        return nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="sum")
def work(given, size):
    head, every, tests = made(given)
    with tempfile.TemporaryDirectory() as folder:
        task = Softmax()
        analyzer = Analyzer("peer", prepare_model(nn.Sequential(head), task), task, cpu=True, output_dir=folder,
                            disable_tqdm=True, log_level=logging.ERROR)
        analyzer.fit_all_factors("factors", every, per_device_batch_size=len(every))
        analyzer.compute_pairwise_scores("scores", "factors", query_dataset=tests, train_dataset=every,
                                         per_device_query_batch_size=20, per_device_train_batch_size=len(every))
        return [analyzer.load_pairwise_scores("scores")["all_modules"].numpy().T]
"""
)
TRAK = (
    TORCH_HEAD
    + """
import logging
from trak import TRAKer
def work(given, size):
    head, every, tests = made(given)
    head = head.float()
    with tempfile.TemporaryDirectory() as folder:
        traker = TRAKer(model=head, task="image_classification", train_set_size=len(every), proj_dim=256, device="cpu",
                        save_dir=folder, use_half_precision=False, logging_level=logging.ERROR)
        def batches(some):
            for x, y in torch.utils.data.DataLoader(some, batch_size=200):
                yield x.float(), y
        traker.load_checkpoint(head.state_dict(), model_id=0)
        for batch in batches(every):
            traker.featurize(batch=batch, num_samples=len(batch[0]))
        traker.finalize_features()
        traker.start_scoring_checkpoint(exp_name="peer", checkpoint=head.state_dict(), model_id=0,
                                        num_targets=len(tests))
        for batch in batches(tests):
            traker.score(batch=batch, num_samples=len(batch[0]))
        return [traker.finalize_scores(exp_name="peer")]
"""
)
WINNOW_LABELS = """
import winnow as wn
def work(given, size):
    labels, chances = given["given_labels"], np.log(given["oof"])
    rows, others = np.arange(len(labels)), chances.copy()
    others[rows, labels] = -np.inf
    margins = chances[rows, labels] - others.max(axis=1)  # of one epoch; a training would give more
    held = {"oof": given["oof"][None], "predictions": given["oof"][None], "margins": margins[None, None]}
    seen = wn.Signals(ids=rows, task="classification", labels=labels, classes=tuple(map(str, range(10))), epochs=(1,),
                      arrays={name: values.astype(np.float32) for name, values in held.items()})
    return [wn.score("mislabelled", seen).values]
"""
CLEANLAB = """
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
def work(given, size):
    labels, chances = given["given_labels"], given["oof"]
    find_label_issues(labels, chances, n_jobs=1)
    return [1 - get_label_quality_scores(labels, chances)]
"""
WORK = {
    "facility location": {"winnow": WINNOW_FACILITY, "apricot-select": APRICOT, "submodlib-py": SUBMODLIB},
    "recombination, 56 moments": {"winnow": WINNOW_MOMENTS, "coreax": COREAX},
    "influence on 20 losses": {
        "winnow": WINNOW_INFLUENCE, "dattri": DATTRI, "kronfluence": KRONFLUENCE, "traker": TRAK
    },
    "label quality": {"winnow": WINNOW_LABELS, "cleanlab": CLEANLAB},
}  # fmt: skip


def environment(folder: Path, wanted: set[str], environ: dict[str, str]) -> tuple[Path, dict[str, str]]:
    """The interpreter of the peers, and why some of them are not there."""
    python, missing = folder / "bin" / "python", {}
    uv = Path(sys.executable).parent / "uv"
    install = [str(uv), "pip", "install", "--quiet", "--no-cache", "--python", str(python)] if uv.exists() else [
        str(python), "-m", "pip", "install", "--quiet", "--no-cache-dir"
    ]  # fmt: skip
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, env=environ)
    for peer in sorted(wanted):
        tried = [python, "-c", f"import {PEERS[peer]}"]
        if subprocess.run(tried, capture_output=True, env=environ).returncode:
            done = subprocess.run([*install, peer, *BESIDES.get(peer, [])], capture_output=True, text=True, env=environ)
            if not done.returncode:
                done = subprocess.run(tried, capture_output=True, text=True, env=environ)
            if done.returncode:
                missing[peer] = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return python, missing


def inputs(n: int) -> dict[str, np.ndarray]:
    import winnow as wn
    from winnow.methods.moments.moment_table import table
    from winnow.methods.moments.recombination import terms

    draw = np.random.default_rng(0)
    rows = 4 * draw.standard_normal((20, 32))[draw.integers(0, 20, n)] + draw.standard_normal((n, 32))
    points = draw.uniform(-1, 1, (n, 3))
    features = np.hstack([draw.standard_normal((n, 32)), np.ones((n, 1))])
    labels = (features @ draw.standard_normal((33, 10)) + draw.gumbel(size=(n, 10))).argmax(axis=1)
    head = wn.influence.fit_head(features, labels, 1e-2)
    wrong = draw.random(n) < 0.1
    spread = draw.gumbel(size=(n, 10)) + 3 * np.eye(10)[labels]
    oof = np.exp(spread) / np.exp(spread).sum(axis=1, keepdims=True)
    return {
        "features": features, "labels": labels, "weights": np.asarray(head.theta).reshape(33, 10),
        "chances": np.asarray(head.outputs),
        "given_labels": np.where(wrong, (labels + draw.integers(1, 10, n)) % 10, labels), "wrong": wrong, "oof": oof,
        "rows": rows.astype(np.float32), "points": points,
        "products": np.asarray(terms(points, np.ones(n), np.arange(n), table(3, 5)))[:, 1:],
    }  # fmt: skip


def quality(work: str, given: dict[str, np.ndarray], found: list[np.ndarray]) -> str:
    """How good a result is, in the measure that fits the work."""
    if work == "facility location":
        rows, total = given["rows"].astype(np.float64), 0.0
        kept = rows[np.asarray(found[0], dtype=np.int64)]
        for part in np.array_split(rows, max(1, len(rows) // 1_000)):
            far = np.square(part).sum(1)[:, None] + np.square(kept).sum(1) - 2 * part @ kept.T
            total += np.sqrt(np.maximum(far.min(axis=1), 0)).sum()
        return f"mean distance {total / len(rows):.4f}"
    if work == "influence on 20 losses":
        return f"correlation {correlation(given, np.asarray(found[0], dtype=np.float64)):.3f}"
    if work == "label quality":
        order = np.argsort(-np.asarray(found[0]), kind="stable")
        hits = given["wrong"][order]
        return f"average precision {(hits.cumsum() / np.arange(1, len(hits) + 1))[hits].mean():.3f}"
    index, weights = np.asarray(found[0], dtype=np.int64), np.asarray(found[1])
    weights = weights / weights.sum()
    products = given["products"]
    off = np.abs(weights @ products[index] - products.mean(axis=0)) / np.abs(products).mean(axis=0)
    return f"{len(index)} points, error {off.max():.0e}"


def correlation(given: dict[str, np.ndarray], found: np.ndarray) -> float:
    """With the exact influence: gradients through the inverse Hessian, written out. The sign is a convention."""
    x, chances, labels = given["features"], given["chances"], given["labels"]
    rows = np.einsum("nf,nk->nfk", x, chances - np.eye(10)[labels]).reshape(len(x), -1)
    hessian = 1e-2 * np.eye(rows.shape[1])
    for a in range(10):
        for b in range(10):
            weight = chances[:, a] * ((a == b) - chances[:, b])
            hessian[a::10, b::10] += (x * weight[:, None]).T @ x / len(x)
    exact = rows @ np.linalg.solve(hessian, rows[:20].T)
    both = [abs(np.corrcoef(exact[:, j], found[:, j])[0, 1]) for j in range(20)]
    return float(np.mean(both))


def run(python: Path, body: str, file: Path, size: int, limit: float, environ: dict[str, str]) -> Measured:
    found = file.with_name("found.npz")
    try:
        done = subprocess.run(
            [python, "-W", "ignore", "-c", TIMED.format(body=body), str(file), str(size), str(found)],
            env=environ, capture_output=True, text=True, timeout=20 * limit, preexec_fn=lambda: limited(limit),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not done after {20 * limit:g} s on the wall") from None
    if done.returncode == -signal.SIGXCPU:
        raise RuntimeError(f"not done after {limit:g} s")
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it ended without a word"])[-1][:120])
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    with np.load(found) as held:
        return seconds, peak, [held[name] for name in held.files]


def limited(seconds: float) -> None:
    """End this process after so many processor seconds, which a busy machine does not shorten."""
    most = math.ceil(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))


def compared(
    work: str, n: int, python: Path, missing: dict[str, str], asked: argparse.Namespace, environ: dict[str, str]
) -> list[str]:
    """The rows of the table for one kind of work at one size."""
    given, size, ways = inputs(n), max(n // 20, 1), WORK[work]
    taken: dict[str, list[Measured]] = {name: [] for name in ways}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "inputs.npz"
        np.savez(file, **given)
        for _ in range(asked.repeats):
            for name, body in ways.items():
                if name in missing or name in failed:
                    continue
                try:
                    own = name == "winnow"
                    where = Path(sys.executable) if own else python
                    taken[name].append(run(where, body, file, size, asked.limit, dict(os.environ) if own else environ))
                except RuntimeError as error:
                    failed[name] = str(error)
    if not taken["winnow"]:
        raise RuntimeError(failed["winnow"])
    ours, lines = statistics.median(one[0] for one in taken["winnow"]), []
    for name in ways:
        if not taken[name]:
            lines.append(f"| {work} | {n:,} | {name} | - | - | - | {missing.get(name) or failed[name]} |")
            continue
        seconds = statistics.median(one[0] for one in taken[name])
        peak, beside = max(one[1] for one in taken[name]), seconds / ours
        who = "" if name == "winnow" else f"{beside:.1f}" + (", faster than winnow" if beside < 1 else "")
        said = quality(work, given, taken[name][0][2])
        lines.append(f"| {work} | {n:,} | {name} | {seconds:.4f} | {who} | {peak:,.0f} MB | {said} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="processor seconds of a run")
    parser.add_argument("--only", default="", help="kinds of work whose names contain this")
    parser.add_argument("--environment", type=Path, help="where the peers are, or are to be; temporary if not given")
    parser.add_argument("--write", type=Path, help="a file for the table; rows that are not measured again stay")
    asked = parser.parse_args()
    kinds = [work for work in WORK if asked.only in work]
    wanted = {name for work in kinds for name in WORK[work]} - {"winnow"}
    lines = ["| work | examples | by | seconds | beside winnow | peak memory | result |", "|---" * 7 + "|"]
    with tempfile.TemporaryDirectory() as home:
        places = {"HOME": home, "XDG_CACHE_HOME": home, "NUMBA_CACHE_DIR": home, "HF_HOME": home}
        one = {"OMP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
        environ = {**os.environ, **one, **places}
        environ.pop("PYTHONPATH", None)
        os.environ.update(one)
        python, missing = environment(asked.environment or Path(home) / "environment", wanted, environ)
        for n in asked.examples:
            for work in kinds:
                lines += compared(work, n, python, missing, asked, environ)
                print("\n".join(lines[-len(WORK[work]) :]), flush=True)
    only = f" --only {asked.only}" if asked.only else ""
    said = (
        f"{datetime.date.today()}, {processor()}, one thread, medians of {asked.repeats}: `python benchmarks/peers.py "
        f"--examples {' '.join(map(str, asked.examples))} --repeats {asked.repeats} --limit {asked.limit:g}{only}`."
    )
    print(said)
    if asked.write:
        asked.write.write_text(joined(asked.write.read_text() if asked.write.exists() else "", lines, said))


def joined(before: str, lines: list[str], said: str) -> str:
    """A table with the rows of an earlier one that were not measured again, and what is said below both."""
    old = [line for line in before.splitlines()[2:] if line.startswith("|")]
    new = {tuple(line.split(" | ")[:2]) for line in lines}
    kept = [line for line in old if tuple(line.split(" | ")[:2]) not in new]
    below = [line for line in before.splitlines() if line and not line.startswith("|") and line != said]

    def place(line: str) -> tuple[int, int]:
        work, n = line[2:].split(" | ")[:2]
        return list(WORK).index(work), int(n.replace(",", ""))

    rows = sorted(kept + lines[2:], key=place)
    return "\n".join([*lines[:2], *rows, "", "\n\n".join([*below, said])]) + "\n"


if __name__ == "__main__":
    main()
