"""Is the default worth using without labels? Examples are chosen without their labels, which are then revealed.

    python -m studies.winning.unlabelled --out runs/unlabelled [--data digits] [--seeds 5] [--publish docs/studies]

Without labels nothing can be tried before choosing, so the default must be safe by itself. What it keeps is compared
with random examples, and with other choices that need no labels: what `auto` was before (`prototype+strata`), facility
location and k-centre. Judges are a small network and a random forest on the given columns, both of scikit-learn; they
are trained once per draw. The rule was fixed on the development data and the other sets were looked at once.
"""

from __future__ import annotations

import argparse
import datetime
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts import Table
from winnow.artefacts.intervals import holm, paired
from winnow.core.progress import shown, track

from ..shelf import Shelf
from .data import SETTINGS, opened

__all__ = ["CHECKED", "DEVELOPMENT", "marks", "rows_of", "run_set"]

DEVELOPMENT = ("digits", "ring", "magic", "segment", "letter", "satimage")
CHECKED = ("texture", "optdigits", "vowel", "vehicle", "penbased", "phoneme", "movement_libras", "twonorm", "spambase")
METHODS = ("random", "auto", "prototype+strata", "facility_location", "kcenter")
KEEPS = (0.3, 0.1, 0.03)
MOST = 6_000  # training examples
JUDGES = ("network", "forest")
Marks = NDArray[np.bool_]


def marks(judge: str, x: NDArray[Any], y: NDArray[Any], tests: NDArray[Any], truth: NDArray[Any], seed: int) -> Marks:
    """Which test examples a judge gets right that was trained on these."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    learner = RandomForestClassifier(random_state=seed, n_jobs=1)
    if judge == "network":
        learner = make_pipeline(StandardScaler(), MLPClassifier((64,), max_iter=100, random_state=seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the network's passes over the data end before it has converged
        return np.asarray(learner.fit(x, y).predict(tests) == truth)


def run_set(name: str, seeds: int, quick: bool = False) -> list[dict[str, Any]]:
    """Points over random of every method, judge and fraction on one data set."""
    labelled, test = opened(SETTINGS[name], quick)
    labelled = labelled.at(np.sort(np.random.default_rng(0).permutation(len(labelled))[:MOST]), name)
    x, tests = (source.read(np.arange(len(source))).reshape(len(source), -1) for source in (labelled, test))
    y, truth = np.asarray(labelled.labels), np.asarray(test.labels)
    bare = replace(labelled, labels=None, task="unlabelled", classes=())
    found = []
    for keep in KEEPS:
        right: dict[tuple[str, str], list[Marks]] = {}
        for method in METHODS:
            for seed in range(seeds):
                kept = labelled.positions(wn.prune(bare, keep, method=method, seed=seed).ids)
                for judge in JUDGES:
                    right.setdefault((method, judge), []).append(marks(judge, x[kept], y[kept], tests, truth, seed))
        for judge in JUDGES:
            base = np.array(right["random", judge])
            said = {"data": name, "keep": keep, "kept": len(kept), "classes": len(labelled.classes), "judge": judge}
            gaps = {method: paired(right[method, judge], base) for method in METHODS[1:]}
            gaps = {method: [gap.centre, gap.low, gap.high, gap.p_value] for method, gap in gaps.items()}
            found.append({**said, "random": float(base.mean()), "gaps": gaps})
    return found


def rows_of(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the table: points over random, marked where the interval leaves zero out."""
    rows = []
    for cell in cells:
        star = "*" if cell["data"] in DEVELOPMENT else ""
        row = {"data": cell["data"] + star, "kept": f"{cell['keep']:g} ({cell['kept']:,})", "judge": cell["judge"]}
        row["random, %"] = f"{100 * cell['random']:.1f}"
        for method in METHODS[1:]:
            centre, low, high, _ = cell["gaps"][method]
            row[method] = f"{100 * centre:+.1f}" + (" ▲" if low > 0 else " ▼" if high < 0 else "")
        rows.append(row)
    return rows


def summary(cells: Sequence[dict[str, Any]]) -> list[str]:
    """What the table says, in numbers."""
    lines = ["| | " + " | ".join(METHODS[1:]) + " |", "|---|" + "---|" * len(METHODS[1:])]
    for title, names in (("development", DEVELOPMENT), ("looked at once", CHECKED)):
        some = [cell for cell in cells if cell["data"] in names]
        if not some:
            continue
        said = []
        for method in METHODS[1:]:
            gaps = np.array([cell["gaps"][method] for cell in some])
            worse = sum(p < 0.05 and gap < 0 for p, gap in zip(holm(gaps[:, 3].tolist()), gaps[:, 0], strict=True))
            said.append(
                f"{100 * gaps[:, 0].mean():+.1f}; {sum(gaps[:, 1] > 0)}, {sum(gaps[:, 2] < 0)} ({worse}); "
                f"{100 * gaps[:, 0].min():+.1f}"
            )
        lines.append(f"| {title}, {len(some)} cells | {' | '.join(said)} |")
    return lines


def published(cells: Sequence[dict[str, Any]], seeds: int) -> str:
    """Summary and table as Markdown."""
    return "\n".join(
        [
            "Mean difference to random in points; cells above and below random by their 95 % interval, and below after "
            "Holm's correction; the lowest difference.",
            "",
            *summary(cells),
            "",
            "Per data set. Stars mark the development data.",
            "",
            Table(tuple(rows_of(cells))).markdown(),
            "",
            f"{seeds} draws with one training each. Made {datetime.date.today()} by "
            "`python -m studies.winning.unlabelled`.",
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.winning.unlabelled", description=__doc__.split("\n")[0])
    names = (*DEVELOPMENT, *CHECKED)
    parser.add_argument("--out", type=Path, required=True, help="run directory; finished sets are kept there")
    parser.add_argument("--data", nargs="+", choices=names, default=list(names))
    parser.add_argument("--seeds", type=int, default=5, help="draws, and trainings of each judge")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, proves nothing")
    parser.add_argument("--publish", type=Path, help="also write unlabelled-table.md into this folder")
    asked = parser.parse_args(arguments)
    shelf, cells = Shelf(asked.out, "unlabelled"), []
    for name in track(asked.data, "data sets"):
        said = {"data": name, "seeds": asked.seeds, "quick": asked.quick}
        cells += shelf.keep(name, said, lambda _, name=name: run_set(name, asked.seeds, asked.quick))
    text = published(cells, asked.seeds)
    for folder in (asked.out, *([asked.publish] if asked.publish else [])):
        (folder / "unlabelled-table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    with shown():
        main()
