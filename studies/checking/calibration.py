"""Fit the constants of `winnow.scores.mislabelled` on development data with planted wrong labels.

    python -m studies.checking.calibration --out RUN [--data digits letter ...] [--quick]

Ten sets with seven kinds of errors each (`data.py`) are observed out of fold with the default network, 20 epochs. Per
set and kind of errors, the four numbers that the share of wrong labels follows from are computed by the library itself.

- **Weights of the share**: ridge regression (penalty .5, not on the intercept) of the logit of the true share on the
  four numbers; errors like those of people weigh .4, because a share of them that no network can see would raise the
  estimate everywhere. Without `oof`, the third number is left out.
- **Spread**: the standard deviation of its error on data sets that were left out, over planted errors that can be seen.
- **Slope**: of several, the one whose probabilities are closest to the share of wrong labels, in the tenths above .5,
  with the share estimated by weights that were fitted without the data set.

Figures are for data sets left out, except that the slope was chosen on all ten. They are of development data: the form
of the combination (which numbers, which evidence) was found on the same sets, so they are too good.
`benchmarks/check.py` reports on others. The constants in the library come from a run over all ten sets by a prototype
with the same formulas; it drew its folds and its seeds in other ways, so a run of this module agrees with them only
roughly.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from studies.checking import judging
from studies.checking.data import DEVELOPMENT, NOISE, development
from studies.checking.noise import noisy
from studies.shelf import Shelf
from winnow.checking.neighbour_rows import neighbour_rows
from winnow.core.progress import shown
from winnow.scores.mislabelled import LEAST, MOST, against_label, at_share, class_probabilities, share_numbers

Floats = NDArray[np.float64]
COLUMNS = {"oof": [0, 1, 2, 3], "predictions": [0, 1, 3]}  # which of the four numbers are used
PENALTY = 0.5
HUMAN = 0.4  # weight of errors like those of people
SLOPES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)


def numbers(truth: wn.Source, kind: str, rate: float, epochs: int) -> dict[str, Any]:
    """Observe one set with one kind of errors, and compute what is fitted, with and without `oof`."""
    source = noisy(truth, kind, rate)
    wrong = np.asarray(source.labels) != np.asarray(truth.labels)
    seen = wn.observe(source, recipe=wn.Recipe(epochs=epochs), want=("oof",), engine=wn.Local(workers=1))
    axes = {**(seen.axes or {}), "embeddings": ("examples", "embedding")}
    whole = replace(seen, arrays={**seen.arrays, "embeddings": neighbour_rows(source)}, axes=axes)
    plain = replace(seen, arrays={name: values for name, values in seen.arrays.items() if name != "oof"})
    found: dict[str, Any] = {"share": float(wrong.mean()), "wrong": wrong.tolist()}
    for variant, signals in (("oof", whole), ("predictions", plain)):
        classes = class_probabilities(signals)
        evidence = against_label(signals, classes)
        best = judging.oracle(judging.observed_numbers(signals, classes), wrong)
        found[variant] = {
            "numbers": share_numbers(classes, np.asarray(source.labels)).tolist(),
            "evidence": np.round(evidence, 5).tolist(),
            "oracle": judging.f1(wrong, best > 0.5) if wrong.any() else None,
        }
    return found


def fitted(rows: Floats, shares: Floats, weights: Floats) -> Floats:
    """Intercept and weights by ridge regression of the logit of the share."""
    design = np.column_stack([np.ones(len(rows)), rows])
    penalty = PENALTY * np.eye(design.shape[1])
    penalty[0, 0] = 0.0
    return np.linalg.solve(design.T @ (weights[:, None] * design) + penalty, design.T @ (weights * _logit(shares)))


def _logit(shares: Floats) -> Floats:
    return np.log((shares + 0.01) / (1.01 - shares))


def left_out(rows: Floats, shares: Floats, weights: Floats, names: NDArray[np.str_]) -> Floats:
    """The logit of each share by weights fitted on the other data sets; on all if there is no other."""
    found = np.empty(len(rows))
    for name in np.unique(names):
        here = names == name
        others = ~here if not here.all() else here
        best = fitted(rows[others], shares[others], weights[others])
        found[here] = best[0] + rows[here] @ best[1:]
    return found


def report(cells: list[dict[str, Any]], variant: str) -> list[str]:
    """Fit one variant, and say how good it is on data sets left out."""
    columns = COLUMNS[variant]
    rows = np.array([cell[variant]["numbers"] for cell in cells])[:, columns]
    shares, names = np.array([cell["share"] for cell in cells]), np.array([cell["data"] for cell in cells])
    human = np.array([cell["kind"] == "human" for cell in cells])
    weights = np.where(human, HUMAN, 1.0)
    constants = np.zeros(5)
    constants[[0, *(1 + np.array(columns))]] = fitted(rows, shares, weights)
    logits = left_out(rows, shares, weights, names)
    estimates = np.clip(1.02 / (1 + np.exp(-logits)) - 0.01, LEAST, MOST)
    seen = ~human & (shares > 0)
    spread = float(np.std((logits - _logit(shares))[seen]))
    near = np.array([judging.within_tolerance(a, b) for a, b in zip(estimates, shares, strict=True)])
    slopes = {slope: reliability(cells, variant, estimates, slope) for slope in SLOPES}
    slope = min(slopes, key=lambda one: float(np.abs(slopes[one][5:] - np.arange(0.55, 1, 0.1)).mean()))
    shown = " ".join(f"{value:.2f}" for value in slopes[slope])
    wrong = [np.array(cell["wrong"]) for cell in cells]
    evidence = [np.array(cell[variant]["evidence"]) for cell in cells]
    ap = [judging.average_precision(a, b) for a, b in zip(wrong, evidence, strict=True)]
    parts = {"uniform and pairs": seen, "like people": human}
    return [
        f"{variant}: SLOPE {slope:g}, SPREAD {spread:.2f}, SHARE_OF ({', '.join(f'{one:.2f}' for one in constants)})",
        *(
            f"  average precision, {word}: {np.mean(np.array(ap)[some]):.3f}"
            for word, some in parts.items()
            if some.any()
        ),
        f"  F1 of what is flagged, as a share of the oracle's: {ratio(cells, variant, estimates, slope):.2f}",
        f"  share within a third of the truth or 4 points: {near[~human].mean():.0%} of sets without errors like those "
        f"of people, {near.mean():.0%} of all",
        f"  wrong in each tenth of probability: {shown}",
    ]


def probabilities(cell: dict[str, Any], variant: str, share: float, slope: float) -> Floats:
    """Probabilities with this share and slope."""
    return at_share(slope * np.array(cell[variant]["evidence"]), share)


def reliability(cells: list[dict[str, Any]], variant: str, shares: Floats, slope: float) -> Floats:
    """Share of wrong labels in each tenth of probability, all sets together."""
    tables = [
        judging.reliability(np.array(cell["wrong"]), probabilities(cell, variant, share, slope))
        for cell, share in zip(cells, shares, strict=True)
    ]
    found = judging.pooled(tables)
    return np.asarray(found[:, 2] / np.maximum(found[:, 0], 1))


def ratio(cells: list[dict[str, Any]], variant: str, shares: Floats, slope: float) -> float:
    """Mean F1 over that of the oracle, where the oracle finds anything (F1 above .3)."""
    found = []
    for cell, share in zip(cells, shares, strict=True):
        best = cell[variant]["oracle"]
        if best is not None and best > 0.3:
            flagged = probabilities(cell, variant, share, slope) >= 0.5
            found.append(judging.f1(np.array(cell["wrong"]), flagged) / best)
    return float(np.mean(found)) if found else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.checking.calibration", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory; finished sets are kept there")
    parser.add_argument("--data", nargs="+", choices=list(DEVELOPMENT), default=list(DEVELOPMENT))
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, proves nothing")
    asked = parser.parse_args()
    shelf = Shelf(asked.out, "checking calibration")
    epochs, limit = (2, 150) if asked.quick else (20, None)
    cells = []
    for name in asked.data:
        truth = development(name, limit)
        for kind, rate in NOISE:
            said = {"data": name, "kind": kind, "rate": rate, "epochs": epochs, "examples": len(truth)}
            make = partial(numbers, truth, kind, rate, epochs)
            cells.append({**said, **shelf.keep("cells", said, lambda _, make=make: make())})
    print("\n".join(line for variant in COLUMNS for line in report(cells, variant)))


if __name__ == "__main__":
    with shown():
        main()
