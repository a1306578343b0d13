"""How near the estimated share of wrong labels is to the truth on development data, and the slope of `mislabelled`.

    python -m studies.checking.calibration --out RUN [--data satimage letter ...] [--noise drawn:0.18 ...] [--quick]

The sets and kinds of errors of `data.py` are observed out of fold with the default network, 15 epochs, and kept in RUN.

- **Share** (`winnow.scores.wrong_share`): nothing of it is fitted here; its form was chosen with these figures in view,
  so they are a little too good.
- **Bounds**: in 95 % of the cells, errors by a rule aside, the truth is between BELOW times the estimate and ABOVE more
  than it.
- **Marks**: the same once a person who knows the truth has marked the 60 labels of `Issues.to_mark`. The rule for what
  marks say was chosen on these sets.
- **Slope** (`winnow.scores.mislabelled`): of several, the one whose probabilities are closest to the share of wrong
  labels in the tenths above .3.

The weights for one ordinary training (without `oof`) are those of an earlier fit and are not fitted here.
`benchmarks/check.py` reports on other data; `--data cifar10 fashion-mnist sst2 penbased` are these in small.
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
from winnow.checking.flag_trial import supported_from
from winnow.checking.label_issues import flagged_from
from winnow.core.progress import shown
from winnow.scores.mislabelled import at_share, label_evidence

Floats = NDArray[np.float64]
Cell = dict[str, Any]
ROUNDED = 1e-6  # evidence is kept rounded
SLOPES = (0.6, 0.8, 1.0, 1.2, 1.4, 1.6)
DRAWS = 3  # samples of labels to mark
LEAST_SHARE = 0.005  # a share of wrong labels that counts as none
USED = 1.0  # the slope in use; the others are factors of it


def numbers(seen: Observed) -> Cell:
    """What is reported, of one set with one kind of errors."""
    found = label_evidence(seen.signals, trees=seen.table)
    best = judging.oracle(judging.observed_numbers(seen.signals, found.classes), seen.wrong)
    border = flagged_from(found.probability)
    kept = supported_from(found, seen.signals.ids, border)
    return {
        "share": float(seen.wrong.mean()),
        "estimate": found.share,
        "wrong": seen.wrong.tolist(),
        "evidence": np.round(found.against, 5).tolist(),
        "border": kept,
        "held_back": kept > border,
        "oracle": judging.f1(seen.wrong, best > 0.5) if seen.wrong.any() else None,
        "marks": [judging.after_marks(seen.signals.ids, found.probability, seen.wrong, draw) for draw in range(DRAWS)],
    }


def report(cells: list[Cell]) -> list[str]:
    """How good the share, the flags and the probabilities are, per kind of errors."""
    kinds = [f"{cell['kind']} {cell['rate']:.0%}" for cell in cells]
    tables = {slope: reliability(cells, slope) for slope in SLOPES}
    slope = min(tables, key=lambda one: float(np.abs(tables[one][3:] - np.arange(0.35, 1, 0.1)).mean()))
    below, above = bounds(cells)
    lines = [f"BELOW {below:.2f}, ABOVE {above:.2f}, SLOPE {slope:g}"]
    for kind in dict.fromkeys(kinds):
        some = [cell for cell, own in zip(cells, kinds, strict=True) if own == kind]
        near = np.mean([judging.within_tolerance(cell["estimate"], cell["share"]) for cell in some])
        middle = np.median([cell["estimate"] for cell in some])
        lines.append(f"  {kind}: share {middle:.3f}, near the truth in {near:.0%}; {flags(some)}")
        lines.append(f"    {after_marks(some)}")
    return [*lines, f"  wrong in each tenth of probability: {' '.join(f'{one:.2f}' for one in tables[slope])}"]


def line(cell: Cell, slope: float = USED) -> str:
    """One set with one kind of errors, with the slope that is in use."""
    wrong, found = np.array(cell["wrong"]), probabilities(cell, slope)
    chosen = found >= cell["border"] - ROUNDED
    precision = judging.average_precision(wrong, found) if wrong.any() else float("nan")
    best = cell["oracle"] or float("nan")
    return (
        f"{cell['data']}, {cell['kind']} {cell['rate']:.0%}: share {cell['estimate']:.3f}, {chosen.mean():.1%} "
        f"flagged, F1 {judging.f1(wrong, chosen):.2f} (oracle {best:.2f}), precision {precision:.3f}"
    )


def bounds(cells: list[Cell]) -> tuple[float, float]:
    """How small the truth is over the estimate, and how much larger it is, in all but 2.5 % of the cells each."""
    seen = [(cell["share"], cell["estimate"]) for cell in cells if cell["kind"] != "human" and cell["share"] > 0]
    truth, found = np.array(seen or [(1.0, 1.0)]).T
    return float(np.quantile(truth / found, 0.025)), float(np.quantile(truth - found, 0.975))


def flags(cells: list[Cell]) -> str:
    """How many labels are flagged with the slope in use, their F1 over that of the oracle, and average precisions."""
    flagged, ratios, precisions = [], [], []
    for cell in cells:
        wrong, found = np.array(cell["wrong"]), probabilities(cell, USED)
        chosen = found >= cell["border"] - ROUNDED
        flagged.append(chosen.mean())
        if wrong.any():
            precisions.append({"winnow": judging.average_precision(wrong, found), **cell["others"]})
            ratios += [judging.f1(wrong, chosen) / cell["oracle"]] if cell["oracle"] else []
    words = f"{np.median(flagged):.1%} flagged, {sum(cell['held_back'] for cell in cells)} held back"
    if not precisions:
        return words
    means = ", ".join(f"{name} {np.mean([one[name] for one in precisions]):.3f}" for name in precisions[0])
    return f"{words}, F1 {np.median(ratios or [np.nan]):.2f} of the oracle's; average precision: {means}"


def after_marks(cells: list[Cell]) -> str:
    """The same once 60 labels are marked."""
    rows = np.concatenate([cell["marks"] for cell in cells])
    truth = np.repeat([cell["share"] for cell in cells], DRAWS)
    near = np.mean([judging.within_tolerance(*pair) for pair in zip(rows[:, 0], truth, strict=True)])
    inside = np.mean((rows[:, 1] <= truth + LEAST_SHARE) & (truth <= rows[:, 2]))
    words = f"after 60 marks: share {np.median(rows[:, 0]):.3f}, near the truth in {near:.0%}, inside in {inside:.0%}"
    ratios = [f1 / cell["oracle"] for cell in cells if cell["oracle"] for *_, f1 in cell["marks"]]
    return f"{words}; F1 {np.median(ratios):.2f} of the oracle's" if ratios else words


def others(seen: Observed) -> dict[str, float]:
    """Average precision of plain rankings by the same networks: AUM, and self-confidence as cleanlab ranks."""
    labels = np.asarray(seen.signals.labels)
    mine = seen.signals.array("oof").mean(axis=0)[np.arange(labels.size), labels]
    hard = -seen.signals.array("margins").mean(axis=(0, 1))
    return {
        "self-confidence": judging.average_precision(seen.wrong, -mine),
        "aum": judging.average_precision(seen.wrong, hard),
    }


def probabilities(cell: Cell, slope: float) -> Floats:
    """Probabilities with the estimated share and this slope."""
    return at_share(slope * np.array(cell["evidence"]), cell["estimate"])


def reliability(cells: list[Cell], slope: float) -> Floats:
    """Share of wrong labels in each tenth of probability, all sets together but those with errors by a rule."""
    tables = [
        judging.reliability(np.array(cell["wrong"]), probabilities(cell, slope))
        for cell in cells
        if cell["kind"] != "human"
    ]
    found = judging.pooled(tables)
    return np.asarray(found[:, 2] / np.maximum(found[:, 0], 1))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.checking.calibration", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory; finished sets are kept there")
    sets, noise = [*DEVELOPMENT, *BENCHMARKED], {f"{kind}:{rate:g}": (kind, rate) for kind, rate in NOISE}
    parser.add_argument("--data", nargs="+", choices=sets, default=list(DEVELOPMENT))
    parser.add_argument("--noise", nargs="+", choices=list(noise), default=list(noise))
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, proves nothing")
    asked = parser.parse_args()
    shelf = Shelf(asked.out, "checking calibration")
    epochs, limit = (2, 150) if asked.quick else (15, None)
    cells = []
    for seen in observed_sets(asked.out, asked.data, [noise[one] for one in asked.noise], epochs, limit):
        said = {"data": seen.data, "kind": seen.kind, "rate": seen.rate, "epochs": epochs, "examples": len(seen.wrong)}
        cells.append({**said, "others": others(seen), **shelf.keep("cells", said, lambda _, seen=seen: numbers(seen))})
    print("\n".join([*map(line, cells), *report(cells)]))


if __name__ == "__main__":
    with shown():
        main()
