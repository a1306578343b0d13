"""Scaling laws: fit four forms of how error falls with data size, compare them, and predict with intervals.

All fits are least squares on log error, so a relative deviation counts the same at every size. The curves and
their numerics are in `scaling_forms`; this module has the public function, the comparison, the bootstrap and the
printed summary.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from ...core import checks
from ...core.errors import InputError
from ...core.seeds import stream
from .scaling_forms import FORMS, Axis, Measurements

__all__ = ["FormFit", "ScalingFit", "fit_scaling"]

Array = NDArray[np.float64]

_SPAN = 12 * math.log(10.0)  # of log size
_MOST = 100_000  # bootstrap draws, each of which is fitted
_DISTINCT = 4
_EXACT = 1e-8  # scatter below this is rounding and must not decide between forms
_LEVEL = 1e-9  # a curve that falls by less than this over the measured range does not fall
_EVIDENCE = math.e


@dataclass(frozen=True)
class FormFit:
    """One fitted form: its parameters with intervals, and the quality of the fit.

    `aic` includes the small-sample correction and counts the scatter as a parameter; `weight` is the Akaike weight
    among the forms compared; `residual_sd` is the scatter of log error around the curve, roughly the relative error.
    `note` says when the fit lies on the edge of its form.
    """

    name: str
    formula: str
    parameters: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    aic: float
    weight: float
    residual_sd: float
    note: str = ""
    theta: Array = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    draws: Array = field(default_factory=lambda: np.empty((0, 3)), repr=False, compare=False)


@dataclass(frozen=True)
class ScalingFit:
    """The forms fitted to one set of measurements, and which of them they support.

    `decided` is True if the best form has at least e = 2.7 times the evidence of the next (AICc lower by 2 or more),
    also leads without AICc's correction for few points, and has that much more evidence than a constant error.
    `learns` is False if a constant error has the lower AICc: then these measurements do not show that more data
    helps. `left_out` gives the reason for each requested form that could not be compared.
    """

    best: str
    forms: Mapping[str, FormFit]
    left_out: Mapping[str, str]
    decided: bool
    learns: bool
    level: float
    sizes: Array = field(repr=False, compare=False)
    errors: Array = field(repr=False, compare=False)
    axis: Axis = field(repr=False)

    def _chosen(self, owner: str, form: str | None) -> FormFit:
        return self.forms[self.best if form is None else checks.choice("form", owner, form, self.forms)]

    def predict(self, sizes: ArrayLike, form: str | None = None) -> Array:
        """Return the error expected at `sizes`, by the best form or the one named."""
        fit = self._chosen("ScalingFit.predict", form)
        wanted = _positive("sizes", "ScalingFit.predict", sizes, ndim=(0, 1))
        logs = FORMS[fit.name].log_error(fit.theta[None], self.axis.place(np.atleast_1d(wanted)))
        return np.asarray(np.exp(logs[0]).reshape(wanted.shape))

    def interval(self, sizes: ArrayLike, form: str | None = None) -> tuple[Array, Array]:
        """Return the lower and upper ends of the bootstrap interval of the mean curve at `sizes`.

        The interval assumes that the form is right; `predict(sizes, form=...)` shows what another form predicts. A
        single new training scatters around the curve by a further `residual_sd`.
        """
        fit = self._chosen("ScalingFit.interval", form)
        wanted = _positive("sizes", "ScalingFit.interval", sizes, ndim=(0, 1))
        if fit.draws.shape[0] == 0:
            raise InputError("bootstrap of fit_scaling must be above 0 for ScalingFit.interval; got 0.")
        logs = FORMS[fit.name].log_error(fit.draws, self.axis.place(np.atleast_1d(wanted)))
        low, high = _percentiles(np.exp(logs), self.level)
        return low.reshape(wanted.shape), high.reshape(wanted.shape)

    def __str__(self) -> str:
        fit = self.forms[self.best]
        lines = [
            f"{self.sizes.size} errors at {np.unique(self.sizes).size} sizes from {self.sizes.min():g} to "
            f"{self.sizes.max():g}.",
            f"Best form: {fit.name}, {fit.formula}, with {_listed(fit)}"
            + (f" ({100 * self.level:.4g} % bootstrap intervals)." if fit.intervals else "."),
            _verdict(self),
        ]
        for one in sorted(self.forms.values(), key=lambda item: -item.weight):
            scatter = f"scatter {100 * one.residual_sd:.2g} %" + (f"; {one.note}" if one.note else "")
            lines.append(f"  {one.name}: weight {one.weight:.3f}, AICc {one.aic:.2f}, {scatter}")
        lines += [f"  {name}: left out, {reason}" for name, reason in self.left_out.items()]
        return "\n".join(lines)


def fit_scaling(
    sizes: ArrayLike,
    errors: ArrayLike,
    *,
    forms: Iterable[str] | None = None,
    bootstrap: int = 500,
    seed: int = 0,
    level: float = 0.95,
) -> ScalingFit:
    """Fit several forms of how error falls with data size, and say which one the measurements support.

    Parameters
    ----------
    sizes
        The training size of each run, in any unit. Several runs of the same size are allowed.
    errors
        The error of each run, above 0.
    forms
        Which to compare; None for all. "power": c n^-b. "floor": e0 + c n^-b with e0 >= 0. "exponential":
        c exp(-n / n0). "stretched": c exp(-(n / n0)^b).
    bootstrap
        Number of resamplings for the intervals; 0 for none.
    seed
        Seed of the resampling.
    level
        Confidence level of the intervals.

    Returns
    -------
    ScalingFit
        The fits, their Akaike weights, `predict` and `interval`.

    Raises
    ------
    InputError
        If the lengths differ, a value is out of range, there are too few sizes, or the errors do not fall with size.

    Notes
    -----
    Forms are compared by AICc: n log(rss / n) + 2 k + 2 k (k + 1) / (n - k - 1), where n counts runs and k the
    parameters with the scatter. A form with n - k - 1 <= 0 is left out, as is one whose best fit does not fall.
    Errors that fall neither against n nor against log n raise an error.

    The intervals are percentiles of a residual bootstrap: residuals of log error, pooled over sizes, are resampled
    onto the fitted curve and the form is fitted again. Resampling within sizes would need many runs per size: with
    two or three it has few outcomes, is too narrow by (m - 1) / m, and cannot detect that the curve is off. Pooling
    assumes that the relative scatter is similar at all sizes. Residuals are widened by sqrt(n / (n - p)), for the p
    fitted parameters, and by the ratio of the Student to the normal quantile, since n is small. Intervals assume
    that the form is right; a floor's interval that reaches 0 means that the data do not need a floor.

    Examples
    --------
    >>> sizes = [100, 200, 400, 800, 1600, 3200]
    >>> fit = fit_scaling(sizes, [3 * n**-0.5 for n in sizes], bootstrap=0)
    >>> fit.best, round(fit.forms["power"].parameters["b"], 6)
    ('power', 0.5)
    """
    owner = "fit_scaling"
    n, e = _measurements(owner, sizes, errors)
    names, draws, seed, level = settings(owner, forms, bootstrap, seed, level)
    data = Measurements.of(n, e)
    found = {name: _fit_form(name, data, draws, seed, level) for name in names}
    fits = {name: one for name, one in found.items() if isinstance(one, FormFit)}
    left_out = {name: one for name, one in found.items() if isinstance(one, str)}
    if not fits:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise InputError(f"{owner} could fit none of the forms to {n.size} errors ({reasons}).")
    lowest = min(one.aic for one in fits.values())
    evidence = {name: math.exp(0.5 * (lowest - one.aic)) for name, one in fits.items()}
    fits = {name: replace(one, weight=evidence[name] / sum(evidence.values())) for name, one in fits.items()}
    ranked = sorted(fits, key=lambda name: fits[name].aic)
    constant = _aicc(data.total, n.size, 1)
    rival = min([constant, *(fits[name].aic for name in ranked[1:])])
    return ScalingFit(
        best=ranked[0],
        forms=fits,
        left_out=left_out,
        decided=bool(
            len(ranked) > 1 and rival - lowest >= 2.0 * math.log(_EVIDENCE) and _uncorrected(fits, n.size)[1] >= 1.0
        ),
        learns=bool(lowest < constant),
        level=level,
        sizes=checks.frozen(n),
        errors=checks.frozen(e),
        axis=data.axis,
    )


def settings(
    owner: str, forms: Iterable[str] | None, bootstrap: int, seed: int, level: float
) -> tuple[list[str], int, int, float]:
    """Check and return the settings of a fit, for `fit_scaling` and its callers."""
    level = checks.number("level", owner, level, low=0.01, high=0.9999)
    draws = checks.integer("bootstrap", owner, bootstrap, low=0, high=_MOST)
    needed = math.ceil(2.0 / (1.0 - level) - 1e-9)
    if 0 < draws < needed:
        raise InputError(f"bootstrap of {owner} must be 0 or at least {needed} at level {level:g}; got {draws}.")
    return _names(owner, forms), draws, checks.integer("seed", owner, seed, low=0), level


def _measurements(owner: str, sizes: ArrayLike, errors: ArrayLike) -> tuple[Array, Array]:
    n = _positive("sizes", owner, sizes, ndim=1)
    e = _positive("errors", owner, errors, ndim=1)
    if n.size != e.size:
        raise InputError(f"sizes and errors of {owner} must have equal lengths; got {n.size} and {e.size}.")
    distinct = np.unique(n).size
    if distinct < _DISTINCT:
        raise InputError(f"sizes of {owner} must have at least {_DISTINCT} distinct values; got {distinct}.")
    if np.log(n).max() - np.log(n).min() < 1e-6:
        raise InputError(f"sizes of {owner} must differ by more than rounding; got {n.min():g} to {n.max():g}.")
    if np.log(n).max() - np.log(n).min() > _SPAN:
        raise InputError(f"sizes of {owner} must lie within a factor of 1e12; got {n.min():g} to {n.max():g}.")
    logs = np.log(e)
    if np.ptp(logs) < _LEVEL:
        raise InputError(f"errors of {owner} must vary; got {e.size} errors that are all {e[0]:g}.")
    against = [float(((x - x.mean()) * (logs - logs.mean())).sum()) for x in (np.log(n), n / n.max())]
    if min(against) >= 0.0:
        raise InputError(
            f"errors of {owner} must fall as sizes grow; got errors that rise on average, so nothing is learned "
            "here and no decreasing form fits."
        )
    return n, e


def _positive(name: str, owner: str, values: ArrayLike, ndim: int | tuple[int, ...]) -> Array:
    out = checks.array(name, owner, values, ndim=ndim, dtype=np.float64)
    if (out <= 0.0).any():
        raise InputError(f"{name} of {owner} must be above 0; {int((out <= 0).sum())} are not, such as {out.min():g}.")
    return out


def _names(owner: str, forms: Iterable[str] | None) -> list[str]:
    if forms is None:
        return list(FORMS)
    if not isinstance(forms, Iterable) or getattr(forms, "ndim", 1) == 0:
        raise InputError(f"forms of {owner} must be names among {', '.join(FORMS)}; got {forms!r}.")
    asked = [checks.choice("form", owner, name, FORMS) for name in ([forms] if isinstance(forms, str) else forms)]
    if not asked:
        raise InputError(f"forms of {owner} must name at least one of {', '.join(FORMS)}; got none.")
    return list(dict.fromkeys(asked))


def _aicc(squares: float, n: int, curve_parameters: int) -> float:
    k = curve_parameters + 1
    return n * math.log(max(squares / n, _EXACT**2)) + 2.0 * k + 2.0 * k * (k + 1) / (n - k - 1)


def _fit_form(name: str, data: Measurements, draws: int, seed: int, level: float) -> FormFit | str:
    """Return the fit without its weight, or the reason why there is none."""
    form, n = FORMS[name], data.logs.size
    p = len(form.names)
    if n - (p + 1) - 1 <= 0:
        return f"it needs at least {p + 3} errors and has {n}"
    theta = form.fit_many(data.places, data.means(data.logs[None]), data.counts, data.axis, starts=5)
    curve = form.log_error(theta, data.places)[0]
    if curve[0] - curve[-1] < _LEVEL:
        return "its best fit does not fall with size"
    residuals = data.logs - data.spread(curve)
    squares = float((residuals**2).sum())
    found = dict(zip(form.names, (float(v[0]) for v in form.parameters(theta, data.axis)), strict=True))
    again, intervals = np.empty((0, 3)), {}
    if draws:
        half = 0.5 * (1.0 + level)
        wider = math.sqrt(n / (n - p)) * float(stdtrit(n - p, half) / ndtri(half))
        drawn = stream(seed, "fit_scaling", name).integers(0, n, size=(draws, n))
        noisy = data.spread(curve) + wider * (residuals - residuals.mean())[drawn]
        again = form.fit_many(data.places, data.means(noisy), data.counts, data.axis)
        low, high = _percentiles(np.column_stack(form.parameters(again, data.axis)), level)
        intervals = {key: (float(low[i]), float(high[i])) for i, key in enumerate(form.names)}
    sd, aic, note = math.sqrt(squares / (n - p)), _aicc(squares, n, p), form.edge(theta[0], data.axis)
    rows = checks.frozen(theta[0]), checks.frozen(again)
    return FormFit(name, form.formula, found, intervals, aic, 0.0, sd, note, *rows)


def _percentiles(draws: Array, level: float) -> tuple[Array, Array]:
    """Return interval ends over the rows, rounded outwards: interpolating could involve an infinite n0."""
    low = np.quantile(draws, 0.5 * (1.0 - level), axis=0, method="lower")
    high = np.quantile(draws, 0.5 * (1.0 + level), axis=0, method="higher")
    return np.asarray(low), np.asarray(high)


def _listed(fit: FormFit) -> str:
    ends = {name: f" [{low:.4g}, {high:.4g}]" for name, (low, high) in fit.intervals.items()}
    return ", ".join(f"{name} = {value:.4g}{ends.get(name, '')}" for name, value in fit.parameters.items())


def _uncorrected(fits: Mapping[str, FormFit], n: int) -> tuple[str, float]:
    """Return the next best form without AICc's correction for few points, and the evidence for the best over it."""
    plain = {}
    for name, one in fits.items():
        k = len(one.parameters) + 1
        plain[name] = one.aic - 2.0 * k * (k + 1) / (n - k - 1)
    best = min(fits, key=lambda name: fits[name].aic)
    following = min((name for name in fits if name != best), key=lambda name: plain[name])
    return following, math.exp(min(700.0, 0.5 * (plain[following] - plain[best])))


def _verdict(fit: ScalingFit) -> str:
    if not fit.learns:
        return "A constant error explains these as well: they do not show that more data helps."
    ranked = sorted(fit.forms.values(), key=lambda one: one.aic)
    if len(ranked) == 1:
        return "No other form was compared, so there is no evidence for or against this one."
    ratio = ranked[0].weight / max(ranked[1].weight, 1e-300)
    name, plain = _uncorrected(fit.forms, fit.sizes.size)
    if fit.decided:
        few = (
            f" ({plain:.3g} times that of {name} without the correction for few points)" if plain < 0.1 * ratio else ""
        )
        return f"The evidence for it is {ratio:.3g} times that for the next, {ranked[1].name}{few}."
    if ratio >= _EVIDENCE and plain < 1.0:
        return (
            f"Undecided: only the penalty for few points puts it before {name}, which fits better; measure more sizes."
        )
    if ratio >= _EVIDENCE:
        return "Undecided: a constant error has nearly as much evidence."
    close = f"(evidence {ratio:.2g} to 1, less than {_EVIDENCE:.2g})"
    return f"Undecided: it cannot be distinguished from {ranked[1].name} {close}."
