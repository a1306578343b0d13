"""Selectors that compare examples with each other show how far they are, from the first step to the last."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow.core import progress


class Bars:
    """The bars that a terminal would show."""

    def __init__(self) -> None:
        self.made: list[list[Any]] = []

    def __call__(self, label: str, total: int | None) -> Bar:
        self.made.append([label, total, 0])
        return Bar(self.made[-1])


class Bar:
    def __init__(self, entry: list[Any]) -> None:
        self._entry = entry

    def advance(self, steps: int) -> None:
        self._entry[2] += steps

    def close(self) -> None:
        pass


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bars]:
    made = Bars()
    monkeypatch.setattr(progress, "_Bar", made)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.shown():
        yield made


def seen(n: int = 80) -> wn.Signals:
    rng = np.random.default_rng(0)
    arrays = {
        "embeddings": rng.random((n, 3), dtype=np.float32),
        "lpntk": rng.random((1, n, 4), dtype=np.float32),
        "errors": rng.random((1, 1, n), dtype=np.float32),
    }
    return wn.Signals(np.arange(n), arrays, "classification", np.arange(n) % 2, ("a", "b"), (1,), 1)


QUADRATIC = ("kcenter", "herding", "graph", "facility_location", "medoids", "influence", "lpntk_head_only")


@pytest.mark.parametrize("name", QUADRATIC)
@pytest.mark.parametrize("balance", [None, 0.5])
def test_a_bar_goes_from_nothing_to_all(name: str, balance: float | None, bars: Bars) -> None:
    wn.select(name, seen(), size=30, balance=balance)
    assert bars.made
    assert any(total and done >= total for _, total, done in bars.made), bars.made
    assert all(total is None or done <= total for _, total, done in bars.made), bars.made
