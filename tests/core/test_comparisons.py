"""What compares examples with each other is refused above a stated size, before it starts."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from winnow.core import comparisons
from winnow.core.errors import NotDefinedError
from winnow.core.registration import Method


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
        ("graph", r"4e\+03 comparisons \(examples x examples\)"),
        ("lpntk_head", r"2e\+03 comparisons \(pairs within a class\)"),
        ("lpntk_head_only", r"2e\+03 comparisons \(pairs within a class\)"),
        ("lpntk_redundancy", r"2e\+03 comparisons \(pairs within a class\)"),
    ],
)
def test_too_many_comparisons_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, words: str) -> None:
    wn.select(name, seen(), size=30)
    monkeypatch.setattr(comparisons, "MOST", 1000)
    with pytest.raises(NotDefinedError, match=rf"selector '{name}' would make {words}") as refused:
        wn.select(name, seen(), size=30)
    fits = int(str(refused.value).split("choose at most ")[1].split()[0])  # what the sentence advises is allowed
    assert 15 < fits < 60
    wn.select(name, seen(fits), size=fits // 2)


@pytest.mark.parametrize("name", ["contradiction", "interchangeability"])
def test_so_are_scores(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    wn.score(name, seen())
    monkeypatch.setattr(comparisons, "MOST", 1000)
    with pytest.raises(NotDefinedError, match=rf"score '{name}' would make 2e\+03 .* score at most 44 examples"):
        wn.score(name, seen())


@pytest.mark.parametrize("method", [*wn.list_selectors(), *wn.list_scores()], ids=lambda method: method.name)
def test_whatever_compares_all_pairs_says_so(method: Method) -> None:
    """The registered cost is what refuses, so methods that are known to compare examples must have one of these."""
    known = {"kcenter", "herding", "graph", "facility_location", "lpntk_head", "lpntk_head_only",
             "lpntk_redundancy", "contradiction", "interchangeability", "ensemble_influence"}  # fmt: skip
    grows = method.cost_of(dict(method.parameters)).time in ("n kept", "n^2", "class^2")
    assert grows == (method.name in known)


def test_shards_make_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "MOST", 1000)
    assert len(wn.select("herding", seen(), size=30, shards=3)) == 30


def test_what_reads_everything_once_is_never_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "MOST", 0)
    assert len(wn.select("random", seen(), size=30)) == 30
