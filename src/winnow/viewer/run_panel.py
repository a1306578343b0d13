"""What the page shows about the run itself: what it holds, its study, its ledger, its plan, its provenance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..artefacts.issues_text import noise_sentence
from ..artefacts.ledger import ledger
from ..core.files import plain
from ..core.units import seconds_text
from ..report import figures
from ..report.palette import DARK, LIGHT
from ..report.plan_figure import plan_figure
from ..report.sentences import net
from ..report.svg import to_svg
from .run_contents import RunContents

__all__ = ["figure_names", "figure_svg", "forecast", "run_panel"]


def run_panel(run: RunContents) -> dict[str, Any]:
    """Study, ledger, plan, steps and provenance as plain values."""
    study, plan = run.study, run.plan
    rows = [] if study is None else list(ledger(study))
    found: dict[str, Any] = plain(
        {
            "command": run.command,
            "folder": run.path.name,
            "settings": run.settings,
            "steps": [{"step": name, "seconds": seconds} for name, seconds in sorted(run.steps.items())],
            "seconds": seconds_text(_total(run.steps)),
            "certificates": {name: dict(one.certificate) for name, one in run.subsets.items()},
            "study": [] if study is None else [dict(row) for row in study.summary()],
            "verdicts": [] if study is None else [study.verdict(row["arm"]).sentence for row in rows],
            "ledger": [{"arm": row["arm"], "said": net(row)} for row in rows],
            "plan": None if plan is None else str(plan),
            "issues": None if run.issues is None else run.issues.summary(),
            "noise": "" if run.issues is None else noise_sentence(run.issues),
            "explanations": [str(one) for one in run.explanations],
            "provenance": next(run.provenances(), {}),
            "figures": figure_names(run),
        }
    )
    return found


def _total(steps: Mapping[str, float]) -> float:
    """Seconds of all steps; a step that has parts is counted by its parts."""
    return sum(one for name, one in steps.items() if not any(other.startswith(f"{name}/") for other in steps))


def figure_names(run: RunContents) -> list[dict[str, str]]:
    """The figures that the run can be shown by."""
    found = []
    if run.study is not None:
        against = "by training set" if figures.at_one_fraction(run.study) else "against fraction"
        found += [{"name": "study", "said": f"{run.study.metric.capitalize()} {against}, with 95 % intervals"}]
        if list(ledger(run.study)):
            found += [{"name": "ledger", "said": "Seconds until the end of the first training"}]
    if run.plan is not None and run.plan.forecasts:
        found += [{"name": "plan", "said": "Forecast accuracy by fraction"}]
    return found


def figure_svg(run: RunContents, name: str, dark: bool) -> str | None:
    """A figure as an SVG document of its own, in the colours of a theme; None if there is no such figure."""
    said = {one["name"]: one["said"] for one in figure_names(run)}
    if name not in said:
        return None
    if name == "study":
        assert run.study is not None
        one = figures.at_one_fraction(run.study)
        drawn = figures.arms_side_by_side(run.study) if one else figures.accuracy_against_fraction(run.study)
    elif name == "ledger":
        assert run.study is not None
        drawn = figures.ledger_bar(list(ledger(run.study)))
    else:
        assert run.plan is not None
        drawn = plan_figure(run.plan.entries())
    made = to_svg(drawn, said[name], "v0")
    colours = DARK if dark else LIGHT
    for word in sorted(colours, key=len, reverse=True):
        made = made.replace(f"var(--{word})", colours[word])
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    start = f'<svg {spaces} font-family="sans-serif"'
    return made.replace("<svg", start, 1).replace(" href=", " xlink:href=")


def forecast(run: RunContents, keep: float) -> dict[str, Any] | None:
    """What accuracy to expect at a fraction: between the forecasts of a plan, or as measured nearest to it."""
    if run.plan is not None and run.plan.forecasts:
        policies = {one.policy for one in run.plan.forecasts}
        policy = run.plan.policy if run.plan.policy in policies else min(policies)
        rows = sorted((one for one in run.plan.forecasts if one.policy in (policy,)), key=lambda one: one.keep)
        value = [_between(rows, keep, name) for name in ("accuracy", "low", "high")]
        return {"kind": "forecast", "policy": policy, "value": value[0], "low": value[1], "high": value[2]}
    if run.study is None:
        return None
    measured = []
    for arm in run.study.arms:
        if run.study.of(arm.name):
            span = run.study.interval(arm.name)
            measured.append((abs(arm.keep - keep), arm, span))
    if not measured:
        return None
    subsets = [one for one in measured if one[1].kind == "subset"] or measured
    _, arm, span = min(subsets, key=lambda one: one[0])
    ends = {"low": _finite(span.low), "high": _finite(span.high)}
    about = {"policy": arm.name, "at": arm.keep, "metric": run.study.metric}
    return {"kind": "measured", "value": span.centre, **ends, **about}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _between(rows: list[Any], keep: float, name: str) -> float:
    """A value of the forecasts at a fraction between two of them, on a straight line."""
    return float(np.interp(keep, [one.keep for one in rows], [getattr(one, name) for one in rows]))
