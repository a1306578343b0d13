"""Plan: the result of `plan`, as a value that can be saved, loaded and printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.layouts import Json
from ..core.serialiser import Saved
from ..core.units import GAP, seconds_text
from .notebook_view import ShownAsText
from .provenance import Provenance
from .table import data_frame

if TYPE_CHECKING:
    import pandas

__all__ = ["Check", "FILE", "Forecast", "NEAR", "PilotArm", "Plan", "SIGNIFICANT", "percent"]

FILE = "plan.json"
SHOWN = 7  # reasons printed
NEAR = 0.01  # a miss of at most one point is a hit, whatever its standard error
SIGNIFICANT = 2.0  # standard errors beyond which a difference counts


def percent(value: float) -> str:
    """An accuracy in per cent."""
    return f"{100 * value:.1f} %"


@dataclass(frozen=True)
class Forecast:
    """Forecast accuracy for one policy and fraction, with its 95 % interval.

    `lost` is the accuracy lost against everything and `lost_high` the upper end of its 95 % interval, which is narrower
    than that of the accuracy, because both lie on the same learning curve.
    """

    keep: float
    policy: str
    accuracy: float
    low: float
    high: float
    lost: float
    lost_high: float


@dataclass(frozen=True)
class PilotArm:
    """Pilot subsets of one kind, as trained and measured.

    Attributes
    ----------
    policy, method
        `soft random`, `candidate` (of `auto`) or a method asked for; and the method that chose the examples.
    keep, size
        Fraction of the pool, and examples.
    accuracies
        Of each training on the held-out part; trainings with the same place in their arms share initial weights.
    gain, standard_error
        Mean accuracy less that of random parts of the same size, trained on labels.
    """

    policy: str
    method: str
    keep: float
    size: int
    accuracies: tuple[float, ...]
    gain: float
    standard_error: float


@dataclass(frozen=True)
class Check:
    """One held-out pilot point: measured and forecast accuracy, and the difference."""

    policy: str
    keep: float
    size: int
    measured: float
    forecast: float
    miss: float
    standard_error: float

    @property
    def hit(self) -> bool:
        """Whether the miss is within one point or two standard errors."""
        return abs(self.miss) <= max(NEAR, SIGNIFICANT * self.standard_error)


@dataclass(frozen=True)
class Plan(ShownAsText, Saved, kind="plan", layout=Json(FILE)):
    """What to keep, how much of it, what accuracy to expect and what it will cost: an estimate, with its reliability.

    Accuracies are those of the student that the pilot trained, on new data like the training data.

    Attributes
    ----------
    advice
        What to do, in sentences.
    policy
        `auto`, `random` or a method asked for; `everything`; None if nothing can be forecast.
    keep, tolerance
        The smallest fraction whose forecast stays within the tolerance of the full data, to the end of its interval;
        and that tolerance.
    expected, interval, full, random
        Accuracies: of the advice, its 95 % interval, of the full data, of a random subset of that size.
    random_keep
        The same as `keep` for random subsets.
    forecasts
        One row per policy and fraction; fraction 1 is the full data.
    arms
        What the pilot trained besides random parts, as measured. `prune` can use it.
    calibration
        The learning curve: effective dimension, exponent, floor and weight of each form; agreement of probes.
    checks
        The held-out pilot point: measured, forecast, miss.
    trust, reasons
        `trusted`, `use with care` or `not to be trusted`, and why; empty if nothing is forecast.
    remarks
        What is worth knowing and decides nothing: what more seeds of observation or a cheaper observer would cost and
        bring, and what the perceptron theory says.
    pilot
        Student, pool, held-out part, trainings, seconds, extrapolation factor, and the random learning curve.
    resources
        What the method will need, by name, and the same in `sentences`.
    method, command
        The method to run, and its command line.
    provenance
        Where the plan came from.
    """

    advice: tuple[str, ...]
    policy: str | None
    keep: float
    tolerance: float
    expected: float | None = None
    interval: tuple[float, float] | None = None
    full: float | None = None
    random: float | None = None
    random_keep: float | None = None
    forecasts: tuple[Forecast, ...] = ()
    arms: tuple[PilotArm, ...] = ()
    calibration: Mapping[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    trust: str = ""
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    pilot: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    method: str = ""
    command: str = ""
    provenance: Provenance = field(default_factory=dict)

    values = Saved.entries

    def to_pandas(self) -> pandas.DataFrame:
        """The forecasts, one row per policy and fraction."""
        return data_frame([asdict(row) for row in self.forecasts])

    def __str__(self) -> str:
        lines = [f"This forecast is an estimate, not a guarantee. Verdict: {self.trust}.", ""] if self.trust else []
        lines += list(self.advice)
        if self.trust:
            lines += ["", "Why:"]
            lines += [f"  - {reason}" for reason in self.reasons[:SHOWN]]
            lines += [f"  - and {len(self.reasons) - SHOWN} more" for _ in self.reasons[SHOWN : SHOWN + 1]]
            lines += ["", "  held-out pilot point      measured  forecast    miss"]
            lines += [_row(check) for check in self.checks]
            if self.arms:
                lines += ["", "  pilot subsets             measured  over random"]
                lines += [_arm(arm) for arm in self.arms]
            lines += ["", *_calibrated(self)]
        lines += ["", *self.remarks] if self.remarks else []
        lines += ["", " ".join(self.resources.get("sentences", []))] if self.resources else []
        lines += ["", f"Next: {self.command}"] if self.command else []
        return "\n".join(lines).replace(GAP, " ")


def _row(check: Check) -> str:
    name = f"{check.policy}, {check.keep:.0%} ({check.size:,})"
    return (
        f"  {name:<24} {percent(check.measured):>9} {percent(check.forecast):>9} {100 * check.miss:>+7.1f}"
        f" +- {100 * check.standard_error:.1f}"
    )


def _arm(arm: PilotArm) -> str:
    name = f"{arm.policy}, {arm.keep:.0%} ({arm.size:,})"
    mean = sum(arm.accuracies) / len(arm.accuracies)
    return f"  {name:<24} {percent(mean):>9} {100 * arm.gain:>+9.1f} +- {100 * arm.standard_error:.1f}"


def _calibrated(plan: Plan) -> list[str]:
    found, pilot = plan.calibration, plan.pilot
    forms = "; ".join(
        f"{name} (weight {fit['weight']:.2f}): effective dimension {fit['dimension']:.3g}, "
        + (f"irreducible error {percent(fit['floor'])}" if name == "floor" else f"exponent {fit['exponent']:.2f}")
        for name, fit in found["forms"].items()
    )
    return [
        f"Learning curve: {forms}.",
        f"Pilot: {pilot['student']}, {pilot['trainings']} trainings on up to {pilot['pool']:,} examples, "
        f"{pilot['held']:,} held out, {seconds_text(pilot['seconds'])}; extrapolated {pilot['factor']:.1f}-fold.",
    ]
