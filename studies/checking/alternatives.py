"""Other rules for the share of wrong labels and for what is flagged, tried on the development data and not taken.

    python -m studies.checking.alternatives --out RUN [--data satimage ...] [--noise drawn:0.18 ...] [--quick]

RUN may be that of `calibration.py`: what was observed is shared. Nothing is chosen here; the tables say what each rule
would gain on one kind of errors and lose on another.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.checking import judging
from studies.checking.data import BENCHMARKED, DEVELOPMENT, NOISE
from studies.checking.observed import Observed, observed_sets
from studies.shelf import Shelf
from winnow.checking.label_issues import flagged_from
from winnow.core.progress import shown
from winnow.scores.mislabelled import at_share, label_evidence
from winnow.scores.wrong_share import LEAST, MOST, ahead, floor_share, moved_share, sigmoid

__all__ = ["confident_share", "spread_share"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Cell = dict[str, Any]
RULES = (
    "today",
    "the larger of today's and by spread",
    "halfway from today's to the confident joint",
    "confident joint",
)
SHARPEST = 12.0
BEYOND = {"today": (0.0, 0.0), "half more, 2 points at most": (0.5, 0.02), "twice, 3 points more at most": (1.0, 0.03)}
BORDERS = 100  # tried for the best F1 that the ranking allows


def confident_share(classes: Floats, labels: Labels) -> float:
    """Share of labels off the diagonal of the confident joint, as confident learning counts them.

    An example counts for the likeliest of the classes whose probability is at least its mean over the examples with
    that label.
    """
    count = classes.shape[1]
    usual = np.array([classes[labels == k, k].mean() if (labels == k).any() else 1.0 for k in range(count)])
    enough = classes >= usual
    some = enough.any(axis=1)
    joint = np.full((count, count), 1e-9)
    np.add.at(joint, (labels[some], np.where(enough, classes, -1.0).argmax(axis=1)[some]), 1.0)
    joint *= (np.bincount(labels, minlength=count) / joint.sum(axis=1))[:, None]
    return float(1 - np.trace(joint) / joint.sum())


def spread_share(classes: Floats, labels: Labels) -> float:
    """Disagreement beyond what overlapping classes explain, if these were normal.

    With two normal classes that overlap, the log odds of the true class have a variance of twice their mean. Labels
    that are drawn from softened odds make the odds too narrow for that. So they are sharpened until it holds, and the
    disagreement that sharp odds would leave is subtracted.
    """
    logs = np.log(np.maximum(classes, 1e-6))
    logs -= logs.max(axis=1, keepdims=True)
    odds = -np.sort(logs, axis=1)[:, -2]
    sharper = 1.0
    for sharper in np.exp(np.linspace(0.0, np.log(SHARPEST), 100)):
        odd = sharper * odds
        middle = float((odd * (2 * sigmoid(odd) - 1)).mean())
        if float((odd**2).mean()) - middle**2 >= 2 * middle:
            break
    overlap = float((1 - 1 / np.exp(sharper * logs).sum(axis=1)).mean())
    return max(0.0, float((classes.argmax(axis=1) != labels).mean()) - overlap)


def numbers(seen: Observed) -> Cell:
    """Shares by every rule, what a regression may use, and what each border flags, of one set with planted errors."""
    found = label_evidence(seen.signals, trees=seen.table)
    classes, labels = found.classes, found.labels
    gaps, evidence = ahead(classes, labels), found.against
    counted, spread = confident_share(classes, labels), spread_share(classes, labels)
    best = judging.oracle(judging.observed_numbers(seen.signals, classes), seen.wrong)
    flags = {}
    for name, (factor, most) in BEYOND.items():
        sure = at_share(evidence, found.share + min(factor * found.share, most))
        chosen = sure >= flagged_from(sure)
        flags[name] = [float(chosen.mean()), judging.f1(seen.wrong, chosen) if seen.wrong.any() else None]
    tried = np.quantile(evidence, np.linspace(0.4, 0.999, BORDERS))
    return {
        "share": float(seen.wrong.mean()),
        "rules": {
            name: float(one)
            for name, one in zip(
                RULES, (found.share, max(found.share, spread), (found.share + counted) / 2, counted), strict=True
            )
        },
        "numbers": [
            moved_share(classes, labels), floor_share(classes, labels), counted, spread,
            *(float((gaps > one).mean()) for one in (0, 1, 2)), float((np.abs(gaps) < 0.5).mean()),
            float(-(classes * np.log(classes + 1e-12)).sum(axis=1).mean()), classes.shape[1],
        ],
        "flags": flags,
        "oracle": judging.f1(seen.wrong, best > 0.5) if seen.wrong.any() else None,
        "best": max(judging.f1(seen.wrong, evidence >= one) for one in tried) if seen.wrong.any() else None,
    }  # fmt: skip


def regressed(cells: list[Cell]) -> Floats:
    """The share of each set by a forest on its numbers that was fitted on the other sets."""
    from sklearn.ensemble import RandomForestRegressor

    x, y = np.array([cell["numbers"] for cell in cells]), np.array([cell["share"] for cell in cells])
    sets, found = np.array([cell["data"] for cell in cells]), np.zeros(len(cells))
    for name in np.unique(sets) if np.unique(sets).size > 1 else ():
        mine = sets == name
        forest = RandomForestRegressor(200, min_samples_leaf=3, max_features=0.4, random_state=0)
        found[mine] = forest.fit(x[~mine], y[~mine]).predict(x[mine])
    return found


def report(cells: list[Cell]) -> list[str]:
    """Two tables: how often each share is near the truth, and what each border flags."""
    cells = [cell for cell in cells if cell["kind"] != "human"]  # by a rule: no share is near
    kinds = {(cell["kind"], cell["rate"]): None for cell in cells}
    rules: dict[str, Floats] = {name: np.array([cell["rules"][name] for cell in cells]) for name in RULES}
    rules["forest, fitted on the other sets"] = regressed(cells)
    words = " | ".join(f"{kind} {rate:.0%}" for kind, rate in kinds)
    head, line = f"| {words} |", "|---" * (len(kinds) + 1) + "|"
    lines = ["| share near the truth " + head, line]
    for name, found in rules.items():
        near = [
            judging.within_tolerance(float(np.clip(one, LEAST[True], MOST)), cell["share"])
            for one, cell in zip(found, cells, strict=True)
        ]
        lines.append(f"| {name} | {' | '.join(f'{np.mean(_of(near, cells, kind)):.0%}' for kind in kinds)} |")
    lines += ["", "| flagged (median), F1 over the best border's (mean), F1 at least .9 of the oracle's " + head, line]
    for name in BEYOND:
        shown = []
        for kind in kinds:
            some = [cell for cell in cells if (cell["kind"], cell["rate"]) == kind]
            flagged = f"{np.median([cell['flags'][name][0] for cell in some]):.1%}"
            f1s = [(cell["flags"][name][1], cell["best"], cell["oracle"]) for cell in some if cell["share"] > 0]
            ratio = f", {np.mean([one / best for one, best, _ in f1s]):.2f}" if f1s else ""
            passed = f", {np.mean([one >= 0.9 * oracle for one, _, oracle in f1s]):.0%}" if f1s else ""
            shown.append(flagged + ratio + passed)
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return lines


def _of(values: list[bool], cells: list[Cell], kind: tuple[str, float]) -> list[bool]:
    return [one for one, cell in zip(values, cells, strict=True) if (cell["kind"], cell["rate"]) == kind]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.checking.alternatives", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory; finished sets are kept there")
    sets, noise = [*DEVELOPMENT, *BENCHMARKED], {f"{kind}:{rate:g}": (kind, rate) for kind, rate in NOISE}
    parser.add_argument("--data", nargs="+", choices=sets, default=list(DEVELOPMENT))
    parser.add_argument("--noise", nargs="+", choices=list(noise), default=[one for one in noise if "human" not in one])
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, proves nothing")
    asked = parser.parse_args()
    shelf = Shelf(asked.out, "checking alternatives")
    epochs, limit = (2, 150) if asked.quick else (15, None)
    cells = []
    for seen in observed_sets(asked.out, asked.data, [noise[one] for one in asked.noise], epochs, limit):
        said = {"data": seen.data, "kind": seen.kind, "rate": seen.rate, "epochs": epochs, "examples": len(seen.wrong)}
        cells.append({**said, **shelf.keep("alternatives", said, lambda _, seen=seen: numbers(seen))})
    print("\n".join(report(cells)))


if __name__ == "__main__":
    with shown():
        main()
