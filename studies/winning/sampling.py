"""Rules of the DynamicSampler against an equally short schedule on everything, at equal steps.

    python -m studies.winning.sampling --out sampling.json --table letter=letter.dat --table magic=magic.dat

Every arm of a data set has the same network, initial weights per seed, learning-rate schedule and number of steps; only
the batches and their weights differ. A `--table` is a file of comma-separated numbers with the class in the last
column; 30 % of its rows are the test set. Results are kept in the JSON file; a stopped run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts import Source
from winnow.artefacts.intervals import mean
from winnow.core.files import write_json
from winnow.core.seeds import number, stream
from winnow.training import Feed, Recipe, predict, train
from winnow.training.dynamic_sampler import DynamicSampler

EPOCHS = 30  # of the long training, of which the budgets are shares
NOISE = 0.2  # share of wrong labels in the noisy copies
Make = Callable[[int, int, int, "NDArray[np.bool_]"], DynamicSampler]


class Unweighted(DynamicSampler):
    """The same visits without the weights: what focusing, and not skipping, does."""

    def weigh(self, losses: torch.Tensor, positions: Any = None) -> torch.Tensor:
        """Return the plain mean; remember the losses."""
        super().weigh(losses, positions)
        return losses.mean()


def easy_then_hard(losses: NDArray[np.float64], prune: float, progress: float) -> NDArray[np.float64]:
    """In the first half of the training skip some of the hard examples, in the second half some of the easy ones."""
    hard = losses >= losses.mean()
    return np.where(hard if progress < 0.5 else ~hard, 1 - prune, 1.0)


def arms() -> dict[str, Make | None]:
    """What is compared: None is everything, in plain shuffles."""

    def made(kind: type[DynamicSampler] = DynamicSampler, clean: bool = False, **how: Any) -> Make:
        def make(n: int, steps: int, seed: int, suspects: NDArray[np.bool_]) -> DynamicSampler:
            return kind(n, steps=steps, seed=seed, leave_out=suspects if clean else None, **how)

        return make

    return {
        "everything": None,
        "mean .5 (InfoBatch)": made(),
        "mean .75": made(prune=0.75),
        "mean .5, no weights": made(Unweighted),
        "loss .5": made(rule="loss"),
        "loss .9": made(rule="loss", prune=0.9),
        "easy then hard": made(rule=easy_then_hard),
        "easy then hard, no weights": made(Unweighted, rule=easy_then_hard),
        "everything but suspects": made(clean=True, prune=0.0),
        "mean .5 but suspects": made(clean=True),
    }


def data_sets(tables: dict[str, Path], names: list[str]) -> Iterator[tuple[str, Source, Source]]:
    """Training and test sets, each clean and with wrong labels."""
    for name in [*names, *tables]:
        if name in tables:
            rows = [line.rsplit(",", 1) for line in tables[name].read_text().split("\n") if line and line[0] != "@"]
            x = np.array([row[0].split(",") for row in rows], dtype=np.float32)
            y = np.unique([row[1].strip() for row in rows], return_inverse=True)[1]
            held = stream(0, "test", name).random(len(y)) < 0.3
            source, test = wn.open((x[~held], y[~held])), wn.open((x[held], y[held]))
        elif name == "digits":
            source, test = wn.open("digits"), wn.open("digits", split="test")
        else:
            source, test = wn.open(name, limit=10_000), wn.open(name, split="test")
        yield name, source, test


def with_wrong_labels(source: Source) -> Source:
    """A copy in which a share of the labels, chosen at random, is another class."""
    assert source.labels is not None
    rng = stream(0, "noise", source.name)
    wrong = rng.random(len(source)) < NOISE
    classes = len(source.classes)
    labels = np.where(wrong, (source.labels + rng.integers(1, classes, len(source))) % classes, source.labels)
    x = source.read(np.arange(len(source)))
    return wn.open((x, labels))


def suspects(source: Source, feed: Feed, recipe: Recipe, steps: int, seed: int) -> NDArray[np.bool_]:
    """Examples whose label the network contradicts over the second half of one short training on everything."""
    assert feed.targets is not None
    labels, margins = feed.targets, torch.zeros(len(feed))
    model = wn.models.build("mlp", classes=source.outputs, shape=source.shape, seed=number(seed, "observer"))
    half = steps // 2

    counts = torch.zeros(len(feed))
    done = 0

    def log(where: NDArray[np.int64], output: torch.Tensor) -> None:
        nonlocal done
        done += 1
        if done > half:
            index = torch.from_numpy(where)
            own = output.gather(1, labels[index, None])[:, 0]
            other = output.scatter(1, labels[index, None], -torch.inf).amax(1)
            margins[index] += own - other
            counts[index] += 1

    train(model, feed, recipe, number(seed, "observer training"), steps=steps, after_batch=log)
    return (margins / counts.clamp(min=1) < 0).numpy()


def score(
    source: Source, test: Source, make: Make | None, steps: int, seed: int, out: NDArray[np.bool_]
) -> list[float]:
    """Accuracy and seconds of one training."""
    feed, recipe = Feed(source), Recipe(epochs=EPOCHS)
    model = wn.models.build("mlp", classes=source.outputs, shape=source.shape, seed=number(seed, "init"))
    sampler = None if make is None else make(len(feed), steps, seed, out)
    done = train(model, feed, recipe, number(seed, "training"), steps=steps, sampler=sampler)
    exam = Feed(test, feed.scaling)
    assert test.labels is not None
    right = predict(model, exam, recipe).argmax(1) == test.labels[exam.order]
    return [float(right.mean()), done.seconds]


def run(out: Path, tables: dict[str, Path], names: list[str], seeds: int, budgets: list[float]) -> dict[str, Any]:
    """Train what is missing; return all results by data set, budget and arm."""
    kept: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    for noisy in (False, True):
        for name, source, test in data_sets(tables, names):
            train_set = with_wrong_labels(source) if noisy else source
            feed, recipe = Feed(train_set), Recipe(epochs=EPOCHS)
            for budget in budgets:
                steps = round(budget * recipe.steps(len(train_set)))
                cell = kept.setdefault(f"{name}{', 20 % wrong labels' if noisy else ''}|{budget:.2f}", {})
                for seed in range(seeds):
                    wrong: NDArray[np.bool_] | None = None
                    for arm, make in arms().items():
                        if str(seed) in cell.setdefault(arm, {}):
                            continue
                        if wrong is None:
                            wrong = suspects(train_set, feed, recipe, steps, seed)
                        cell[arm][str(seed)] = score(train_set, test, make, steps, seed, wrong)
                    write_json(out, kept)
    return kept


def table(kept: dict[str, Any]) -> list[str]:
    """One row per arm: points over everything at the same steps, with 95 % intervals over seeds, paired."""
    lines = [
        "| data, share of the long training | arm | accuracy | points over everything | seconds |",
        "|---|---|---|---|---|",
    ]
    for cell, found in kept.items():
        base = found["everything"]
        for arm, results in found.items():
            seeds = sorted(set(results) & set(base))
            points = [100 * (results[seed][0] - base[seed][0]) for seed in seeds]
            gain = mean(points)
            span = "" if arm == "everything" else f"{gain.centre:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]"
            accuracy = 100 * float(np.mean([results[seed][0] for seed in seeds]))
            seconds = float(np.median([results[seed][1] for seed in seeds]))
            lines.append(f"| {cell.replace('|', ', ')} | {arm} | {accuracy:.2f} | {span} | {seconds:.2f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file of results")
    parser.add_argument("--data", nargs="*", default=["digits", "fashion-mnist"], help="names that wn.open takes")
    parser.add_argument("--table", action="append", default=[], help="NAME=FILE, may be given several times")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", nargs="*", type=float, default=[0.33], help="shares of the steps of 30 epochs")
    given = parser.parse_args()
    torch.set_num_threads(1)
    tables = {name: Path(path) for name, _, path in (word.partition("=") for word in given.table)}
    start = time.perf_counter()
    print("\n".join(table(run(given.out, tables, given.data, given.seeds, given.budget))))
    print(f"{time.perf_counter() - start:.0f} seconds")


if __name__ == "__main__":
    main()
