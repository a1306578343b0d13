"""Does the search within a tolerance keep its promise, and how much does it leave on the table?

    python -m studies.winning.tolerance_simulation --out runs/tolerance.json [--trials 200] [--real 30] [--minutes 9]

The searches are winnow's own, by a held-out fifth (`smallest_within`) and by rotating folds (`smallest_rotating`); only
the trainings are simulated (`tolerance_worlds`).

A promise is kept if the subset found, or everything, truly loses at most the tolerance; of rotating folds, the subset
that is chosen from everything, with a luck of its own. The smallest that would do is where the loss reaches the
tolerance. Could be shown is where a test of ten trainings on rotating folds that knew all variances would get to.
Cost is in trainings on everything (a subset of a tenth costs a tenth), observations included.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts import Source
from winnow.core.run import Run
from winnow.evaluation.rotating_folds import rotating_folds
from winnow.evaluation.rotating_search import Turn, smallest_rotating
from winnow.evaluation.tolerance import Search, smallest_within
from winnow.pruning.candidate import bare
from winnow.sources.holdout import hold_out

from .tolerance_worlds import FOLDS, SETTINGS, Setting, World, Worlds, could_be_shown

TRAINING = 2000  # examples of the simulated source
LARGE = 8000  # examples that stand for the truth of a real table
PIECE = 20  # trials between two savings
LEFT = 1 - 1 / FOLDS  # of the source, while a fifth is measured on


def sources(setting: Setting) -> tuple[Source, Source]:
    """A source and validation examples of the right sizes; nothing is trained on them."""
    found = []
    for size in (TRAINING, setting.validation):
        labels = np.arange(size) % 2
        values = np.arange(size, dtype=np.float32)[:, None] / size
        found.append(wn.open((values, labels.astype(np.float64) if setting.regression else labels)))
    return found[0], found[1]


def evenly(source: Source) -> Callable[[float], wn.Subset]:
    """A choice that keeps every k-th example; which ones does not matter where trainings are simulated."""
    order = source.order
    return lambda keep: wn.Subset(source.ids[order[: round(keep * len(source))]])


def by_lot(source: Source, seed: int) -> Callable[[float], wn.Subset]:
    """A random choice, keyed by id: that of a part of the data is part of that of all."""
    return lambda keep: wn.select("random", bare(source), keep=keep, seed=seed)


def simulated(setting: Setting, trials: int, known: Sequence[Any] = ()) -> dict[str, Any]:
    """Search in simulated worlds; return what became of the promise, and at what cost.

    Parameters
    ----------
    setting
        What is simulated.
    trials
        Number of worlds.
    known
        The rows of the first worlds, of both searches, from an earlier call.
    """
    source, validation = sources(setting)
    model: Any = torch.nn.Linear(1, source.outputs)
    turns = [Turn(source, validation, evenly(source))] * FOLDS
    how: dict[str, Any] = {"model": model, "run": Run(None, {})}
    once, rotated = (list(rows) for rows in known) if known else ([], [])
    for trial in range(len(once), trials):
        world = World(setting, np.random.default_rng([15, trial]))
        found = smallest_within(setting.tolerance, evenly(source), source, validation, engine=world, **how)
        once.append(row(found, world.truth(found.keep), setting.smallest, LEFT * (world.cost + 1)))
        worlds = Worlds(setting, trial)
        found = smallest_rotating(setting.tolerance, turns, engine=worlds, **how)
        cost = LEFT * (worlds.cost + FOLDS) + (found.keep < 1)  # the folds are observed, and then everything
        rotated.append(row(found, worlds.whole.truth(found.keep), setting.smallest, cost))
    return {
        "setting": asdict(setting),
        "could": could_be_shown(setting),
        "held_out": summary(once),
        **summary(rotated),
    }


def row(found: Search, truth: float, smallest: float, cost: float) -> dict[str, Any]:
    """What one trial came to."""
    sizes = len({look.size for look in found.looks})
    return {
        "keep": found.keep,
        "loss": truth,
        "kept": truth <= found.tolerance,
        "smallest": smallest,
        "sizes": sizes,
        "looks": len(found.looks),
        "cost": cost,
    }


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The trials in a few numbers."""
    keeps = np.array([one["keep"] for one in rows])
    smallest = float(rows[0]["smallest"])
    return {
        "trials": len(rows),
        "kept": sum(one["kept"] for one in rows) / len(rows),
        "median_keep": float(np.median(keeps)),
        "smallest": smallest,
        "ratio": float(np.median(keeps)) / smallest,
        "everything": float(np.mean(keeps == 1)),
        "median_cost": float(np.median([one["cost"] for one in rows])),
        "mean_looks": float(np.mean([one["looks"] / max(1, one["sizes"]) for one in rows])),
        "rows": list(rows),
    }


@dataclass
class Counted:
    """A local engine that counts trainings by the share of the data they use."""

    inner: Any
    cost: float = 0.0

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Any = None
    ) -> Iterator[tuple[int, Any, float]]:
        """Yield results."""
        (told,) = shared
        for job in items:
            fold, training = job.item if isinstance(job.item, tuple) else (0, job.item)
            self.cost += len(training.subset) / len((told[fold] if isinstance(told, tuple) else told).source)
        yield from self.inner.map(function, items, shared=shared)


def real(name: str, trials: int, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Search with real trainings, of random trees on random subsets; judged on examples that neither search saw.

    Parameters
    ----------
    name
        `digits`, or `table`, which is made up.
    trials
        Number of divisions into data and judging examples.
    known
        What an earlier call with fewer trials has returned.
    """
    from sklearn.datasets import load_digits, make_classification
    from sklearn.ensemble import ExtraTreesClassifier

    if name == "digits":
        x, y = load_digits(return_X_y=True)
        size = 1200
    else:
        x, y = make_classification(
            40 * 2000 + LARGE, 12, n_informative=6, n_redundant=2, n_classes=3, class_sep=1.5, random_state=0
        )
        size = 2000
    tolerance = 0.02
    how: dict[str, Any] = {"model": ExtraTreesClassifier(30, n_jobs=1), "run": Run(None, {})}
    found_before = known or {"held_out": {"rows": []}, "rows": [], "curve": []}
    parts = found_before["held_out"]["rows"], found_before["rows"], found_before["curve"]
    once, rotated, curve = (list(one) for one in parts)
    grid = np.geomspace(0.9, 0.05, 12)
    for trial in range(len(curve), trials):
        rng = np.random.default_rng([15, 1, trial])
        order = rng.permutation(len(y))
        mine, rest = order[:size], order[size : size + LARGE]
        source = wn.open((x[mine], y[mine]), ids=mine)

        def accuracy(kept: Source | wn.Subset, rest: NDArray[np.int64] = rest) -> float:
            where = np.asarray(kept.ids, dtype=np.int64)
            made = [ExtraTreesClassifier(30, random_state=1000 + k).fit(x[where], y[where]) for k in range(3)]
            return float(np.mean([one.score(x[rest], y[rest]) for one in made]))

        part, held = hold_out(source, 1 - LEFT, trial)
        engine = Counted(wn.Local(1))
        found = smallest_within(tolerance, by_lot(part, trial), part, held, engine=engine, seed=trial, **how)
        kept = part if found.subset is None else found.subset
        once.append(row(found, accuracy(part) - accuracy(kept), math.nan, LEFT * engine.cost))
        engine, folds = Counted(wn.Local(1)), rotating_folds(source, trial)
        assert folds is not None
        turns = [Turn(rest, fold, by_lot(rest, trial)) for rest, fold in folds]
        found = smallest_rotating(tolerance, turns, engine=engine, seed=trial, **how)
        full, chosen = accuracy(source), source if found.keep == 1 else by_lot(source, trial)(found.keep)
        rotated.append(row(found, full - accuracy(chosen), math.nan, LEFT * engine.cost))
        curve.append([full - accuracy(by_lot(source, trial)(keep)) for keep in grid])
    losses = np.mean(curve, axis=0)
    doing = float(min([keep for keep, loss in zip(grid, losses, strict=True) if loss <= tolerance], default=1.0))
    first, second = ([{**one, "smallest": doing} for one in rows] for rows in (once, rotated))
    about = {"name": f"real: {name}, trees", "tolerance": tolerance, "validation": size // FOLDS}
    return {"setting": about, "curve": curve, "held_out": summary(first), **summary(second)}


def table(results: Sequence[dict[str, Any]]) -> str:
    """The results as Markdown; the simulated ones have both searches."""
    lines = [
        "| setting | tolerance | examples | needed | could be shown | certified by a held-out fifth "
        "| by rotating folds | ratio | promise kept, % | everything kept | cost, full trainings |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        s, once, could = one["setting"], one.get("held_out"), one.get("could")
        pairs = [one if once is None else once, one]
        kept, every, cost = (
            " / ".join(texts)
            for texts in (
                [f"{100 * each['kept']:.0f}" for each in pairs],
                [f"{each['everything']:.0%}" for each in pairs],
                [f"{each['median_cost']:.0f}" for each in pairs],
            )
        )
        lines.append(
            f"| {s['name']} | {s['tolerance']:g} | {FOLDS * s['validation']:,} | {one['smallest']:.2f} "
            f"| {'' if could is None else f'{could:.2f}'} | {pairs[0]['median_keep']:.2f} | {one['median_keep']:.2f} "
            f"| {pairs[0]['ratio']:.2f} / {one['ratio']:.2f} | {kept} | {every} | {cost} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.winning.tolerance_simulation")
    parser.add_argument("--out", type=Path, required=True, help="file for the results, JSON")
    parser.add_argument("--trials", type=int, default=200, help="simulated trials per setting")
    parser.add_argument("--real", type=int, default=30, help="real trials per data set")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="stop then; the same command goes on from there"
    )
    asked = parser.parse_args()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    end = time.monotonic() + 60 * asked.minutes
    for setting in SETTINGS if asked.trials else ():
        while (done := results.get(setting.name, {}).get("trials", 0)) < asked.trials and time.monotonic() < end:
            known = (results[setting.name]["held_out"]["rows"], results[setting.name]["rows"]) if done else ()
            results[setting.name] = simulated(setting, min(done + PIECE, asked.trials), known)
            asked.out.write_text(json.dumps(results, indent=1))
    for name in ("digits", "table") if asked.real else ():
        word = f"real: {name}, trees"
        while (done := results.get(word, {}).get("trials", 0)) < asked.real and time.monotonic() < end:
            results[word] = real(name, done + 1, results.get(word))
            asked.out.write_text(json.dumps(results, indent=1))
    print(table(list(results.values())))
    print("trials:", {name: one["trials"] for name, one in results.items()})


if __name__ == "__main__":
    main()
