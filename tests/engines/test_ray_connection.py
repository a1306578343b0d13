"""Connecting to a Ray cluster from outside, with a stand-in for the library: no cluster is needed for this."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import winnow as wn
from winnow.core.errors import WinnowError
from winnow.engines import ray as engine


def stand_in(monkeypatch: pytest.MonkeyPatch, failures: int, words: str) -> list[str]:
    """Put a library in ray's place whose first connections fail; returns the addresses that were tried."""
    tried: list[str] = []

    def init(address: str, **_: object) -> None:
        tried.append(address)
        if len(tried) <= failures:
            raise ConnectionAbortedError(words)

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False, init=init))
    monkeypatch.setattr(engine, "PAUSE", 0.0)
    return tried


def test_a_client_process_that_ends_at_once_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = stand_in(monkeypatch, 2, f"Initialization failure from server: {engine.NOT_STARTED}.")
    wn.Ray("ray://127.0.0.1:1")._connected()
    assert tried == ["ray://127.0.0.1:1"] * 3


def test_after_some_tries_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = stand_in(monkeypatch, 99, engine.NOT_STARTED)
    with pytest.raises(
        WinnowError, match=f"no Ray cluster could be reached at ray://127.0.0.1:1: {engine.NOT_STARTED}"
    ):
        wn.Ray("ray://127.0.0.1:1")._connected()
    assert len(tried) == engine.CONNECTING


def test_any_other_error_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = stand_in(monkeypatch, 1, "no route")
    with pytest.raises(WinnowError, match="no route"):
        wn.Ray("ray://127.0.0.1:1")._connected()
    assert len(tried) == 1
