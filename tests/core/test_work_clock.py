"""Seconds of work: processor time, never more than wall time; waiting costs nothing."""

from __future__ import annotations

import time

import pytest

from winnow.core import work_clock
from winnow.core.work_clock import Begun, begin, seconds_since


def test_waiting_is_not_work() -> None:
    start = begin()
    time.sleep(0.2)
    assert seconds_since(start) < 0.1


def test_many_threads_count_no_more_than_wall_time() -> None:
    now = begin()
    busy = Begun(now.wall - 1.0, now.own - 8.0)  # eight threads for a second
    assert seconds_since(busy) == pytest.approx(1.0, abs=0.2)


def test_wall_time_is_taken_where_a_gpu_may_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_clock, "_on_gpu", lambda: True)
    now = begin()
    assert seconds_since(Begun(now.wall - 2.0, now.own - 0.1)) == pytest.approx(2.0, abs=0.2)
