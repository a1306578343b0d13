"""Rows of images by the patches that they hold: they tell shapes wherever these are, and the order plays no part."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from winnow.signals import patch_rows as module
from winnow.signals.patch_rows import WIDTH, patch_rows


def stripes(n: int, size: int = 16, channels: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Stripes across or along at any place, with noise; which of the two."""
    draw = np.random.default_rng(0)
    across = np.arange(n) % 2
    made = draw.normal(size=(n, channels, size, size)).astype(np.float32) * 0.3
    for i in range(n):
        wave = np.sin(np.arange(size) * 1.5 + draw.uniform(0, 6))
        made[i] += wave[:, None] if across[i] else wave[None, :]
    return made, across


@pytest.mark.parametrize(("size", "channels"), [(8, 1), (16, 3), (70, 1)])
def test_neighbours_show_the_same_though_elsewhere(size: int, channels: int) -> None:
    images, across = stripes(120, size, channels)
    rows = patch_rows(wn.open((images, across), name="stripes"))
    assert rows.shape[0] == 120
    assert rows.shape[1] <= WIDTH
    assert rows.dtype == np.float32
    apart = np.square(rows[:, None] - rows[None]).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (across[apart.argmin(axis=1)] == across).mean() > 0.9


def test_order_blocks_and_samples_change_nothing_that_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    images, across = stripes(60)
    ids = [f"e{place:02d}" for place in range(60)]
    source = wn.open((images, across), ids=ids)
    rows = patch_rows(source)
    mixed = np.random.default_rng(2).permutation(60)
    assert np.allclose(patch_rows(source.at(mixed)), rows[mixed], atol=1e-4)
    monkeypatch.setattr(module, "BLOCK", 7)
    assert np.allclose(patch_rows(source), rows, atol=1e-3)
    monkeypatch.setattr(module, "SAMPLE", 25)
    few = patch_rows(source)
    assert len(few) == 60
    assert np.isfinite(few).all()


def test_empty_images_are_no_trouble() -> None:
    found = patch_rows(wn.open((np.zeros((10, 1, 8, 8), dtype=np.float32), np.arange(10) % 2)))
    assert np.isfinite(found).all()
