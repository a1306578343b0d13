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
from collections.abc import Iterator
from dataclasses import dataclass
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


class Unweighted(DynamicSampler):
    """The same visits without the weights: what focusing, and not skipping, does."""

    def weigh(self, losses: torch.Tensor, positions: Any = None) -> torch.Tensor:
        """Return the plain mean; remember the losses."""
        super().weigh(losses, positions)
        return losses.mean()


@dataclass(frozen=True)
class Arm:
    """One way to spend the steps: settings of the sampler (None: plain shuffles), and what of the observer it uses."""

    how: dict[str, Any] | None = None
    kind: type[DynamicSampler] = DynamicSampler
    clean: bool = False  # leave out suspects
    soft: float = 0.0  # share of the soft targets in the loss
    length: int = 1


def easy_then_hard(losses: NDArray[np.float64], prune: float, progress: float) -> NDArray[np.float64]:
    """In the first half of the training skip some of the hard examples, in the second half some of the easy ones."""
    hard = losses >= losses.mean()
    return np.where(hard if progress < 0.5 else ~hard, 1 - prune, 1.0)


def arms() -> dict[str, Arm]:
    """What is compared; the observer is the same network, trained for as many steps again."""
    return {
        "everything": Arm(),
        "everything, twice the steps": Arm(length=2),
        "mean .5 (InfoBatch)": Arm({"prune": 0.5}),
        "mean .75": Arm({"prune": 0.75}),
        "mean .9": Arm({"prune": 0.9}),
        "mean .75, no weights": Arm({"prune": 0.75}, kind=Unweighted),
        "loss .25": Arm({"rule": "loss", "prune": 0.25}),
        "loss .5": Arm({"rule": "loss", "prune": 0.5}),
        "loss .7": Arm({"rule": "loss", "prune": 0.7}),
        "easy then hard": Arm({"rule": easy_then_hard}),
        "easy then hard, no weights": Arm({"rule": easy_then_hard}, kind=Unweighted),
        "everything but suspects": Arm({"prune": 0.0}, clean=True),
        "loss .5 but suspects": Arm({"rule": "loss", "prune": 0.5}, clean=True),
        "everything, soft targets": Arm(soft=0.5),
        "loss .5, soft targets": Arm({"rule": "loss", "prune": 0.5}, soft=0.5),
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


@dataclass(frozen=True)
class Observed:
    """What one training of the same network for as many steps shows, over its second half."""

    suspects: NDArray[np.bool_]  # the mean margin is negative and the mean prediction names another class
    predictions: NDArray[np.float32]


def observe(source: Source, feed: Feed, recipe: Recipe, steps: int, seed: int) -> Observed:
    """Train an observer on everything."""
    assert feed.targets is not None
    labels, margins, counts = feed.targets, torch.zeros(len(feed)), torch.zeros(len(feed))
    guesses = torch.zeros(len(feed), source.outputs)
    model = wn.models.build("mlp", classes=source.outputs, shape=source.shape, seed=number(seed, "observer"))
    done = 0

    def log(where: NDArray[np.int64], output: torch.Tensor) -> None:
        nonlocal done
        done += 1
        if done > steps // 2:
            index = torch.from_numpy(where)
            own = output.gather(1, labels[index, None])[:, 0]
            other = output.scatter(1, labels[index, None], -torch.inf).amax(1)
            margins[index] += own - other
            guesses[index] += output.softmax(1)
            counts[index] += 1

    train(model, feed, recipe, number(seed, "observer training"), steps=steps, after_batch=log)
    mean_guess = guesses / counts.clamp(min=1)[:, None]
    sure, named = mean_guess.max(1)
    wrong = (margins < 0) & (named != labels) & (sure > 0.5)
    return Observed(wrong.numpy(), mean_guess.numpy())


def score(source: Source, test: Source, arm: Arm, steps: int, seed: int, seen: Observed) -> list[float]:
    """Accuracy and seconds of one training."""
    feed, recipe, length = Feed(source), Recipe(epochs=EPOCHS), arm.length * steps
    model = wn.models.build("mlp", classes=source.outputs, shape=source.shape, seed=number(seed, "init"))
    sampler = None
    if arm.how is not None:
        out = seen.suspects if arm.clean else None
        sampler = arm.kind(len(feed), steps=length, seed=seed, leave_out=out, **arm.how)
    soft = seen.predictions if arm.soft else None
    done = train(
        model,
        feed,
        recipe,
        number(seed, "training"),
        steps=length,
        sampler=sampler,
        soft=soft,
        soft_weight=arm.soft or 1.0,
    )
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
                    seen: Observed | None = None
                    for arm, made in arms().items():
                        if str(seed) in cell.setdefault(arm, {}):
                            continue
                        if seen is None:
                            seen = observe(train_set, feed, recipe, steps, seed)
                        cell[arm][str(seed)] = score(train_set, test, made, steps, seed, seen)
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
