"""What a study found, in plain sentences that claim no more than the numbers allow.

A difference counts only if its paired 95 % interval excludes zero; with one seed there is no interval and no claim.
The cost of finding the subset is always included.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..artefacts import Interval, Study
from ..artefacts.free_alternatives import Claim, claimed
from ..artefacts.study_table import soft_baseline
from ..core.units import GAP, seconds_text
from .metric_units import Units

__all__ = [
    "Claim",
    "against_full",
    "against_random",
    "against_same_steps",
    "headline",
    "net",
    "pays",
    "protocol",
    "relabelling",
    "reliability",
    "searching",
    "several",
    "untested",
    "verdict",
    "versus_full",
    "versus_random",
    "versus_same_steps",
]


def verdict(gap: Interval | None) -> Claim:
    """What a paired difference supports."""
    return claimed(gap)


def versus_random(study: Study, arm: str, test: str | None = None) -> Interval | None:
    """Paired difference between an arm and its random baseline, if both were run."""
    return _versus(study, arm, study.arm(arm).baseline, test)


def versus_full(study: Study, arm: str, test: str | None = None) -> Interval | None:
    """Paired difference between an arm and the full data, if both were run."""
    return _versus(study, arm, study.full.name if study.full else None, test)


def versus_same_steps(study: Study, arm: str, test: str | None = None) -> Interval | None:
    """Paired difference between an arm and everything for the same number of steps, on labels, if both were run."""
    about = study.arm(arm)
    same = [one for one in study.arms if one.same_steps == about.size and one.in_plain_passes]
    names = [one.name for one in same if one.name != arm]
    return _versus(study, arm, names[0] if names and about.kind in ("random", "subset") else None, test)


def _versus(study: Study, arm: str, other: str | None, test: str | None) -> Interval | None:
    if other is None or not set(study.of(arm, test)) & set(study.of(other, test)):
        return None
    return study.versus(arm, other, test)


def against_random(study: Study, arm: str) -> str:
    """A clause that compares an arm with a random subset of the same size."""
    gap, units = versus_random(study, arm), Units.of(study)
    if gap is None:
        return "no model was trained on a random subset of the same size"
    found, random = (
        verdict(gap),
        "random with the same soft targets" if soft_baseline(study, study.arm(arm)) else "random",
    )
    if found == "tie":
        return f"not significantly better than {random} ({gap.runs} seeds: {_gap_text(units, gap)})"
    if found == "one seed":
        side = "above" if gap.centre > 0 else "below"
        return f"{units.size(gap.centre)} {side} {random} (one seed, so no interval and no claim)"
    return f"{units.size(gap.centre)} {found} than {random} (95{GAP}% interval {units.ends(gap)})"


def against_full(study: Study, arm: str) -> str:
    """A clause that compares an arm with the full data."""
    gap, units = versus_full(study, arm), Units.of(study)
    if gap is None:
        return "no model was trained on the full data"
    found = verdict(gap)
    if found == "tie":
        return f"not significantly different from the full data ({gap.runs} seeds: {_gap_text(units, gap)})"
    side = "above" if gap.centre > 0 else "below"
    if found == "one seed":
        return f"{units.size(gap.centre)} {side} the full data (one seed: no interval)"
    return f"{units.size(gap.centre)} {side} the full data (95{GAP}% interval {units.ends(gap)})"


def _gap_text(units: Units, gap: Interval) -> str:
    shown = units.number(gap.centre, True) + (f"{GAP}points" if units.percent else "")
    return f"{shown}, 95{GAP}% interval {units.ends(gap)}"


def net(row: Mapping[str, Any] | None) -> str:
    """A clause with the time saved or lost, including selection; empty if unknown."""
    if row is None or _unknown(row["saved_per_training_s"]):
        return ""
    saved, cost = float(row["saved_per_training_s"]), row["selection_s"]
    if _unknown(cost):
        change = "less" if saved > 0 else "more"
        return f"one training takes {seconds_text(abs(saved))} {change}, but the cost of selection was not recorded"
    if row.get("worse_than_random"):
        return f"selection took {seconds_text(cost)}, and a random subset, which needs no selection, is better"
    if saved <= 0:
        return (
            f"it never pays off: selection took {seconds_text(cost)}, and training on the subset is no faster than "
            "on the full data"
        )
    after_one = saved - float(cost)
    if after_one >= 0:
        return f"including selection ({seconds_text(cost)}), a single training already saves {seconds_text(after_one)}"
    return (
        f"selection took {seconds_text(cost)} and each training saves {seconds_text(saved)}, so a single training "
        f"costs {seconds_text(-after_one)} more in total, and selection pays off after {row['pays_after']:,} trainings"
    )


def pays(row: Mapping[str, Any]) -> str:
    """After how many trainings a subset pays off, in a word or two."""
    saved, cost = row["saved_per_training_s"], row["selection_s"]
    if _unknown(saved) or _unknown(cost):
        return "not known"
    if row.get("worse_than_random"):
        return "worse than random"
    if saved <= 0:
        return "never"
    count = max(1, math.ceil(cost / saved)) if row["pays_after"] is None else int(row["pays_after"])
    return "1 training" if count == 1 else f"{count:,} trainings"


def against_same_steps(study: Study, arm: str) -> str:
    """A clause that compares an arm with everything for the same number of steps; empty if that was not trained."""
    gap, units = versus_same_steps(study, arm), Units.of(study)
    if gap is None:
        return ""
    what = "everything for the same number of steps"
    if verdict(gap) == "tie":
        return f"not significantly different from {what} ({_gap_text(units, gap)})"
    side = "above" if gap.centre > 0 else "below"
    ends = "one seed: no interval" if verdict(gap) == "one seed" else f"95{GAP}% interval {units.ends(gap)}"
    return f"{units.size(gap.centre)} {side} {what} ({ends})"


def headline(study: Study, arm: str, row: Mapping[str, Any] | None) -> str:
    """One sentence: what was kept, how it compares with full, everything at the same steps and random, and the time.

    Parameters
    ----------
    study
        The study.
    arm
        The subset to describe.
    row
        The arm's row of the ledger, if there is one.
    """
    units, about = Units.of(study), study.arm(arm)
    total = _total(study, arm)
    what = f"{about.size:,} of {total:,} examples ({_percent(about.keep)})"
    got = study.interval(arm)
    level = units.spread(got) + (" (one seed: no interval)" if got.runs == 1 else "")
    same = against_same_steps(study, arm)
    cost = net(row)
    clauses = [against_full(study, arm), *([same] if same else [])]
    return (
        f"Trained on {what}, the model reaches {level} {units.word}: {', '.join(clauses)}, and "
        f"{against_random(study, arm)}" + (f"; {cost}." if cost else ".")
    )


def untested(kept: int, total: int, labelled: bool) -> str:
    """The headline of a run without any retraining."""
    share = f"{kept:,} of {total:,} examples ({_percent(kept / total)})" if total else f"{kept:,} examples"
    why = "" if labelled else ", because there are no labels to test with"
    return f"Kept {share}. No model was retrained on them{why}, so the effect on accuracy is unknown."


def searching(row: Mapping[str, Any]) -> float:
    """Seconds of the selection spent on a search: all but observing, scoring, selecting and relabelling."""
    rest = row["selection_s"] - sum(row[key] for key in ("observe_s", "score_s", "select_s")) - relabelling(row)
    return float(rest) if rest > 1e-6 * row["selection_s"] else 0.0


def relabelling(row: Mapping[str, Any]) -> float:
    """Seconds spent on making other targets, including the training of the model that made them."""
    return float(row.get("targets_s", 0.0)) + float(row.get("pretrain_s", 0.0))


def several(study: Study, arms: Sequence[str], rows: Mapping[str, Mapping[str, Any]]) -> str:
    """The headline for several subsets: how many beat random, and when they pay off.

    Parameters
    ----------
    study
        The study.
    arms
        The subsets to describe.
    rows
        The rows of the ledger, by arm.
    """
    units = Units.of(study)
    gaps = {arm: versus_random(study, arm) for arm in arms}
    by: dict[Claim, list[str]] = {}
    for arm, gap in gaps.items():
        by.setdefault(verdict(gap), []).append(arm)
    words: dict[Claim, str] = {
        "better": "beat random",
        "tie": "not significantly better than random",
        "worse": "worse than random",
        "one seed": "trained with one seed only, so no claim",
        "unknown": "without a random baseline",
    }
    parts = [f"{len(by[key])} {text}" for key, text in words.items() if key in by]
    sentence = f"Of {len(arms)} subsets, " + "; ".join(parts) + "."
    known = {arm: gap for arm, gap in gaps.items() if gap is not None}
    if by.get("better"):
        best = max(by["better"], key=lambda arm: known[arm].centre)
        sentence += (
            f" The largest gain over random is that of {best}: {units.size(known[best].centre)} "
            f"(95{GAP}% interval {units.ends(known[best])})."
        )
    costs = [rows[arm] for arm in arms if arm in rows]
    known_costs = [row for row in costs if not _unknown(row["net_after_one_s"])]
    if known_costs:
        at_once = sum(row["net_after_one_s"] >= 0 for row in known_costs)
        never = sum(row["saved_per_training_s"] <= 0 for row in known_costs)
        sentence += f" Including selection, {at_once} of {len(known_costs)} save time in a single training" + (
            f" and {never} never will." if never else "."
        )
    return sentence


def protocol(study: Study) -> str:
    """How the arms were made comparable."""
    counts = {len(study.of(arm.name)) for arm in study.arms if study.of(arm.name)}
    low, high = min(counts, default=0), max(counts, default=0)
    seeds = f"{low} seed{'' if low == 1 else 's'}" if low == high else f"{low} to {high} seeds"
    factor = study.match_iterations
    if study.provenance.get("parameters", {}).get("recipe", {}) is None:
        match = "as many steps as the estimator takes"
        if study.resampled:
            match = "a random tenth of the set left out, so that intervals hold the luck of the training set"
    elif factor == 0:
        match = "the same number of epochs, so smaller sets take fewer steps"
    elif factor == 1:
        match = "the same number of optimiser steps, whatever the size of the set"
    else:
        match = f"a number of steps between equal epochs and equal steps (matched-iterations factor {factor:g})"
    return f"One training per set and seed ({seeds}), each with {match}. {_intervals(study)}"


def _intervals(study: Study) -> str:
    """What the intervals hold."""
    if any(one.marks is None for one in study.outcomes):
        return (
            f"Differences are paired by seed; intervals are 95{GAP}% t intervals over seeds, without the luck of the "
            "test set, because the marks of single test examples were not kept."
        )
    return (
        f"Differences are paired by seed and test example; 95{GAP}% intervals hold the luck of training, of the test "
        "examples and, against random, of the draw."
    )


def reliability(value: float | None) -> str:
    """What a rank correlation between two halves of the seeds means."""
    if value is None or math.isnan(value):
        return (
            "Reliability is unknown: the score comes from one seed, so there is nothing to compare it with. Observe "
            "more seeds to measure it."
        )
    said = f"Rank correlation between two halves of the seeds: {value:.2f}, "
    if value >= 0.9:
        return said + "very reliable. Another run would rank nearly the same examples at the top."
    if value >= 0.7:
        return said + "reliable. The overall order is stable, but neighbours may swap places."
    if value >= 0.4:
        return said + "moderate. Near the cut, which examples are kept is partly chance; more seeds would help."
    return said + "weak. Most of the order is chance: do not read meaning into single examples, and use more seeds."


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.3g}{GAP}%"


def _total(study: Study, arm: str) -> int:
    about = study.arm(arm)
    return study.full.size if study.full else round(about.size / about.keep)


def _unknown(value: Any) -> bool:
    return value is None or math.isnan(float(value))
