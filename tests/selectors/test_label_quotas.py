"""Quotas of labels where examples have several: exact, rarest first, independent of order."""

from __future__ import annotations

import math

import numpy as np
import pytest

import winnow as wn
from winnow.core.errors import NotDefinedError

N, K = 300, 5


def made(seed: int = 0) -> wn.Scores:
    rng = np.random.default_rng(seed)
    rows = (rng.random((N, K)) < (0.6, 0.3, 0.1, 0.03, 0.01)).astype(np.uint8)
    return wn.Scores("mine", np.arange(N), rng.random(N), None, "multilabel", rows, tuple("abcde"))


@pytest.mark.parametrize("name", ["random", "rank", "strata", "tilted"])
@pytest.mark.parametrize("balance", [0.3, 1.0])
@pytest.mark.parametrize("size", [7, 40, 200])
def test_every_label_has_its_share_or_all_there_are(name, balance, size):
    scores = made()
    held = np.asarray(scores.labels).sum(axis=0)
    out = wn.select(name, scores, size=size, balance=balance)
    kept = np.asarray(scores.take(out.ids).labels).sum(axis=0)
    assert len(out) == size
    for count, available in zip(kept, held, strict=True):
        assert count >= min(available, math.floor(balance * size / K))
    assert out.certificate["label_counts"] == dict(zip("abcde", kept.tolist(), strict=True))
    assert all(kept["abcde".index(name)] >= floor for name, floor in out.certificate["floors"].items())


def test_an_example_counts_for_all_its_labels():
    rows = np.array([[1, 1, 1]] + [[1, 0, 0]] * 5 + [[0, 0, 0]] * 14, dtype=np.uint8)
    scores = wn.Scores("mine", np.arange(20), np.arange(20.0), None, "multilabel", rows, ("x", "y", "z"))
    out = wn.select("rank", scores, size=6, balance=1.0)
    # two of each label are wanted; y and z have the first only, which counts for x too: the rest are the hardest
    assert sorted(out.ids.tolist()) == [0, 5, 16, 17, 18, 19]


def test_auto_is_one_half_and_order_plays_no_part():
    scores = made()
    assert wn.select("random", scores, size=50).certificate["balance"] == 0.5
    mixed = scores.take(np.random.default_rng(1).permutation(N))
    for name in ("random", "rank", "tilted"):
        first, second = (wn.select(name, one, size=50, seed=3) for one in (scores, mixed))
        assert np.array_equal(first.ids, second.ids)
    assert "floors" not in wn.select("random", scores, size=50, balance=None).certificate


def test_selectors_of_classes_are_refused():
    scores = made()
    for name in ("moments", "influence", "lpntk_redundancy"):
        with pytest.raises(NotDefinedError, match="not for multilabel data: it is about one class per example"):
            wn.select(name, scores, size=20)
