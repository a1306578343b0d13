"""The tables and the reliability diagram of `benchmarks/check.py`."""

from __future__ import annotations

import argparse
import datetime
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from machine import processor
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import NDArray
from studies.checking import judging
from studies.parts import COLOURS, INK, RANDOM, panels, written

from winnow.artefacts.intervals import mean

METHODS = (
    "winnow",
    "winnow, no encoder",
    "winnow, one training",
    "cleanlab",
    "cleanlab, encoder",
    "loss",
    "aum",
    "oracle",
)
WORDS = {"uniform": "uniform", "pair": "pairs", "human": "by a rule", "drawn": "drawn like people"}
Cell = dict[str, Any]


def publish(cells: Sequence[Cell], trainings: Sequence[Cell], asked: argparse.Namespace) -> None:
    """Print the tables, and write them with the figure into the run directory and the docs."""
    if not cells:
        return
    made = [f"Made {datetime.date.today()}; {os.cpu_count()} cores, {processor()}, one thread."]
    made += [f"- `python benchmarks/check.py --out RUN {words}`" for words in commands(cells, trainings)]
    parts = (precision(cells), quality(cells), after_marks(cells), calibration(cells), trained(trainings))
    text = "\n\n".join(["\n".join(part) for part in parts if part] + ["\n".join([made[0], "", *made[1:]]), ""])
    print(text)
    for folder in (asked.out, asked.publish):
        if folder is not None:
            (folder / "check-tables.md").write_text(text)
            diagram(cells, folder / "check-reliability.png")


def commands(cells: Sequence[Cell], trainings: Sequence[Cell]) -> list[str]:
    """The options that each data set was run with."""
    found = []
    for name in dict.fromkeys(one["data"] for one in cells):
        mine = [one for one in cells if one["data"] == name]
        used = dict.fromkeys(f"{one['kind']}:{one['rate']:g}" for one in trainings if one["data"] == name)
        train = f" --train {' '.join(used)}" if used else ""
        seeds = 1 + max(one["seed"] for one in mine)
        limit = mine[0]["examples"]
        kinds = " ".join(dict.fromkeys(f"{one['kind']}:{one['rate']:g}" for one in mine))
        sizes = f"--seeds {seeds} --examples {limit} --epochs {mine[0]['epochs']}"
        found.append(f"--data {name} {sizes} --noise {kinds}{train}")
    return found


def grouped(cells: Sequence[Cell]) -> dict[tuple[str, str, float], list[Cell]]:
    """The seeds of each cell."""
    found: dict[tuple[str, str, float], list[Cell]] = {}
    for one in cells:
        found.setdefault((one["data"], one["kind"], one["rate"]), []).append(one)
    return found


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Mean with half its interval over seeds; the mean alone of one seed."""
    return f"{np.mean(values):.{digits}f}" if len(values) < 2 else written(mean(values), digits)


def precision(cells: Sequence[Cell]) -> list[str]:
    """Average precision per method, and the difference to cleanlab with the same knowledge, and without an encoder."""
    lines = [
        f"| average precision | {' | '.join(METHODS)} | winnow - cleanlab | winnow - cleanlab, encoder |",
        "|---" * (len(METHODS) + 3) + "|",
    ]
    for (data, kind, rate), some in grouped(cells).items():
        means = {name: _mean(some, name) for name in METHODS}
        best = max((name for name in METHODS[:-1] if means[name] is not None), key=lambda name: means[name] or 0.0)
        shown = [
            "" if means[name] is None else _bold(spread([one["ap"][name] for one in some]), name == best)
            for name in METHODS
        ]
        lines.append(f"| {data}, {WORDS[kind]} {rate:.0%} | {' | '.join([*shown, *_gaps(some)])} |")
    return lines


def _mean(cells: Sequence[Cell], name: str) -> float | None:
    """Average precision of a method that ran in these cells."""
    return float(np.mean([one["ap"][name] for one in cells])) if all(name in one["ap"] for one in cells) else None


def _gaps(cells: Sequence[Cell]) -> list[str]:
    found = []
    for name in ("cleanlab", "cleanlab, encoder"):
        with_it = _mean(cells, name) is not None
        found.append(spread([one["ap"]["winnow"] - one["ap"][name] for one in cells]) if with_it else "")
    return found


def _bold(text: str, yes: bool) -> str:
    return f"**{text}**" if yes else text


def quality(cells: Sequence[Cell]) -> list[str]:
    """What is flagged, the noise rate, and the suggestions."""
    lines = [
        "| flagged labels | F1 of winnow | of the oracle | ratio | of cleanlab | wrong labels | estimated (95 %) "
        "| one training | suggestion right |",
        "|---" * 9 + "|",
    ]
    for (data, kind, rate), some in grouped(cells).items():

        def of(take: Callable[[Cell], Any], some: list[Cell] = some) -> NDArray[np.float64]:
            return np.mean([take(one) for one in some], axis=0)

        ratio = of(lambda one: one["f1"]["winnow"] / max(one["f1"]["oracle"], 1e-9))
        rates = of(lambda one: one["estimate"]["winnow"])
        truth = of(lambda one: one["truth"])
        near = "" if judging.within_tolerance(float(rates[0]), float(truth)) else " (off)"
        lines.append(
            f"| {data}, {WORDS[kind]} {rate:.0%} | {spread([one['f1']['winnow'] for one in some])} "
            f"| {of(lambda one: one['f1']['oracle']):.3f} | {ratio:.2f} | {of(lambda one: one['f1']['cleanlab']):.3f} "
            f"| {truth:.1%} | {rates[0]:.1%} ({rates[1]:.1%} to {rates[2]:.1%}){near} "
            f"| {of(lambda one: one['estimate']['winnow, one training'][0]):.1%} "
            f"| {of(lambda one: one['suggested']['winnow']):.0%} |"
        )
    return lines


def after_marks(cells: Sequence[Cell]) -> list[str]:
    """The noise rate and what is flagged once a person has marked a few labels, over draws and seeds."""
    lines = [
        "| after 60 marks | wrong labels | estimated: mean (smallest to largest) | near the truth "
        "| inside the interval | F1: mean (smallest) |",
        "|---" * 6 + "|",
    ]
    for (data, kind, rate), some in grouped(cells).items():
        rows, truth = np.concatenate([one["marks"] for one in some]), float(np.mean([one["truth"] for one in some]))
        share, low, high, f1 = rows.T
        near = np.mean([judging.within_tolerance(one, truth) for one in share])
        inside = np.mean((low <= truth) & (truth <= high))
        lines.append(
            f"| {data}, {WORDS[kind]} {rate:.0%} | {truth:.1%} | {share.mean():.1%} ({share.min():.1%} to "
            f"{share.max():.1%}) | {near:.0%} | {inside:.0%} | {f1.mean():.3f} ({f1.min():.3f}) |"
        )
    return lines


def calibration(cells: Sequence[Cell]) -> list[str]:
    """How many of the labels in each tenth of probability are wrong."""
    tenths = [f".{n} to {'.' + str(n + 1) if n < 9 else '1'}" for n in range(judging.BINS)]
    lines = [f"| wrong among labels with probability | {' | '.join(tenths)} |", "|---" * (judging.BINS + 1) + "|"]
    for name in ("winnow", "winnow, one training"):
        shares = _shares(cells, name)
        lines.append(f"| {name} | {' | '.join(f'{wrong:.0%} of {n:.0f}' for n, wrong, _ in shares)} |")
    return lines


def _shares(cells: Sequence[Cell], name: str) -> list[tuple[float, float, float]]:
    """Per tenth: how many, the share of wrong ones, the mean probability."""
    found = judging.pooled([one["reliability"][name] for one in cells])
    return [(n, wrong / max(n, 1), total / max(n, 1)) for n, total, wrong in found.tolist()]


def trained(trainings: Sequence[Cell]) -> list[str]:
    """Accuracy on test data after training on what clean keeps."""
    if not trainings:
        return []
    lines = [
        "| test accuracy, % | kept | clean | random, same size | everything | clean - random (95 %) "
        "| clean - everything (95 %) |",
        "|---" * 7 + "|",
    ]
    for one in trainings:
        noise = f"{WORDS[one['kind']]} {one['rate']:.0%}" if one["rate"] else "no errors planted"
        noise += ", after 60 marks" if one.get("marks") else ""
        arms = " | ".join(f"{100 * one['arms'][name]:.1f}" for name in ("clean", "random", "everything"))
        gains = " | ".join(
            "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * value for value in one["gains"][other]))
            for other in ("random", "everything")
        )
        lines.append(f"| {one['data']}, {noise} | {one['kept']:.1%} | {arms} | {gains} |")
    return lines


def diagram(cells: Sequence[Cell], path: Path) -> None:
    """Draw the share of wrong labels over the probability, per data set."""
    names = list(dict.fromkeys(one["data"] for one in cells))
    figure, (left, right) = panels(2, 3.2)
    for axes, method in ((left, "winnow"), (right, "winnow, one training")):
        axes.plot([0, 1], [0, 1], color=RANDOM, linestyle="--", linewidth=1)
        for colour, name in zip(COLOURS, names, strict=False):
            shares = _shares([one for one in cells if one["data"] == name], method)
            held = [(sure, wrong) for n, wrong, sure in shares if n >= 10]
            axes.plot(*zip(*held, strict=True), color=colour, marker="o", markersize=4, label=name)
        axes.set(xlabel="probability that the label is wrong", xlim=(0, 1), ylim=(0, 1))
        axes.set_title(method if method != "winnow" else "winnow, out of fold", color=INK, fontsize=10)
    left.set_ylabel("share that is wrong")
    left.legend(frameon=False, fontsize=8)
    FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})
