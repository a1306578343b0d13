"""Forecast the pruning study and say by how much the forecast missed.

    python -m studies.planning --out runs/planning [--publish docs/studies]

The plan is made from the study's 20,000 training examples, its network, its recipe and its matched iterations; test
data are never opened. The measured side is read from the table that `python -m studies.pruning --publish` wrote.
Hard is compared with the balanced hardest by EL2N and by AUM, random with random; nothing measured stands for easy.
"""

from __future__ import annotations

import argparse
import datetime
import re
from pathlib import Path

import winnow as wn
from winnow.artefacts.plan import Plan
from winnow.core.progress import shown

FRACTIONS = (0.7, 0.5, 0.3, 0.1)
BESIDE = {"random": ("random",), "hard": ("el2n balanced", "aum balanced")}
WIDE = 0.3  # an interval of more than 30 points holds nearly anything
TABLE = Path(__file__).parents[2] / "docs/studies/pruning-table.md"


def measured(table: str) -> dict[tuple[str, float], str]:
    """Accuracies of the study with half their interval, by method and fraction, from its table."""
    found = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        values = [re.match(r"\d+\.\d+ ± \d+\.\d+", cell) for cell in cells[1:]]
        if len(cells) == 5 and values[0]:
            pairs = zip((1.0,) if cells[0] == "everything" else FRACTIONS, values, strict=False)
            found |= {(cells[0], fraction): value.group() for fraction, value in pairs if value}
    return found


def rows(plan: Plan, truth: dict[tuple[str, float], str]) -> list[str]:
    """Lines of the table: what was forecast, what was measured, the miss in points."""
    forecast = {(row.policy, row.keep): row for row in plan.forecasts}
    asked = [("random", 1.0, "everything")]
    asked += [(policy, keep, name) for policy, names in BESIDE.items() for name in names for keep in FRACTIONS]
    lines = [
        "| kept | policy | forecast (95 %) | measured, 5 seeds | miss, points | inside |",
        "|---|---|---|---|---|---|",
    ]
    for policy, keep, name in asked:
        told, seen = forecast[policy, keep], truth[name, keep]
        came = float(seen.split()[0])
        inside = "yes" if 100 * told.low <= came <= 100 * told.high else "no"
        inside = "too wide to tell" if inside == "yes" and told.high - told.low > WIDE else inside
        lines.append(
            f"| {keep:g} | {policy if name == policy or keep == 1 else f'{policy} ({name})'} "
            f"| {100 * told.accuracy:.1f} ({100 * told.low:.1f} to {100 * told.high:.1f}) "
            f"| {seen} | {came - 100 * told.accuracy:+.1f} | {inside} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.planning", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--publish", type=Path, help="also write the table into this folder of the docs")
    asked = parser.parse_args()
    source = wn.open("fashion-mnist", limit=20_000)
    plan = wn.plan(
        source,
        pilot=True,
        model="lenet5",
        recipe=wn.Recipe(epochs=8),
        seeds=3,
        match_iterations=0.5,
        called="fashion-mnist --limit 20000",
        out=asked.out,
    )
    print(plan, "\n")
    checks = ["| held-out pilot point | measured | forecast | miss, points |", "|---|---|---|---|"]
    checks += [
        f"| {check.policy}, {check.keep:.0%} of the pool ({check.size:,}) | {100 * check.measured:.1f} "
        f"| {100 * check.forecast:.1f} | {100 * check.miss:+.1f} ± {100 * check.standard_error:.1f} |"
        for check in plan.checks
    ]
    made = (
        f"Fashion-MNIST, 20,000 examples, LeNet-5, 8 epochs, matched-iterations factor 0.5; a pilot of "
        f"{plan.pilot['trainings']} trainings on up to {plan.pilot['pool']:,} examples, {plan.pilot['seconds']:.0f} s "
        f"of trainings; the plan's own verdict: {plan.trust}. Made {datetime.date.today()} on 2 cores by "
        "`python -m studies.planning`."
    )
    text = "\n".join([*rows(plan, measured(TABLE.read_text())), "", *checks, "", made, ""])
    print(text)
    if asked.publish:
        (asked.publish / "plan-check.md").write_text(text)
        (asked.publish / "plan-check.png").write_bytes((asked.out / "plan.png").read_bytes())


if __name__ == "__main__":
    with shown():
        main()
