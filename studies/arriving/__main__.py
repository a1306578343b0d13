"""Prune, let data arrive, prune again: from the earlier run and from the start; compare time, choice and accuracy.

    python -m studies.arriving --out runs/arriving --data fashion-mnist --first 20000 --more 5000

Each pruning is a run directory, so the same command goes on where it stopped. Times are processor seconds of this
process, which a busy machine hardly changes; wall-clock seconds are given too.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from winnow.core.progress import shown
from winnow.signals.soft_targets import soft_targets


def options(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.arriving", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--data", default="fashion-mnist", help="anything wn.open takes that has a test split")
    parser.add_argument("--first", type=int, default=20_000, help="examples of the first pruning")
    parser.add_argument("--more", type=int, default=5_000, help="examples that arrive")
    parser.add_argument("--keep", type=float, default=0.3)
    parser.add_argument("--model", default="auto")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3, help="retrainings of each arm")
    parser.add_argument("--publish", type=Path, help="also write the table into this folder of the docs")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    """Run the study and print its table."""
    asked = options(given)
    whole, test = wn.open(asked.data, limit=asked.first + asked.more), wn.open(asked.data, split="test")
    small = wn.open(asked.data, limit=asked.first)
    assert np.isin(small.ids, whole.ids).all(), "a smaller sample must lie within a larger one"
    how: dict[str, Any] = {
        "keep": asked.keep,
        "model": asked.model,
        "recipe": wn.Recipe(epochs=asked.epochs),
        "engine": wn.Local(workers=1),
    }
    warm_up(asked.data, how)
    made = {
        "base": lambda out: wn.prune(small, out=out, **how),
        "since": lambda out: wn.prune(whole, base=asked.out / "base", out=out, **how),
        "fresh": lambda out: wn.prune(whole, out=out, **how),
        "fresh, other seed": lambda out: wn.prune(whole, seeds=[1], veto=0, out=out, **how),  # for its choice alone
    }
    runs = {name: timed(make, asked.out / name.replace(", ", "-").replace(" ", "-")) for name, make in made.items()}
    subsets = {name: subset for name, (subset, _) in runs.items()}
    fresh = wn.Signals.load(asked.out / "fresh" / "signals" / "seed-0.safetensors")
    weight = subsets["fresh"].targets.weight  # type: ignore[union-attr]
    study = wn.evaluate(
        whole,
        {name: subsets[name] for name in ("since", "fresh", "fresh, other seed")},
        test=test,
        model=asked.model,
        recipe=how["recipe"],
        seeds=asked.seeds,
        soft=dataclasses.replace(soft_targets(fresh), weight=weight),
        out=asked.out / "evaluate",
        engine=wn.Local(workers=1),
    )
    text = told(asked, runs, subsets, study, agreement(asked.out, small.ids))
    for folder in (asked.out, asked.publish):
        if folder is not None:
            (folder / "arriving-table.md").write_text(text)
    print(text)


def warm_up(data: str, how: dict[str, Any]) -> None:
    """Run everything once on a little, so that no run is charged for what the first one loads."""
    few, more = wn.open(data, limit=300), wn.open(data, limit=400)
    with tempfile.TemporaryDirectory() as folder:
        wn.prune(few, out=Path(folder, "base"), **how)
        wn.prune(more, base=Path(folder, "base"), **how)


def timed(make: Callable[[Path], wn.Subset], out: Path) -> tuple[wn.Subset, dict[str, float]]:
    """A pruning with its processor and wall-clock seconds, those of the first time it ran to the end."""
    clock, processor = time.perf_counter(), time.process_time()
    subset = make(out)
    file = out / "seconds.json"
    if not file.exists():
        took = {"processor": time.process_time() - processor, "clock": time.perf_counter() - clock}
        file.write_text(json.dumps(took))
    return subset, json.loads(file.read_text())


def overlap(first: wn.Subset, second: wn.Subset) -> float:
    """Shared examples over all examples of two subsets."""
    return float(np.intersect1d(first.ids, second.ids).size / np.union1d(first.ids, second.ids).size)


def agreement(out: Path, old: Any) -> list[dict[str, Any]]:
    """How uncertainty by the continuation and by fresh runs agree, on old and on new examples."""
    scores = {
        name: wn.score("uncertainty", wn.Signals.load(out / name / "signals" / f"seed-{seed}.safetensors"))
        for name, seed in (("since", 0), ("fresh", 0), ("fresh-other-seed", 1))
    }
    ids = scores["fresh"].ids
    rows = []
    for part, chosen in (("old", ids[np.isin(ids, old)]), ("new", ids[~np.isin(ids, old)])):
        values = {name: found.take(chosen).values for name, found in scores.items()}
        ranks = {name: found.argsort().argsort() for name, found in values.items()}
        rows.append(
            {
                "examples": part,
                "since and fresh": float(np.corrcoef(ranks["since"], ranks["fresh"])[0, 1]),
                "two fresh": float(np.corrcoef(ranks["fresh"], ranks["fresh-other-seed"])[0, 1]),
                "mean, since": float(values["since"].mean()),
                "mean, fresh": float(values["fresh"].mean()),
            }
        )
    return rows


def points(study: wn.Study, one: str, other: str) -> str:
    """A difference in points with its 95 % interval."""
    gap = study.versus(one, other)
    return f"{100 * gap.centre:+.2f} ({100 * gap.low:+.2f} to {100 * gap.high:+.2f})"


def told(
    asked: argparse.Namespace,
    runs: dict[str, tuple[wn.Subset, dict[str, float]]],
    subsets: dict[str, wn.Subset],
    study: wn.Study,
    agreed: list[dict[str, Any]],
) -> str:
    """The tables as Markdown."""
    start = runs["fresh"][1]
    lines = [
        "| pruning | processor s | wall s | share of starting over | overlap with fresh |",
        "|---|---|---|---|---|",
    ]
    for name, (subset, took) in runs.items():
        share = "untried" if "other" in name else f"{100 * took['processor'] / start['processor']:.0f} %"
        same = "" if name == "base" else f"{overlap(subset, subsets['fresh']):.2f}"
        lines.append(f"| {name} | {took['processor']:.0f} | {took['clock']:.0f} | {share} | {same} |")
    lines += ["", "| trained on | accuracy, % | against fresh, points | against random, points |", "|---|---|---|---|"]
    random = next(arm.name for arm in study.arms if arm.name.startswith("random"))
    for row in study.table():
        name = row["arm"]
        gaps = ["" if name == other else points(study, name, other) for other in ("fresh", random)]
        lines.append(
            f"| {name} | {100 * row[study.metric]:.2f} ({100 * row['low']:.2f} to {100 * row['high']:.2f}) "
            f"| {gaps[0]} | {gaps[1]} |"
        )
    lines += [
        "",
        "| examples | rank correlation of uncertainty, since and fresh | two fresh runs | mean by since | by fresh |",
        "|---|---|---|---|---|",
    ]
    for row in agreed:
        lines.append(
            f"| {row['examples']} | {row['since and fresh']:.3f} | {row['two fresh']:.3f} | {row['mean, since']:.3f} "
            f"| {row['mean, fresh']:.3f} |"
        )
    since = subsets["since"].certificate["since"]
    veto = f"the trial of the candidate was {'taken over' if since['trial'] == 'base' else 'made again'}"
    command = (
        f"python -m studies.arriving --data {asked.data} --first {asked.first} --more {asked.more} "
        f"--keep {asked.keep:g} --model {asked.model} --epochs {asked.epochs} --seeds {asked.seeds}"
    )
    lines += [
        "",
        f"{since['said'].capitalize()}; {veto}.",
        f"Made {datetime.date.today()} on {os.cpu_count()} cores (load {os.getloadavg()[0]:.1f} at the end) by "
        f"`{command}`.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    with shown():
        main()
