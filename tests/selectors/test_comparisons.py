"""What compares examples with each other is refused above a stated size, before it starts."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from winnow.core.errors import NotDefinedError
from winnow.selectors import comparisons


def seen(n: int = 60) -> wn.Signals:
    rng = np.random.default_rng(0)
    arrays = {"embeddings": rng.random((n, 3), dtype=np.float32), "lpntk": rng.random((1, n, 4), dtype=np.float32)}
    return wn.Signals(np.arange(n), arrays, "classification", np.arange(n) % 2, ("a", "b"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kcenter", r"2e\+03 comparisons \(examples x kept\)"),
        ("herding", r"2e\+03 comparisons .* pass shards="),
        ("facility_location", r"4e\+03 comparisons \(examples x examples\)"),
        ("lpntk_head_only", r"2e\+03 comparisons \(pairs within a class\)"),
    ],
)
def test_too_many_comparisons_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, words: str) -> None:
    wn.select(name, seen(), size=30)
    monkeypatch.setattr(comparisons, "MOST", 1000)
    with pytest.raises(NotDefinedError, match=rf"selector '{name}' would make {words}"):
        wn.select(name, seen(), size=30)


def test_shards_make_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "MOST", 1000)
    assert len(wn.select("herding", seen(), size=30, shards=3)) == 30


def test_what_reads_everything_once_is_never_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "MOST", 0)
    assert len(wn.select("random", seen(), size=30)) == 30
