"""Gains of pilot subsets: between the fractions tried, beyond them, after the veto, and how they may change."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from winnow.planning.pilot_gains import Gain, gains_of, pilot_arms_of

GAIN = Gain({0.5: np.array([0.02, 0.03]), 0.25: np.array([0.06, 0.05])})


@pytest.mark.parametrize(
    ("keep", "gain", "change"),
    [
        (1.0, (0.0, 0.0), 0.0),
        (0.5, (0.02, 0.03), math.hypot(0.01, 0.0025)),
        (0.25, (0.06, 0.05), math.hypot(0.03, 0.0025)),
        (0.5**0.5, (0.01, 0.015), math.hypot(0.005, 0.00125)),  # half a halving
        (0.5**1.5, (0.04, 0.04), math.hypot(0.02, 0.0025)),
        (0.125, (0.06, 0.05), math.hypot(0.03, 0.0025, 0.04)),  # one halving beyond what was tried
        (0.0625, (0.06, 0.05), math.hypot(0.03, 0.0025, 0.08)),
    ],
)
def test_a_gain_at_any_fraction(keep: float, gain: tuple[float, float], change: float) -> None:
    found, apart = GAIN.at(keep)
    np.testing.assert_allclose(found, gain, atol=1e-12)
    assert apart == pytest.approx(change)


def replicates(**errors: list[float]) -> SimpleNamespace:
    """The same errors at both fractions."""
    words = {"soft": "soft random"}
    return SimpleNamespace(
        errors={(words.get(name, name), keep): np.array(e) for name, e in errors.items() for keep in (0.5, 0.25)}
    )


def test_auto_is_what_the_veto_is_likely_to_leave() -> None:
    seen = replicates(
        random=[0.3, 0.3, 0.3, 0.3, 0.3],
        soft=[0.28, 0.28, 0.28, 0.28, 0.28],
        candidate=[0.26, 0.25, 0.26, 0.27, 0.30],  # ahead of it in three of four replicates
    )
    found = gains_of(SimpleNamespace(looks=dict.fromkeys(seen.errors)), seen)  # type: ignore[arg-type]
    assert set(found) == {"soft random", "candidate", "auto"}
    assert found["auto"].points[0.5][0] == pytest.approx(0.75 * 0.04 + 0.25 * 0.02)
    assert found["soft random"].points[0.25].tolist() == pytest.approx([0.02] * 5)


def test_without_arms_there_are_no_gains() -> None:
    seen = replicates(random=[0.3, 0.3])
    assert gains_of(SimpleNamespace(looks=dict.fromkeys(seen.errors)), seen) == {}  # type: ignore[arg-type]


def test_arms_are_kept_as_measured() -> None:
    seen = replicates(random=[0.4, 0.5, 0.3], el2n=[0.25, 0.25, 0.25])
    looks = {group: [SimpleNamespace(size=50, correct=np.array(r)) for r in ([1, 1, 0, 1], [1, 0, 1, 1])]
             for group in seen.errors}  # fmt: skip
    made = SimpleNamespace(looks=looks, methods={("el2n", 0.5): "el2n", ("el2n", 0.25): "el2n"})
    gains = gains_of(made, seen)  # type: ignore[arg-type]
    half, quarter = pilot_arms_of(made, seen, gains)  # type: ignore[arg-type]
    assert (half.policy, half.method, half.keep, half.size, half.accuracies) == ("el2n", "el2n", 0.5, 50, (0.75, 0.75))
    assert (half.gain, half.standard_error) == pytest.approx((0.15, 0.1))
    assert quarter.keep == 0.25
