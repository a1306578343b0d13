"""Fit the constants of `winnow.scores.wrong_share` and `mislabelled` on development data with planted wrong labels.

    python -m studies.checking.calibration --out RUN [--data satimage letter ...] [--quick]

The sets and kinds of errors of `data.py` are observed out of fold with the default network, 15 epochs, and kept in RUN.

- **Weights of the share**: a logistic regression on the first four numbers of `share_numbers`, with a
  penalty on its standardised weights. What is minimised is the distance from the truth in units of what counts as
  near (a third of the truth or 4 points), which grows ever slower, so that sets where the share cannot be seen do not
  pull at the others. Errors drawn like those of people weigh 2, because real ones are closest to them; errors that
  follow a rule weigh .4, because they make data look cleaner than they are.
- **Spread**: 95 % of the errors on sets left out are within 1.96 times it, errors by a rule aside.
- **Slope**: of several, the one whose probabilities are closest to the share of wrong labels in the tenths above .3,
  with the share estimated by weights that were fitted without the data set.

The weights for one ordinary training (without `oof`) are those of an earlier fit and are not fitted here.
Figures are for data sets left out. They are of development data: which numbers are used, the weights of the kinds of
errors and the rule for flags were found on the same sets, so they are a little too good. `benchmarks/check.py` reports
on others.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.checking import judging
from studies.checking.data import DEVELOPMENT
from studies.checking.observed import Observed, observed_sets
from studies.shelf import Shelf
from winnow.checking.label_issues import flagged_from
from winnow.core.progress import shown
from winnow.scores.mislabelled import against_label, at_share, class_probabilities
from winnow.scores.wrong_share import LEAST, MOST, share_numbers, sigmoid

Floats = NDArray[np.float64]
Cell = dict[str, Any]
USED = 4  # how many of the numbers are used, the first ones
PENALTY = 0.3
SLOWER = 3.0  # distance at which one more counts a quarter
IMPORTANCE = {"human": 0.4, "soft": 2.0}  # the others 1
SLOPES = (0.75, 1.0, 1.25, 1.5, 1.75, 2.0)


def numbers(seen: Observed) -> Cell:
    """What is fitted, of one set with one kind of errors."""
    labels = np.asarray(seen.signals.labels)
    classes = class_probabilities(seen.signals)
    best = judging.oracle(judging.observed_numbers(seen.signals, classes), seen.wrong)
    return {
        "share": float(seen.wrong.mean()),
        "wrong": seen.wrong.tolist(),
        "numbers": share_numbers(classes, labels)[:USED].tolist(),
        "evidence": np.round(against_label(seen.signals, classes), 5).tolist(),
        "oracle": judging.f1(seen.wrong, best > 0.5) if seen.wrong.any() else None,
    }


def fitted(rows: Floats, shares: Floats, weights: Floats) -> Floats:
    """Intercept and weights whose estimates are nearest to the shares."""
    from scipy.optimize import minimize

    middle, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    design = np.column_stack([np.ones(len(rows)), (rows - middle) / spread])
    near = np.maximum(shares / 3, 0.04)

    def cost(values: Floats) -> tuple[float, Floats]:
        chance = sigmoid(design @ values)
        miss = (1.02 * chance - 0.01 - shares) / near
        far = np.sqrt(miss**2 + 0.1)
        slope = miss / far / (1 + far / SLOWER) ** 2 / near * 1.02 * chance * (1 - chance)
        penalty = np.r_[0.0, values[1:]]
        total = (weights * far / (1 + far / SLOWER)).sum() + PENALTY * (penalty @ penalty)
        return float(total), design.T @ (weights * slope) + 2 * PENALTY * penalty

    starts = (np.r_[-2.0, np.zeros(rows.shape[1])], np.r_[-2.0, np.ones(rows.shape[1])])
    tried = [minimize(cost, start, jac=True, method="L-BFGS-B") for start in starts]
    best = min(tried, key=lambda one: float(one.fun)).x
    return np.r_[best[0] - (best[1:] * middle / spread).sum(), best[1:] / spread]


def left_out(rows: Floats, shares: Floats, weights: Floats, names: NDArray[np.str_]) -> Floats:
    """The estimate of each share by weights fitted on the other data sets; on all if there is no other."""
    found = np.empty(len(rows))
    for name in np.unique(names):
        here = names == name
        others = ~here if not here.all() else here
        best = fitted(rows[others], shares[others], weights[others])
        found[here] = 1.02 * sigmoid(best[0] + rows[here] @ best[1:]) - 0.01
    return np.clip(found, LEAST[True], MOST)


def report(cells: list[Cell]) -> list[str]:
    """Fit, and say how good it is on data sets left out."""
    rows = np.array([cell["numbers"] for cell in cells])
    shares, names = np.array([cell["share"] for cell in cells]), np.array([cell["data"] for cell in cells])
    kinds = np.array([f"{cell['kind']} {cell['rate']:.0%}" for cell in cells])
    weights = np.array([IMPORTANCE.get(cell["kind"], 1.0) for cell in cells])
    constants = fitted(rows, shares, weights)
    estimates = left_out(rows, shares, weights, names)
    seen = np.array([cell["kind"] != "human" for cell in cells]) & (shares > 0)
    spread = float(np.quantile(np.abs(_logit(estimates) - _logit(shares))[seen], 0.95)) / 1.96
    tables = {slope: reliability(cells, estimates, slope) for slope in SLOPES}
    slope = min(tables, key=lambda one: float(np.abs(tables[one][3:] - np.arange(0.35, 1, 0.1)).mean()))
    lines = [f"WEIGHTS ({', '.join(f'{one:.2f}' for one in constants)}), SPREAD {spread:.2f}, SLOPE {slope:g}"]
    for kind in dict.fromkeys(kinds.tolist()):
        here = np.flatnonzero(kinds == kind)
        near = np.mean([judging.within_tolerance(estimates[i], shares[i]) for i in here])
        lines.append(
            f"  {kind}: share {np.median(estimates[here]):.3f}, near the truth in {near:.0%}; "
            + flags([cells[i] for i in here], estimates[here], slope)
        )
    return [*lines, f"  wrong in each tenth of probability: {' '.join(f'{one:.2f}' for one in tables[slope])}"]


def flags(cells: list[Cell], shares: Floats, slope: float) -> str:
    """How many labels are flagged, and their F1 over that of the oracle."""
    flagged, ratios, precisions = [], [], []
    for cell, share in zip(cells, shares, strict=True):
        wrong, found = np.array(cell["wrong"]), probabilities(cell, share, slope)
        chosen = found >= flagged_from(found)
        flagged.append(chosen.mean())
        if cell["oracle"]:
            ratios.append(judging.f1(wrong, chosen) / cell["oracle"])
            precisions.append(judging.average_precision(wrong, found))
    words = f"{np.median(flagged):.1%} flagged"
    if not ratios:
        return words
    return f"{words}, F1 {np.median(ratios):.2f} of the oracle's; average precision {np.mean(precisions):.3f}"


def probabilities(cell: Cell, share: float, slope: float) -> Floats:
    """Probabilities with this share and slope."""
    return at_share(slope * np.array(cell["evidence"]), share)


def reliability(cells: list[Cell], shares: Floats, slope: float) -> Floats:
    """Share of wrong labels in each tenth of probability, all sets together but those with errors by a rule."""
    tables = [
        judging.reliability(np.array(cell["wrong"]), probabilities(cell, share, slope))
        for cell, share in zip(cells, shares, strict=True)
        if cell["kind"] != "human"
    ]
    found = judging.pooled(tables)
    return np.asarray(found[:, 2] / np.maximum(found[:, 0], 1))


def _logit(shares: Floats) -> Floats:
    return np.log(shares / (1 - shares), out=np.zeros_like(shares), where=shares > 0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.checking.calibration", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory; finished sets are kept there")
    parser.add_argument("--data", nargs="+", choices=list(DEVELOPMENT), default=list(DEVELOPMENT))
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, proves nothing")
    asked = parser.parse_args()
    shelf = Shelf(asked.out, "checking calibration")
    epochs, limit = (2, 150) if asked.quick else (15, None)
    cells = []
    for seen in observed_sets(asked.out, asked.data, epochs, limit):
        said = {"data": seen.data, "kind": seen.kind, "rate": seen.rate, "epochs": epochs, "examples": len(seen.wrong)}
        cells.append({**said, **shelf.keep("cells", said, lambda _, seen=seen: numbers(seen))})
    print("\n".join(report(cells)))


if __name__ == "__main__":
    with shown():
        main()
