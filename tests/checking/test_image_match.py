"""Images compared by their prints and pixel by pixel."""

from __future__ import annotations

import numpy as np
import torch

from tests.checking.small import darker, images, jpeg, moved
from tests.oracles import checking as oracle
from winnow.checking.image_match import SHIFT, _Spectra, dissimilarity, prints, reduced


def test_correlation_at_the_best_shift_agrees_with_its_slow_twin() -> None:
    x = reduced(images(8))
    pairs = torch.tensor([[0, 1], [2, 3], [4, 7], [5, 5]])
    spectra = _Spectra(x)
    found = spectra.against(spectra, *pairs.T)
    for value, (i, j) in zip(found.tolist(), pairs.tolist(), strict=True):
        assert np.isclose(value, oracle.correlation(x[i, 0].numpy(), x[j, 0].numpy(), SHIFT), atol=1e-4)


def test_copies_are_alike_and_others_are_not() -> None:
    x = images(6)
    copies = [jpeg(x[0]), moved(x[1]), darker(x[2])]
    both = reduced(np.concatenate([x, np.stack(copies)]))
    pairs = np.array([[0, 6], [1, 7], [2, 8], [0, 1], [2, 3]])
    found = dissimilarity(both, pairs)
    assert (found[:3] < 0.05).all()
    assert (found[3:] > 0.2).all()
    assert np.allclose(found, dissimilarity(both, pairs[:, ::-1].copy()), atol=1e-5)


def test_prints_forgive_shift_and_brightness() -> None:
    x = images(40)
    found = prints(reduced(np.stack([moved(one) for one in x])))
    known = prints(reduced(x))
    assert np.allclose(np.linalg.norm(known, axis=1), 1.0, atol=1e-5)
    assert ((found @ known.T).argmax(axis=1) == np.arange(40)).mean() > 0.9
    assert np.allclose(prints(reduced(x // 2 * 2)), prints(reduced(x // 2)), atol=1e-5)


def test_flat_images_correlate_with_nothing_and_large_ones_are_reduced() -> None:
    flat = np.full((2, 3, 40, 60), 7, dtype=np.uint8)
    x = reduced(flat)
    assert x.shape == (2, 3, 32, 32)
    assert dissimilarity(x, np.array([[0, 1]])).tolist() == [1.0]
    assert np.isfinite(prints(x)).all()
