"""`winnow.testing` over signals, engines and adapters, and the suite itself: it fails where it should."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow import testing
from winnow.core import registry
from winnow.core.errors import UnknownNameError
from winnow.engines import Local

# `later` does nothing by design; Ray starts a cluster and has its own tests in tests/engines/test_ray.py.
CHECKS = {
    name: check
    for name, check in testing.conformance(package="winnow", kinds=("signal", "engine"))
    if not name.startswith(("engine-later", "engine-ray"))
}


@pytest.mark.parametrize("check", CHECKS)
def test_conformance(check: str) -> None:
    CHECKS[check]()


def test_two_workers_are_an_engine() -> None:
    assert testing.check_engine(Local(workers=2)) == 6


def test_sources(tmp_path: Path) -> None:
    rows = np.arange(24.0).reshape(12, 2)
    np.savez(tmp_path / "few.npz", X=rows, y=np.arange(12) % 3)
    (tmp_path / "few.csv").write_text("a,b,label\n" + "\n".join(f"{k},{k * k},{'xy'[k % 2]}" for k in range(12)))
    for open_ in (
        lambda: wn.open(tmp_path / "few.npz"),
        lambda: wn.open(tmp_path / "few.csv"),
        lambda: wn.open((rows, rows[:, 0] / 7)),
        lambda: wn.open(rows),
        lambda: wn.open("digits", limit=20),
    ):
        assert testing.check_source(open_) == 5


class Forgetful:
    """An engine that loses the last item."""

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Any = None
    ) -> Iterator[tuple[int, Any, float]]:
        for index, item in enumerate(items[:-1]):
            yield index, function(*shared, item), 0.0


def test_what_breaks_a_promise_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="every_item_once"):
        testing.check_engine(Forgetful())
    with pytest.raises(AssertionError, match="same_data_same_fingerprint"):
        testing.check_source(lambda: wn.open(np.random.default_rng().normal(size=(6, 2))))
    with pytest.raises(AssertionError, match="higher_is_harder"):
        testing.check_score("random")
    with pytest.raises(UnknownNameError, match="nearest: 'higher_is_harder'"):
        testing.check_score("random", excepting=("higher_is_hard",))
    with pytest.raises(UnknownNameError, match="method to check 'el2m'"):
        list(testing.conformance("el2m"))


def test_every_kind_is_registered() -> None:
    for kind in registry.KINDS:
        found = registry.listing(kind)
        assert found
        assert all(entry.summary and entry.kind == kind for entry in found)
