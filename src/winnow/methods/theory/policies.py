"""Policies: which examples are kept, as an interval of the probe's margin.

An example's margin along the probe is standard normal, z = probe . x. A policy keeps those with
low < |z| < high; small margins are hard examples. `hard`, `easy` and `random` are given by their name and a
fraction; a `window` is given by its two ends, and the fraction follows: f = erf(b / sqrt 2) - erf(a / sqrt 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import erfcinv, erfinv

from ...core import checks
from ...core.errors import InputError

__all__ = ["POLICIES", "Window", "interval", "window"]

POLICIES = ("hard", "easy", "random")
_ROOT2 = math.sqrt(2.0)
_THINNEST = 1e-8  # thinner slices of the data are lost in rounding
_AGREE = 0.02  # how far a given keep may differ from a window's own, so that rounded ends still agree


@dataclass(frozen=True)
class Window:
    """Keep the examples whose |margin| lies between `a` and `b`, in standard deviations.

    Raises
    ------
    InputError
        If no data lie between the ends.
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        a = checks.number("a", "window", self.a, low=0.0)
        b = self.b if self.b == math.inf else checks.number("b", "window", self.b, low=a, open_low=True)
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", float(b))
        if self.keep <= 0.0:
            raise InputError(
                f"a and b of window must have data between them; got a={a:g}, b={b:g}, where there is none."
            )

    @property
    def keep(self) -> float:
        """The fraction of the data between the ends."""
        return mass(self.a, self.b)

    @classmethod
    def dropping(cls, hardest: float, keep: float) -> Window:
        """Return the window that drops the `hardest` fraction and keeps the next `keep`."""
        low = _ROOT2 * float(erfinv(hardest))
        rest = 1.0 - hardest - keep
        return cls(low, math.inf if rest <= 1e-15 else _ROOT2 * float(erfcinv(rest)))


def window(a: float, b: float) -> Window:
    """Return the policy that keeps examples of medium difficulty: a < |margin| < b.

    Parameters
    ----------
    a, b
        The ends of the window, in standard deviations of the margin.

    Returns
    -------
    Window
        A policy for `solve`, `simulate` and the other functions of the theory.

    Raises
    ------
    InputError
        If no data lie between the ends.

    Examples
    --------
    >>> round(window(0.5, 1.0).keep, 4)
    0.2998
    """
    return Window(a, b)


def mass(low: float, high: float) -> float:
    """The probability that low < |z| < high for a standard normal z, without cancellation in either tail."""
    if low > 1.0:
        return math.erfc(low / _ROOT2) - (0.0 if high == math.inf else math.erfc(high / _ROOT2))
    return (1.0 if high == math.inf else math.erf(high / _ROOT2)) - math.erf(low / _ROOT2)


def interval(owner: str, policy: object, keep: float) -> tuple[float, float, float]:
    """Return what a policy keeps: (low, high, fraction).

    Parameters
    ----------
    owner
        The calling function, named in error messages.
    policy
        "hard", "easy", "random" or a `Window`.
    keep
        The fraction kept. A window defines its own; `keep` must then be 1 (not given) or agree with it.
    """
    keep = checks.number("keep", owner, keep, low=0.0, high=1.0, open_low=True)
    if keep < _THINNEST:
        raise InputError(
            f"keep of {owner} must be at least {_THINNEST:g}, where the equations still hold digits; got {keep:g}."
        )
    if isinstance(policy, Window):
        if keep != 1.0 and abs(keep / policy.keep - 1.0) > _AGREE:
            raise InputError(
                f"keep of {owner} must agree with its window({policy.a:g}, {policy.b:g}), which keeps "
                f"{policy.keep:.4g}; got {keep:g}. Leave keep out to use the window's own."
            )
        return policy.a, policy.b, policy.keep
    if not isinstance(policy, str):
        raise InputError(
            f"policy of {owner} must be one of {', '.join(POLICIES)} or a window(a, b); got {type(policy).__name__}."
        )
    if policy == "window":
        raise InputError(f"policy of {owner} must give a window's ends, such as window(0.5, 1.2); got 'window'.")
    word = checks.choice("policy", owner, policy, POLICIES)
    if word == "random" or keep == 1.0:
        return 0.0, math.inf, 1.0
    if word == "hard":
        return 0.0, _ROOT2 * float(erfinv(keep)), keep
    return _ROOT2 * float(erfcinv(keep)), math.inf, keep
