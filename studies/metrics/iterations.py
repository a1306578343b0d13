"""Table 3: matched iterations. A subset trained for epochs x (f + c (1 - f)) / f epochs, for c from 0 to 1.

c = 0 is as many epochs as everything, c = 1 as many steps. The paper prunes a fifth by prototypes and finds that c of
.4 to .6 has the whole benefit. Here half is pruned too, where the protocol matters more, and random is trained alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import winnow as wn

from ..comparing import signed
from ..parts import Asked, Part, interval
from .trials import CHANCE, FULL, Cell, described, gap, observed, retrained, said, sizes_of, values

FACTORS = (0.0, 0.5, 1.0)
KEPT = (0.8, 0.5)


def run(asked: Asked) -> Part:
    factors = FACTORS[::2] if asked.quick else FACTORS
    found = [
        asked.shelf.keep(
            "cells",
            {"data": asked.data[0], "repeat": repeat, "factors": factors, "kept": KEPT, "quick": asked.quick},
            lambda _, repeat=repeat: cell(asked, repeat, factors),
        )
        for repeat in range(asked.seeds)
    ]
    lines = ["| kept | arm | " + " | ".join(f"c = {factor:g}" for factor in factors) + " |"]
    lines.append("|---" * (len(factors) + 2) + "|")
    for share in KEPT:
        for arm in ("prototype", CHANCE):
            row = [interval(values(found, f"{arm} {share:g} {factor:g}"), 2) for factor in factors]
            lines.append(f"| {share:.0%} | {arm} | " + " | ".join(row) + " |")
        row = [
            signed(gap(found, *(f"{arm} {share:g} {factor:g}" for arm in ("prototype", CHANCE)))) for factor in factors
        ]
        lines.append(f"| {share:.0%} | difference | " + " | ".join(row) + " |")
    lines += ["", f"Everything: {interval(values(found, FULL), 2)}."]
    settings = described(asked, "The hardest by 10 prototypes of the observed network, no quotas.")
    return Part("iterations", settings, lines, verdict(found, factors))


def cell(asked: Asked, repeat: int, factors: Sequence[float]) -> dict[str, dict[str, float]]:
    """Accuracies of one repeat, by arm, share and factor."""
    scores = wn.score("prototype", observed(asked, repeat), seed=repeat)
    subsets = {f"prototype {share:g}": wn.select("rank", scores, keep=share, balance=None) for share in KEPT}
    out: dict[str, dict[str, float]] = {}
    for place, factor in enumerate(factors):
        name = f"iterations-{factor:g}"
        made = retrained(asked, name, subsets, repeat, matched=factor, full=place == 0)
        for share in KEPT:
            out[f"prototype {share:g} {factor:g}"] = made[f"prototype {share:g}"]
            out[f"{CHANCE} {share:g} {factor:g}"] = made[f"{CHANCE} {round(share * sizes_of(asked).images)}"]
        if place == 0:
            out[FULL] = made[FULL]
    return out


def verdict(found: Sequence[Cell], factors: Sequence[float]) -> list[str]:
    lines = ["Paper: training the pruned set longer helps a little, and c of .4 to .6 has the whole benefit."]
    middle = min(factors, key=lambda factor: abs(factor - 0.5))
    for share in KEPT:
        for arm in ("prototype", CHANCE):
            names = [f"{arm} {share:g} {factor:g}" for factor in (factors[0], middle, factors[-1])]
            lines.append(
                f"{share:.0%} kept, {arm}: c = 1 against c = 0 {said(found, names[2], names[0])}; c = 1 against c = "
                f"{middle:g} {signed(gap(found, names[2], names[1]))} points."
            )
    return lines
