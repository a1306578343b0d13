"""How far to trust a forecast: the learning curve is checked on a pilot point that it was not fitted to.

The held-out point is the largest random part of the pool, forecast from the smaller ones. The limits below were fixed
before any of them was tried on data.

One bootstrap covers all uncertainty: it resamples held-out examples, the same ones for every training and for the
agreement of margins, and it resamples trainings within their group. Row 0 of every array is the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..artefacts.pilot_training import PilotTraining
from ..artefacts.plan import NEAR, SIGNIFICANT, Check
from ..core.rank_correlation import drawn_rank_correlations
from ..core.seeds import stream
from .accuracy_forecast import Calibration, angle_reached, calibrate, hard_error
from .agreement import angle_of
from .pilot import FRACTIONS, Pilot
from .pilot_arms import PRUNED

__all__ = ["Forecaster", "Replicates", "Verdict", "check_of", "considering", "forecaster", "judge"]

Array = NDArray[np.float64]

WRONG = 0.05  # a significant miss of more than five points makes a forecast useless
NOISY = 0.05  # share of labels that the network disagrees with, from which on it is said
FAR = (10.0, 50.0)  # times the pool: beyond, a forecast is doubtful, or useless
SIZES = 4  # the fewest sizes of a learning curve
REPLICATES = 200

TRUSTED, CARE, NOT = "trusted", "use with care", "not to be trusted"


@dataclass(frozen=True)
class Forecaster:
    """A fitted learning curve: the two forms, and the bootstrapped agreement of probes trained on `half` examples."""

    fits: Sequence[Calibration]
    reliability: Array
    half: int

    @cached_property
    def angle(self) -> Array:
        """Degrees between a probe trained on `half` examples and the teacher."""
        return angle_of(self.reliability)

    def probe_angle(self, size: float) -> Array:
        """Degrees between a probe trained on `size` examples and the teacher, averaged over the forms by weight."""
        return sum((fit.weight * angle_reached(fit, self.angle, self.half, size) for fit in self.fits), np.zeros(1))

    def error(self, size: float) -> tuple[Array, float]:
        """The error of a student on `size` random examples, one per replicate, and the spread between the forms."""
        return self._mixed([fit.unpruned_error(size) for fit in self.fits])

    def loss(self, size: float, keep: float) -> tuple[Array, float]:
        """The error that a random part `keep` of `size` examples adds, and the spread between the forms."""
        return self._mixed([fit.unpruned_error(keep * size) - fit.unpruned_error(size) for fit in self.fits])

    def _mixed(self, found: Sequence[Array]) -> tuple[Array, float]:
        weights = np.stack([fit.weight for fit in self.fits])
        mixed = (weights * np.stack(found)).sum(0)
        spread = math.sqrt(sum(float(w[0] * (e[0] - mixed[0]) ** 2) for w, e in zip(weights, found, strict=True)))
        return mixed, spread

    def hard_error(self, size: float, keep: float) -> float:
        """What the theory says of the hardest `keep` of `size` examples; a remark, not a forecast."""
        angles = [float(angle_reached(fit, self.angle, self.half, size)[0]) for fit in self.fits]
        found = [hard_error(fit, size, keep, angle) for fit, angle in zip(self.fits, angles, strict=True)]
        return sum(float(fit.weight[0]) * error for fit, error in zip(self.fits, found, strict=True))


@dataclass(frozen=True)
class Verdict:
    """How far to trust the forecast, and why; `learns` says whether the error fell with more data."""

    trust: str
    reasons: tuple[str, ...]
    learns: bool


@dataclass(frozen=True)
class Replicates:
    """Measured errors of each group of trainings, as arithmetic mean and mean log, one value per replicate."""

    errors: Mapping[tuple[str, float], Array]
    logs: Mapping[tuple[str, float], Array]
    scatter: Mapping[tuple[str, float], Array]
    reliability: Array


def _resampled(pilot: Pilot, seed: int) -> Replicates:
    rng = stream(seed, "plan", "bootstrap")
    drawn = rng.multinomial(pilot.held, np.full(pilot.held, 1 / pilot.held), REPLICATES).astype(np.float64)
    counts = np.concatenate([np.ones((1, pilot.held)), drawn])
    each = {group: _errors(looks, counts) for group, looks in pilot.looks.items()}
    squares = {group: np.square(np.log(e) - np.log(e).mean(1, keepdims=True)).sum(1) for group, e in each.items()}
    free = sum(e.shape[1] - 1 for group, e in each.items() if group[0] == "random")
    pooled = math.sqrt(sum(float(s[0]) for group, s in squares.items() if group[0] == "random") / max(free, 1))
    errors: dict[tuple[str, float], Array] = {}
    logs: dict[tuple[str, float], Array] = {}
    for group, e in each.items():
        k = e.shape[1]
        picks = rng.integers(0, k, e.shape)
        alone = np.concatenate([[0.0], rng.normal(size=REPLICATES)]) * pooled
        for values, out in ((e, errors), (np.log(e), logs)):
            mean = values.mean(1)
            if k > 1:  # resampling k of k understates the variance of a mean by (k - 1) / k
                moved = np.take_along_axis(values, picks, 1).mean(1) - mean
                out[group] = mean + math.sqrt(k / (k - 1)) * np.where(np.arange(len(mean)) > 0, moved, 0.0)
            else:  # a single training shows no scatter, so it gets that of the others
                out[group] = mean + alone if values is not e else mean * np.exp(alone)
    agreement = np.mean([drawn_rank_correlations(a, b, counts) for a, b in pilot.pairs], axis=0)
    return Replicates(errors, logs, squares, agreement)


def _errors(looks: Sequence[PilotTraining], counts: Array) -> Array:
    """Error of each training under each resampling of the held-out examples, at least half an example."""
    right = counts @ np.stack([look.correct for look in looks]).T.astype(np.float64) / counts.sum(1, keepdims=True)
    return np.asarray(np.maximum(1 - right, 0.5 / counts.shape[1]))


def forecaster(pilot: Pilot, chance: float, seed: int) -> tuple[Forecaster, Replicates]:
    """The learning curve of all random parts of the pilot, and the resampled measurements."""
    seen = _resampled(pilot, seed)
    return _calibrated(pilot, seen, FRACTIONS, chance), seen


def _calibrated(pilot: Pilot, seen: Replicates, fractions: Sequence[float], chance: float) -> Forecaster:
    groups = [("random", fraction) for fraction in fractions]
    fits = calibrate(
        [pilot.looks[group][0].size for group in groups],
        np.stack([seen.logs[group] for group in groups], 1),
        [len(pilot.looks[group]) for group in groups],
        np.sum([seen.scatter[group] for group in groups], axis=0),
        chance,
    )
    return Forecaster(fits, seen.reliability, pilot.looks["random", 0.5][0].size)


def check_of(pilot: Pilot, seen: Replicates, chance: float) -> Check:
    """The held-out point: the largest random part, forecast by a fit to the smaller ones."""
    measured = seen.errors["random", 1.0]
    forecast, _ = _calibrated(pilot, seen, FRACTIONS[:-1], chance).error(pilot.pool)
    miss = forecast - measured  # of errors: the sign is that of accuracy, measured minus forecast
    return Check(
        "random",
        1.0,
        pilot.looks["random", 1.0][0].size,
        1 - float(measured[0]),
        1 - float(forecast[0]),
        float(miss[0]),
        float(miss[1:].std()),
    )


def judge(pilot: Pilot, seen: Replicates, check: Check, own_network: bool, size: int) -> Verdict:
    """Apply the rules.

    Parameters
    ----------
    pilot, seen, check
        The pilot, its resampled measurements and the held-out point.
    own_network
        Whether the student was the user's network; a forecast for another student is never fully trusted.
    size
        Number of examples in the whole source.
    """
    fatal: list[str] = []
    doubts: list[str] = []
    if len({len(looks) and looks[0].size for (kind, _), looks in pilot.looks.items() if kind == "random"}) < SIZES:
        fatal.append(f"fewer than {SIZES} different sizes are too few to fit a learning curve")
    fall = seen.errors["random", FRACTIONS[0]] - seen.errors["random", 1.0]
    learns = bool(fall[0] > SIGNIFICANT * fall[1:].std())
    if not learns:
        fatal.append("the error did not fall significantly with more data: there is no curve to extrapolate")
    factor = size / pilot.pool
    if factor > FAR[0]:
        (fatal if factor > FAR[1] else doubts).append(
            f"the full data is {factor:.0f} times as large as the pilot's pool"
        )
    if not check.hit:
        name = f"{check.policy}, {check.size:,} of {pilot.pool:,}: {100 * check.miss:+.1f} points off the forecast"
        (fatal if abs(check.miss) > WRONG else doubts).append(name)
    if pilot.observed is not None and pilot.observed.suspects >= NOISY:
        doubts.append(f"the network disagrees with {pilot.observed.suspects:.0%} of the pilot's labels: check them")
    if not own_network:
        doubts.append("the forecast is for a linear student, not for your network")
    if fatal:
        return Verdict(NOT, tuple(fatal + doubts), learns)
    if doubts:
        return Verdict(CARE, tuple(doubts), learns)
    return Verdict(TRUSTED, ("the forecast was right at the held-out pilot point",), learns)


def considering(verdict: Verdict, keep: float, gain: float) -> Verdict:
    """The verdict on a specific piece of advice.

    Parameters
    ----------
    verdict
        The verdict on the forecast as a whole.
    keep
        The advised fraction; one far from every pilot point is never fully trusted.
    gain
        Forecast gain in accuracy over the full data, which is seldom real.
    """
    doubts = []
    if keep < min(PRUNED):
        doubts.append(f"{keep:.0%} is below the smallest fraction the pilot tried ({min(PRUNED):.0%} of its pool)")
    if gain > NEAR:
        doubts.append(f"it puts a subset {100 * gain:.1f} points above the full data, a sign of a poor forecast")
    if not doubts:
        return verdict
    trust = CARE if verdict.trust == TRUSTED else verdict.trust
    return replace(verdict, trust=trust, reasons=(*verdict.reasons, *doubts))
