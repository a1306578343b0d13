"""Run the pruning study and write its table and figure.

    python -m studies.pruning --out runs/pruning

One observation of the training data (several seeds), every score from it, every subset from those, then all
arms retrained by `wn.evaluate` on one path. Kill it at any moment: the same command goes on. Nothing is chosen
on test data: methods run with the parameters METHODS.md states, and every one of them is in the table.
"""

from __future__ import annotations

import argparse
import datetime
import json
import time
from pathlib import Path

import winnow as wn
from winnow.core.progress import shown

from .publishing import publish

# method -> (score, selector, parameters); "balanced" repeats each with half of an equal share for each class
METHODS = {
    "el2n": ("el2n", "rank", {}),
    "forgetting": ("forgetting", "rank", {}),
    "aum": ("aum", "rank", {}),
    "prototype": ("prototype", "rank", {}),
    "strata": ("aum", "strata", {}),
    "dual+beta": ("dual", "beta", {}),
}
BALANCES = {"": None, " balanced": 0.5}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.pruning", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--data", default="fashion-mnist", help="anything wn.open takes that has a test split")
    parser.add_argument("--examples", type=int, default=20_000, help="training examples, drawn at random by class")
    parser.add_argument("--model", default="lenet5")
    parser.add_argument("--epochs", type=int, default=8, help="epochs of a retraining")
    parser.add_argument("--observe-epochs", type=int, default=20, help="epochs of an observation")
    parser.add_argument("--observe-seeds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=5, help="retrainings of each arm")
    parser.add_argument("--fractions", type=float, nargs="+", default=[0.7, 0.5, 0.3, 0.1])
    parser.add_argument("--match-iterations", type=float, default=0.5, help="0: same epochs, 1: same steps")
    parser.add_argument("--publish", type=Path, help="also write table and figure into this folder of the docs")
    return parser.parse_args()


def main() -> None:
    asked = options()
    source, test = wn.open(asked.data, limit=asked.examples), wn.open(asked.data, split="test")
    look = wn.Recipe(epochs=asked.observe_epochs)
    signals = wn.observe(
        source, asked.model, look, asked.observe_seeds, ("logits", "embeddings"), out=asked.out / "observe"
    )
    observed = observing_seconds(asked.out / "observe")
    subsets, costs, reliability = {}, {}, {}
    for name, (score, selector, parameters) in METHODS.items():
        clock = time.perf_counter()
        scores = wn.score(score, signals)
        scored = time.perf_counter() - clock
        reliability[name] = scores.reliability
        for word, balance in BALANCES.items():
            for keep in asked.fractions:
                clock = time.perf_counter()
                arm = f"{name}{word}@{keep:g}"
                subsets[arm] = wn.select(selector, scores, keep=keep, balance=balance, signals=signals, **parameters)
                costs[arm] = {"observe": observed, "score": scored, "select": time.perf_counter() - clock}
    study = wn.evaluate(
        source,
        subsets,
        test=test,
        model=asked.model,
        recipe=wn.Recipe(epochs=asked.epochs),
        seeds=asked.seeds,
        match_iterations=asked.match_iterations,
        same_steps=False,
        out=asked.out / "evaluate",
        costs=costs,
    )
    about = {
        "date": datetime.date.today().isoformat(),
        "seconds": observed + sum(outcome.seconds for outcome in study.outcomes),
        "data": f"{asked.data}, {len(source)} training and {len(test)} test examples",
        "model": asked.model,
        "epochs": asked.epochs,
        "observe": f"{asked.observe_seeds} x {asked.observe_epochs} epochs, {observed:.0f} s",
        "seeds": asked.seeds,
        "match_iterations": asked.match_iterations,
        "reliability": reliability,
    }
    publish(study, about, asked.out)
    if asked.publish:
        publish(study, about, asked.publish)
    print((asked.out / "pruning-table.md").read_text())
    print(f"figure  {asked.out / 'pruning.png'}")


def observing_seconds(run: Path) -> float:
    """Seconds of all observed trainings, as they were when first made."""
    return sum(json.loads(step.read_text())["seconds"] for step in (run / "steps" / "observe").glob("*.json"))


if __name__ == "__main__":
    with shown():
        main()
