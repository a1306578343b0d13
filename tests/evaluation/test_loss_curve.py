"""The curve that says where to look next."""

from __future__ import annotations

import pytest

from winnow.evaluation.loss_curve import LossCurve, fit


def test_the_curve_by_hand() -> None:
    curve = LossCurve(0.01, 2.0)
    assert curve.loss(1.0) == 0
    assert curve.loss(0.5) == pytest.approx(0.03)
    assert curve.fraction(0.03) == pytest.approx(0.5)
    assert curve.fraction(0.0) == 1.0
    assert LossCurve(0.0, 2.0).fraction(1e-9) == 0.0


def test_one_point_is_met_with_exponent_one() -> None:
    assert fit([0.5], [0.1]) == LossCurve(pytest.approx(0.1), 1.0)  # type: ignore[arg-type]
    assert fit([0.25], [0.3]) == LossCurve(pytest.approx(0.1), 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("exponent", [0.1, 4.0])
def test_two_points_tell_the_slowest_and_the_fastest_rise(exponent: float) -> None:
    truth = LossCurve(0.02, exponent)
    found = fit([0.7, 0.2], [truth.loss(0.7), truth.loss(0.2)])
    assert (found.a, found.b) == pytest.approx((0.02, exponent), rel=1e-6)


def test_the_fit_is_the_best_of_all_exponents() -> None:
    fractions, losses = [0.8, 0.5, 0.3, 0.1], [0.001, 0.012, 0.02, 0.11]

    def missed(curve: LossCurve) -> float:
        return sum((curve.loss(f) - y) ** 2 for f, y in zip(fractions, losses, strict=True))

    best = fit(fractions, losses)
    for a in (0.98, 1.0, 1.02):
        for b in (0.85, 0.9, 1.0, 1.1, 1.15):
            assert missed(best) <= 1.01 * missed(LossCurve(a * best.a, b * best.b))
