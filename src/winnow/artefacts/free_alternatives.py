"""What is free beside a subset, and what the subset is better for.

Anyone can draw a random subset of the same size; anyone who has all the data can train on everything for the same
number of steps, in shuffled passes or in random parts drawn anew for each epoch; and with soft targets at hand all of
these can use them. A subset that is better than random of its size helps
where fewer examples are wanted: to store, label, move or search over. To save compute alone it must be better than
everything at the same steps, which costs nothing to find.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .class_metrics import in_percent
from .intervals import Interval

if TYPE_CHECKING:
    from .study import Study

__all__ = ["Claim", "StudyVerdict", "claimed", "is_random", "judge"]

Claim = Literal["better", "worse", "tie", "one seed", "unknown"]


def claimed(gap: Interval | None) -> Claim:
    """What a paired difference supports."""
    if gap is None:
        return "unknown"
    if math.isnan(gap.low):
        return "one seed"
    if not gap.excludes_zero:
        return "tie"
    return "better" if gap.centre > 0 else "worse"


@dataclass(frozen=True)
class StudyVerdict:
    """An arm beside what is free.

    Parameters
    ----------
    arm
        The arm.
    best
        The free alternative with the highest metric; None if none was trained.
    gap
        The difference `arm - best`, with its interval.
    against
        The differences to all free alternatives, by name.
    fewer_examples
        How it compares with the best free alternative of the same size: `better`, `worse`, `tie`, `one seed` or
        `unknown`.
    less_compute
        How it compares with the best of everything at the same steps.
    sentence
        The verdict in words.
    """

    arm: str
    best: str | None
    gap: Interval | None
    against: Mapping[str, Interval]
    fewer_examples: Claim
    less_compute: Claim
    sentence: str


def judge(study: Study, arm: str) -> StudyVerdict:
    """Compare an arm with what is free on the study's first test set."""
    about = study.arm(arm)
    free = {one.name: one for one in study.arms if one.name != arm and study.of(one.name)}
    chance = [name for name, one in free.items() if one.size == about.size and is_random(study, name)]
    whole = [name for name, one in free.items() if one.same_steps == about.size]
    if study.match_iterations == 1 and study.full is not None and study.full.name in free:
        whole.append(study.full.name)  # then everything in full takes the same steps
    seeds = set(study.of(arm))
    against = {name: study.versus(arm, name) for name in (*chance, *whole) if seeds & set(study.of(name))}
    small, large, best = (_best(study, [n for n in names if n in against]) for names in (chance, whole, against))
    gap = against.get(best) if best else None
    by_size, by_steps = (claimed(against[name]) if name else "unknown" for name in (small, large))
    text = "Nothing that is free was trained beside it, so there is no verdict."
    if study.full is not None and about.size == study.full.size:
        text = "Nothing was left out, so there is nothing to compare."
    if best is not None and gap is not None:
        text = f"{_first(study, best, gap)} {_purpose(by_size, by_steps)}"
        if by_size == "better" and small is not None and small != best:
            text = f"The subset is {_gain(study, against[small])} above {_named(study, small)}. {text}"
    return StudyVerdict(arm, best, gap, against, by_size, by_steps, text)


def is_random(study: Study, name: str) -> bool:
    """Whether an arm is random, with labels or with soft targets."""
    arm = study.arm(name)
    base = next((one for one in study.arms if one.name == arm.baseline), None)
    return arm.kind == "random" or (base is not None and base.kind == "random" and name == f"soft {base.name}")


def _best(study: Study, names: Iterable[str]) -> str | None:
    return max(names, key=lambda name: study.interval(name).centre, default=None)


def _named(study: Study, name: str) -> str:
    arm = study.arm(name)
    what = "a random subset of the same size" if is_random(study, name) else "everything for the same number of steps"
    if arm.repeated:
        what = "repeated random (a part of the same size, drawn anew for each epoch)"
    if arm.dynamic:
        what = "everything with dynamic sampling for the same number of steps"
    return what + (" with soft targets" if arm.soft else "")


def _gain(study: Study, gap: Interval) -> str:
    return f"{100 * gap.centre:.1f} points" if in_percent(study.metric) else f"{gap.centre:.3f}"


def _first(study: Study, best: str, gap: Interval) -> str:
    scale, digits, unit = (100, 1, " points") if in_percent(study.metric) else (1, 3, "")
    size = f"{scale * abs(gap.centre):.{digits}f}{unit}"
    ends = f"95 % interval {scale * gap.low:+.{digits}f} to {scale * gap.high:+.{digits}f}"
    found = claimed(gap)
    where = f"{size} {'above' if gap.centre > 0 else 'below'} it"
    said = {
        "tie": f"not distinguishable from it ({scale * gap.centre:+.{digits}f}{unit}, {ends})",
        "one seed": f"{where} with one seed, so there is no claim",
    }.get(found, f"{where} ({ends})")
    return f"The best free alternative is {_named(study, best)}; the subset is {said}."


def _purpose(by_size: Claim, by_steps: Claim) -> str:
    """What the subset is good for, given both findings."""
    if "one seed" in (by_size, by_steps):
        return "With more seeds there will be a verdict."
    if by_size == "worse":
        return "A random subset of its size is better, so there is no purpose it serves."
    small = "fewer examples to store, label, move or search over"
    if by_steps == "better":
        also = f", or to have {small}" if by_size == "better" else ""
        return f"Use it to save compute{also}."
    if by_size == "better":
        rest = {
            "tie": "for the same compute, no difference to everything was measured",
            "worse": "for the same compute, everything is better",
        }.get(by_steps, "everything at the same steps was not trained")
        return f"Use it to have {small}; {rest}."
    if by_size == "tie":
        return "No gain over a random subset of its size was measured."
    return {
        "tie": "For the same compute, no difference to everything was measured.",
        "worse": "For the same compute, everything is better.",
    }.get(by_steps, "")
