"""Does a study of few seeds name the right winner? A study of many seeds is the judge.

    python -m studies.winning.reference --out runs/winning --data digits phoneme [--seeds 5] [--judge 20]

`--out` is the folder of the study, whose trainings are used. Three candidates: the subset with soft targets, random
with soft targets, and everything at the same steps (with or without soft targets, whichever is better). The judge can
tell in a cell if the interval of the best against the second best leaves zero out. A verdict of few seeds is right
there if it names the same winner, and false if it claims a difference of the other sign.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import winnow as wn
from winnow.artefacts import Interval, Table
from winnow.core.progress import shown

from .cells import KEEPS, named, observed_and_pruned, retrained
from .data import SETTINGS, opened


def winner(study: wn.Study) -> tuple[str, str, Interval]:
    """The best candidate, the second, and the difference."""
    names = named(study)
    means = {word: study.interval(name).centre for word, name in names.items()}
    whole = max(("everything", "soft everything"), key=lambda word: means[word])
    best, second, _ = sorted(("soft selected", "soft random", whole), key=lambda word: -means[word])
    return best, second, study.versus(names[best], names[second])


def contradicts(few: wn.Study, judge: wn.Study, best: str, second: str) -> bool:
    """Whether few seeds claim the opposite of what the judge found about its first two."""
    names = named(few)
    gap = few.versus(names[best], names[second])
    return gap.excludes_zero and gap.centre < 0


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.winning.reference", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory of the study")
    parser.add_argument("--data", nargs="+", required=True, choices=list(SETTINGS))
    parser.add_argument("--keep", type=float, nargs="+", default=list(KEEPS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--judge", type=int, default=20)
    asked = parser.parse_args(arguments)
    rows = []
    for name in asked.data:
        setting = SETTINGS[name]
        source, test = opened(setting)
        for keep in asked.keep:
            signals, subset = observed_and_pruned(setting, source, keep, asked.out)
            where = (setting, source, test, signals, subset, keep)
            place = asked.out / name / f"{keep:g}"
            few, judge = (retrained(*where, seeds, place) for seeds in (asked.seeds, asked.judge))
            best, second, gap = winner(judge)
            tells = bool(gap.excludes_zero)
            rows.append(
                {
                    "data": name,
                    "kept": keep,
                    f"winner of {asked.judge} seeds": best,
                    "second": second,
                    "ahead by, points": round(100 * gap.centre, 2),
                    "tells": tells,
                    f"winner of {asked.seeds} seeds": winner(few)[0],
                    "right": winner(few)[0].removeprefix("soft ") == best.removeprefix("soft ") if tells else None,
                    "contradicted": contradicts(few, judge, best, second) if tells else None,
                }
            )
            told = [row for row in rows if row["tells"]]
            said = f"{sum(bool(row['right']) for row in told)} of {len(told)} right where {asked.judge} seeds can tell"
            (asked.out / "reference.md").write_text(f"{Table(tuple(rows)).markdown()}\n\n{said}.\n")
    print((asked.out / "reference.md").read_text())


if __name__ == "__main__":
    with shown():
        main()
