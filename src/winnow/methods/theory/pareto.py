"""The Pareto frontier of pruning: the lowest error reached with each number of kept examples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError
from ...core.seeds import stream
from .scaling_laws import ScalingFit, fit_scaling, settings

__all__ = ["Pareto", "RunGroups", "pareto"]

Array = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class RunGroups:
    """Runs grouped by total and keep, ordered by kept examples, then by total.

    `errors` are means, `spread` the standard deviations between runs (NaN for a single run), `runs` the number of
    runs, `of_run` the group of each input run. `frequency` is how often the group is on the frontier when runs are
    resampled; None if no group has a second run or no resampling was requested.
    """

    total: Array
    keep: Array
    kept: Array
    errors: Array
    spread: Array
    runs: Positions
    of_run: Positions
    frequency: Array | None = None


@dataclass(frozen=True)
class Pareto:
    """The lower envelope of measured runs, in order of kept examples, and the curve that fits it.

    `indices` are positions in `groups`. `fit` is None where the envelope cannot be fitted, and `reason` says why.
    The envelope picks the luckiest of close competitors, so its errors are biased low where runs are noisy;
    `frequency` shows how stable each point is.
    """

    kept: Array
    total: Array
    keep: Array
    errors: Array
    indices: Positions
    groups: RunGroups = field(repr=False)
    fit: ScalingFit | None
    reason: str

    @property
    def spread(self) -> Array:
        """The standard deviation between runs at each point of the envelope; NaN for a single run."""
        return np.asarray(self.groups.spread[self.indices])

    @property
    def frequency(self) -> Array | None:
        """How often each point stays on the envelope when runs are resampled; None without repeated runs."""
        return None if self.groups.frequency is None else np.asarray(self.groups.frequency[self.indices])

    def __len__(self) -> int:
        return int(self.indices.size)

    def __str__(self) -> str:
        often = self.frequency
        lines = [f"{len(self)} of {self.groups.kept.size} settings are on the frontier."]
        for i in range(len(self)):
            firm = "" if often is None else f", on it in {100 * often[i]:.0f} % of resamplings"
            lines.append(
                f"  {self.kept[i]:g} kept (total {self.total[i]:g}, keep {self.keep[i]:g}): "
                f"error {self.errors[i]:.4g}{firm}"
            )
        return "\n".join([*lines, str(self.fit) if self.fit is not None else f"No curve is fitted: {self.reason}"])


def pareto(
    total: ArrayLike,
    keep: ArrayLike,
    errors: ArrayLike,
    *,
    forms: Iterable[str] | None = None,
    bootstrap: int = 500,
    seed: int = 0,
    level: float = 0.95,
) -> Pareto:
    """Find the runs that no run with as few or fewer kept examples beats, and fit how their error falls.

    Parameters
    ----------
    total
        The number of examples before pruning, per run; a single number applies to all runs.
    keep
        The fraction kept, per run; a single number applies to all runs.
    errors
        The error of each run. Runs of equal total and keep are averaged first.
    forms
        As for `fit_scaling`, which fits the envelope; its points are the averages.
    bootstrap
        Number of resamplings, for the frequencies and for the intervals of the fit; 0 for none.
    seed
        Seed of the resampling.
    level
        Confidence level of the intervals of the fit.

    Returns
    -------
    Pareto
        The envelope, the groups of runs it was taken from, and the fit.

    Raises
    ------
    InputError
        If the lengths differ or a value is out of range.

    Notes
    -----
    A setting is on the envelope if no other keeps as few or fewer examples at an error as low or lower, one of the
    two strictly. Of settings equal in both, the one with the smaller total represents all. For the frequencies, runs
    are resampled within each group and the shift of the mean is widened by sqrt(m / (m - 1)) for its m runs;
    a group with a single run does not move, so its neighbours look more stable than they are.

    Examples
    --------
    >>> front = pareto(1000, [0.1, 0.2, 0.5, 1.0], [0.4, 0.3, 0.35, 0.2])
    >>> front.kept.tolist(), front.reason != ""
    ([100.0, 200.0, 1000.0], True)
    """
    owner = "pareto"
    error = checks.array("errors", owner, errors, ndim=1, dtype=np.float64)
    if (error < 0.0).any():
        raise InputError(f"errors of {owner} must be at least 0; got {error.min():g}.")
    size = _one_a_run("total", total, error.size)
    fraction = _one_a_run("keep", keep, error.size)
    if (size <= 0.0).any():
        raise InputError(f"total of {owner} must be above 0; got {size.min():g}.")
    if (fraction <= 0.0).any() or (fraction > 1.0).any():
        wrong = fraction[(fraction <= 0.0) | (fraction > 1.0)][0]
        raise InputError(f"keep of {owner} must be in (0, 1]; got {wrong:g}.")
    names, draws, seed, level = settings(owner, forms, bootstrap, seed, level)
    groups = _grouped(size, fraction, error, draws, seed)
    on = _envelope(groups.kept, groups.errors, groups.total)
    fit, reason = None, ""
    # The settings are already checked, so an error here is about the envelope: a finding, not a mistake.
    try:
        fit = fit_scaling(groups.kept[on], groups.errors[on], forms=names, bootstrap=draws, seed=seed, level=level)
    except InputError as refusal:
        reason = str(refusal)
    return Pareto(
        groups.kept[on], groups.total[on], groups.keep[on], groups.errors[on], checks.frozen(on), groups, fit, reason
    )


def _one_a_run(name: str, values: ArrayLike, runs: int) -> Array:
    out = checks.array(name, "pareto", values, ndim=(0, 1), dtype=np.float64)
    if out.ndim == 1 and out.size != runs:
        raise InputError(f"{name} of pareto must be one number or as many as errors, {runs}; got {out.size}.")
    return np.array(np.broadcast_to(out, (runs,)))


def _rounded(values: Array) -> Array:
    """Twelve digits, so that 0.7 x 1000 and 0.07 x 10000 are the same number of examples."""
    return np.array([float(f"{value:.12g}") for value in values])


def _grouped(total: Array, keep: Array, errors: Array, draws: int, seed: int) -> RunGroups:
    kept = _rounded(total * keep)
    rows = np.column_stack([kept, _rounded(total), _rounded(keep)])
    distinct, of_run, runs = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    of_run = np.asarray(of_run, dtype=np.intp).ravel()
    # Sorted within groups, so that the order of the input affects neither the sums nor the resampling.
    order = np.lexsort((errors, of_run))
    values, first = errors[order], np.concatenate([[0], np.cumsum(runs)[:-1]])
    means = np.add.reduceat(values, first) / runs
    squares = np.add.reduceat((values - np.repeat(means, runs)) ** 2, first)
    spread = np.where(runs > 1, np.sqrt(squares / np.maximum(runs - 1, 1)), np.nan)
    frequency = None
    if draws and (runs > 1).any():
        frequency = _frequency(values, first, runs, means, distinct[:, 0], distinct[:, 1], draws, seed)
    kept, total, keep = (checks.frozen(column) for column in distinct.T)
    means, spread, runs, of_run = (checks.frozen(each) for each in (means, spread, runs, of_run))
    return RunGroups(total, keep, kept, means, spread, runs, of_run, frequency)


def _envelope(kept: Array, errors: Array, total: Array) -> Positions:
    """Return the positions on the lower envelope, ordered by kept: each error is strictly below all before it."""
    order = np.lexsort((total, errors, kept))
    lowest = np.minimum.accumulate(errors[order])
    on = np.concatenate([[True], errors[order][1:] < lowest[:-1]])
    return np.asarray(order[on], dtype=np.intp)


def _frequency(
    values: Array, first: Positions, runs: Positions, means: Array, kept: Array, total: Array, draws: int, seed: int
) -> Array:
    rng = stream(seed, "pareto")
    widen = np.sqrt(runs / np.maximum(runs - 1, 1))
    starts, lengths = np.repeat(first, runs), np.repeat(runs, runs)
    hits = np.zeros(means.size)
    for _ in range(draws):
        drawn = values[starts + rng.integers(0, lengths)]
        again = means + widen * (np.add.reduceat(drawn, first) / runs - means)
        hits[_envelope(kept, again, total)] += 1.0
    return checks.frozen(hits / draws)
