"""Batch PCA is the full one, in four forms, whatever the blocks; what it holds does not grow with the rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tests.oracles.pca import full_pca, same_signs
from winnow.methods.relabel.pca import SCALES, fit


def rows(n: int = 700, d: int = 24, seed: int = 0) -> np.ndarray:
    """Correlated rows far from the origin, with a coordinate of every size."""
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(n, d)) * np.linspace(5.0, 0.5, d) @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    return mixed * np.linspace(0.3, 3.0, d) + 40.0 + rng.normal(size=d)


def in_blocks(x: np.ndarray, size: int):
    return lambda: (x[start : start + size] for start in range(0, len(x), size))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("size", [1, 64, 700])
def test_equal_to_the_full_one(scale: str | None, size: int) -> None:
    x = rows()
    projection = fit(in_blocks(x, size), 10, scale)
    found = projection(x)
    np.testing.assert_allclose(found, same_signs(found, full_pca(x, 10, scale)), rtol=0, atol=1e-10)
    before = full_pca(x, 10, None if scale == "whiten" else scale)
    np.testing.assert_allclose(projection.variances, before.var(axis=0, ddof=1))
    assert (np.diff(projection.variances) < 0).all() or scale == "standardize"


def test_rows_in_single_precision_are_summed_in_double() -> None:
    x = (rows() + 4000.0).astype(np.float32)
    found = fit(in_blocks(x, 50), 24, "whiten")(x)
    np.testing.assert_allclose(found, same_signs(found, full_pca(x, 24, "whiten")), rtol=0, atol=1e-9)


def test_all_components_keep_all_variance_and_few_keep_their_share() -> None:
    x = rows()
    values = np.linalg.eigvalsh(np.cov(x.T))[::-1]
    assert fit(in_blocks(x, 100), 24, None).kept == pytest.approx(1.0, abs=1e-12)
    assert fit(in_blocks(x, 100), 3, None).kept == pytest.approx(values[:3].sum() / values.sum(), rel=1e-12)


def test_the_directions_of_the_covariance_are_not_those_of_the_correlations() -> None:
    x = rows()
    by_covariance, by_correlation = (fit(in_blocks(x, 100), 3, scale)(x) for scale in ("standardize", "correlation"))
    wanted = same_signs(by_covariance, by_correlation)
    assert np.abs(by_covariance - wanted).max() > 0.5
    assert fit(in_blocks(x, 100), 24, "standardize").kept == pytest.approx(1.0, abs=1e-12)


def test_signs_are_fixed() -> None:
    x = rows()
    for scale in (None, "whiten"):
        directions = fit(in_blocks(x, 100), 24, scale).directions
        assert (directions[np.abs(directions).argmax(axis=0), np.arange(24)] > 0).all()
    np.testing.assert_array_equal(
        fit(in_blocks(-x, 100), 5, None).directions, fit(in_blocks(x, 100), 5, None).directions
    )


@pytest.mark.parametrize("scale", SCALES)
def test_dead_coordinates_and_flat_directions_give_zeros_not_noise(scale: str | None) -> None:
    x = rows(d=6)
    wide = np.concatenate([x, np.full((700, 2), 0.1), x[:, :2] - x[:, 2:4]], axis=1).astype(np.float32)
    wide[:, 8:] = wide[:, :2] - wide[:, 2:4]
    wide = np.round(wide * 1024) / 1024  # so that the last two columns are sums of others to the last bit
    wide[:, 8:] = wide[:, :2] - wide[:, 2:4]
    projection = fit(in_blocks(wide, 90), 10, scale)
    found = projection(wide)
    assert projection.rank == 6
    assert np.isfinite(found).all()
    assert not found[:, 6:].any()
    assert not projection.directions[6:8].any()
    np.testing.assert_allclose(found[:, :6], same_signs(found, full_pca(wide, 10, scale))[:, :6], rtol=0, atol=1e-9)


def test_what_is_held_does_not_grow_with_the_rows() -> None:
    size, d = 256, 32

    def stream(blocks: int):
        return lambda: (np.random.default_rng(number).normal(size=(size, d)) for number in range(blocks))

    def peak(blocks: int) -> int:
        tracemalloc.start()
        projection = fit(stream(blocks), 8, "whiten")
        for block in stream(blocks)():
            projection(block)
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return held

    peak(1)
    few, many = peak(4), peak(64)
    assert many < few + size * d * 8 / 2  # half a block of slack; sixty more blocks would be a hundred times that
    assert many < 8 * size * d * 8
