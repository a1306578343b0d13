"""How far to trust a forecast: it is checked on pilot points that it was not fitted to.

There are two kinds of held-out points: the largest random part of the pool, forecast from the smaller ones; and the
hardest and easiest half and quarter of the pool, forecast from the learning curve and the agreement of probes alone.
The limits below were fixed before any of them was tried on data.

One bootstrap covers all uncertainty: it resamples held-out examples, the same ones for every training and for the
agreement of margins, and it resamples trainings within their group. Row 0 of every array is the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..artefacts.pilot_training import PilotTraining
from ..artefacts.plan import NEAR, SIGNIFICANT, Check
from ..core.rank_correlation import drawn_rank_correlations
from ..core.seeds import stream
from .accuracy_forecast import Calibration, angle_reached, best_window, calibrate, policy_error
from .agreement import angle_of
from .pilot import FRACTIONS, PRUNED, Pilot

if TYPE_CHECKING:
    from ..methods.theory.policies import Window

__all__ = ["CLEAR", "Forecaster", "Verdict", "checks_of", "considering", "forecaster", "judge"]

Array = NDArray[np.float64]

WRONG = 0.05  # a significant miss of more than five points makes a forecast useless
CLEAR = 0.001  # forecasts within a tenth of a point are a tie
UNRELIABLE = 0.2  # below this agreement of probes, rankings are noise
FAR = (10.0, 50.0)  # times the pool: beyond, a forecast is doubtful, or useless
SIZES = 4  # the fewest sizes of a learning curve
REPLICATES = 200

TRUSTED, CARE, NOT = "trusted", "use with care", "not to be trusted"


@dataclass(frozen=True)
class Forecaster:
    """A calibrated theory: the two forms, and the bootstrapped agreement of probes trained on `half` examples."""

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

    def error(self, size: float, keep: float, policy: str) -> tuple[Array, float]:
        """The forecast error for `keep` of `size` examples, one per replicate, and the spread between the forms.

        Parameters
        ----------
        size
            Examples before pruning; the probe that ranks them was trained on all of them.
        keep
            Fraction kept.
        policy
            `hard`, `easy`, `random` or `window`, which means the best window.
        """
        found = []
        for fit in self.fits:
            angle = angle_reached(fit, self.angle, self.half, size)
            kept: str | Window = policy
            if policy == "window":
                kept = "random" if keep == 1.0 else best_window(fit, size, keep, float(angle[0]))
            found.append(policy_error(fit, size, keep, angle, kept))
        weights = np.stack([fit.weight for fit in self.fits])
        mixed = (weights * np.stack(found)).sum(0)
        spread = math.sqrt(sum(float(w[0] * (e[0] - mixed[0]) ** 2) for w, e in zip(weights, found, strict=True)))
        return mixed, spread


@dataclass(frozen=True)
class Verdict:
    """How far to trust the forecast, why, and what to follow instead if the pilot contradicts the theory.

    `learns` says whether the error fell with more data, `ranks` whether probes agree at all. `instead` holds the best
    measured policy by fraction; it is empty if the pilot confirms the theory's order.
    """

    trust: str
    reasons: tuple[str, ...]
    learns: bool
    ranks: bool
    instead: Mapping[float, str]


@dataclass(frozen=True)
class _Replicates:
    """Measured errors of each group of trainings, as arithmetic mean and mean log, one value per replicate."""

    errors: Mapping[tuple[str, float], Array]
    logs: Mapping[tuple[str, float], Array]
    scatter: Mapping[tuple[str, float], Array]
    reliability: Array


def _resampled(pilot: Pilot, seed: int) -> _Replicates:
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
    return _Replicates(errors, logs, squares, agreement)


def _errors(looks: Sequence[PilotTraining], counts: Array) -> Array:
    """Error of each training under each resampling of the held-out examples, at least half an example."""
    right = counts @ np.stack([look.correct for look in looks]).T.astype(np.float64) / counts.sum(1, keepdims=True)
    return np.asarray(np.maximum(1 - right, 0.5 / counts.shape[1]))


def forecaster(pilot: Pilot, chance: float, seed: int) -> tuple[Forecaster, _Replicates]:
    """The theory calibrated on all random parts of the pilot, and the resampled measurements."""
    seen = _resampled(pilot, seed)
    return _calibrated(pilot, seen, FRACTIONS, chance), seen


def _calibrated(pilot: Pilot, seen: _Replicates, fractions: Sequence[float], chance: float) -> Forecaster:
    groups = [("random", fraction) for fraction in fractions]
    fits = calibrate(
        [pilot.looks[group][0].size for group in groups],
        np.stack([seen.logs[group] for group in groups], 1),
        [len(pilot.looks[group]) for group in groups],
        np.sum([seen.scatter[group] for group in groups], axis=0),
        chance,
    )
    return Forecaster(fits, seen.reliability, pilot.looks["random", 0.5][0].size)


def checks_of(pilot: Pilot, seen: _Replicates, found: Forecaster, chance: float) -> list[Check]:
    """All held-out points: the largest random part, forecast by a fit to the smaller ones, then the pruned parts."""
    smaller = _calibrated(pilot, seen, FRACTIONS[:-1], chance)
    asked = [("random", 1.0, smaller)] + [(policy, keep, found) for policy in ("hard", "easy") for keep in PRUNED]
    out = []
    for policy, keep, by in asked:
        measured = seen.errors[policy, keep]
        forecast, _ = by.error(pilot.pool, keep, policy)
        miss = forecast - measured  # of errors: the sign is that of accuracy, measured minus forecast
        out.append(
            Check(
                policy,
                keep,
                pilot.looks[policy, keep][0].size,
                1 - float(measured[0]),
                1 - float(forecast[0]),
                float(miss[0]),
                float(miss[1:].std()),
            )
        )
    return out


def judge(
    pilot: Pilot,
    seen: _Replicates,
    found: Forecaster,
    checks: Sequence[Check],
    own_network: bool,
    size: int,
) -> Verdict:
    """Apply the rules.

    Parameters
    ----------
    pilot, seen, found, checks
        The pilot, its resampled measurements, the calibrated theory and the held-out points.
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
    ranks = bool(seen.reliability[0] >= UNRELIABLE)
    if not ranks:
        fatal.append(f"probes on different data hardly agree on which examples are hard ({seen.reliability[0]:.2f})")
    wrong, instead = _contradictions(seen, found, pilot.pool)
    fatal += wrong
    factor = size / pilot.pool
    if factor > FAR[0]:
        (fatal if factor > FAR[1] else doubts).append(
            f"the full data is {factor:.0f} times as large as the pilot's pool"
        )
    for check in checks:
        if check.hit:
            continue
        name = f"{check.policy}, {check.size:,} of {pilot.pool:,}: {100 * check.miss:+.1f} points off the forecast"
        (fatal if abs(check.miss) > WRONG else doubts).append(name)
    for keep in PRUNED:
        lost = seen.errors["hard", keep] - seen.errors["random", keep]
        if lost[0] > WRONG and lost[0] > SIGNIFICANT * lost[1:].std():
            doubts.append(
                f"the hardest {keep:.0%} did {100 * lost[0]:.0f} points worse than random: they may have label issues "
                "(check them), or teach too little without the rest"
            )
            break
    if not own_network:
        doubts.append("the forecast is for a linear student, not for your network")
    if fatal:
        return Verdict(NOT, tuple(fatal + doubts), learns, ranks, instead)
    if doubts:
        return Verdict(CARE, tuple(doubts), learns, ranks, {})
    return Verdict(TRUSTED, ("the forecast was right at every held-out pilot point",), learns, ranks, {})


def considering(verdict: Verdict, keep: float, gain: float) -> Verdict:
    """The verdict on a specific piece of advice.

    Parameters
    ----------
    verdict
        The verdict on the forecast as a whole.
    keep
        The advised fraction; one far from every pilot point is never fully trusted.
    gain
        Forecast gain in accuracy over the full data; the theory itself allows almost none.
    """
    doubts = []
    if keep < min(PRUNED):
        doubts.append(f"{keep:.0%} is below the smallest fraction the pilot tried ({min(PRUNED):.0%} of its pool)")
    if gain > NEAR:
        doubts.append(f"it puts a subset {100 * gain:.1f} points above the full data, a sign of a poor calibration")
    if not doubts:
        return verdict
    trust = CARE if verdict.trust == TRUSTED else verdict.trust
    return replace(verdict, trust=trust, reasons=(*verdict.reasons, *doubts))


def _contradictions(seen: _Replicates, found: Forecaster, pool: int) -> tuple[list[str], dict[float, str]]:
    """Where the measured order of hard, easy and random differs from the forecast, and which was best there."""
    words = []
    for keep in PRUNED:
        forecast = {policy: float(found.error(pool, keep, policy)[0][0]) for policy in ("hard", "easy", "random")}
        if any(_against(seen, keep, forecast, *pair) for pair in combinations(forecast, 2)):
            came = sorted(forecast, key=lambda policy: float(seen.errors[policy, keep][0]))
            wanted = sorted(forecast, key=lambda policy: forecast[policy])
            words.append(f"at {keep:.0%} of the pool, best first: {', '.join(came)}; forecast: {', '.join(wanted)}")
    return words, {keep: _best(seen, keep) for keep in PRUNED} if words else {}


def _against(seen: _Replicates, keep: float, forecast: Mapping[str, float], a: str, b: str) -> bool:
    """Whether the measured order of two policies significantly contradicts the forecast."""
    measured, expected = seen.errors[a, keep] - seen.errors[b, keep], forecast[a] - forecast[b]
    sure = abs(measured[0]) > SIGNIFICANT * measured[1:].std() and abs(expected) > CLEAR
    return bool(sure and measured[0] * expected < 0)


def _best(seen: _Replicates, keep: float) -> str:
    """The best measured policy; random, which costs nothing, if no other is significantly better."""
    best, error = "random", seen.errors["random", keep]
    for policy in ("hard", "easy"):
        gain = error - seen.errors[policy, keep]
        if gain[0] > SIGNIFICANT * gain[1:].std():
            best, error = policy, seen.errors[policy, keep]
    return best
