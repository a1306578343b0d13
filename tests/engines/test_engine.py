from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from winnow.core.errors import DivergedError, InputError, WinnowError
from winnow.core.run import Run
from winnow.engines import Job, Local, run_jobs
from winnow.engines.named import describe


@dataclass(frozen=True)
class Number:
    value: float

    def save(self, path: str | Path) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(json.dumps(self.value))

    @classmethod
    def load(cls, path: str | Path) -> Number:
        return cls(json.loads(Path(path).read_text()))


@dataclass
class Counting:
    """An engine that remembers what it was asked to do and can fail after a while."""

    done: list[Any]
    fail_after: int | None = None

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Any = None
    ) -> Iterator[tuple[int, Any, float]]:
        for index, item in enumerate(items):
            if self.fail_after is not None and index == self.fail_after:
                raise KeyboardInterrupt
            self.done.append(item.item)
            yield index, function(*shared, item), 1.5


def square(x: float) -> Number:
    return Number(x * x)


def jobs_for(values: Sequence[int], key: str = "k") -> list[Job[int]]:
    return [Job(f"square/{v}", v, [key, v], f"numbers/{v}.json") for v in values]


@pytest.mark.parametrize("workers", [1, 2])
def test_every_item_comes_back_under_its_own_index(workers: int) -> None:
    got = {index: (number.value, seconds) for index, number, seconds in Local(workers=workers).map(square, [3, 1, 2])}
    assert {index: value for index, (value, _) in got.items()} == {0: 9, 1: 1, 2: 4}
    assert all(seconds >= 0 for _, seconds in got.values())


def test_results_are_yielded_as_they_finish_and_timed(tmp_path: Path) -> None:
    """The first item ends only after the second's result has been seen here: no clock decides which is first."""
    seen = tmp_path / "seen"

    def work(waits: bool) -> float:
        start = time.perf_counter()
        while waits and not seen.exists():
            assert time.perf_counter() - start < 120, "the other item's result was held back"
            time.sleep(0.01)
        return time.perf_counter() - start

    results = Local(workers=2).map(work, [True, False])
    assert next(results)[0] == 1
    seen.touch()
    index, inside, seconds = next(results)
    assert index == 0
    assert seconds >= inside > 0
    assert list(results) == []


def test_no_items_is_no_work() -> None:
    assert list(Local().map(square, [])) == []


def test_functions_made_on_the_spot_reach_workers() -> None:
    offset = 10
    got = {index: value for index, value, _ in Local(workers=2).map(lambda x: x + offset, [1, 2])}
    assert got == {0: 11, 1: 12}


def spectrum(seed: int) -> bytes:
    """Long sums, whose last bits would show a different number of threads."""
    x = torch.randn(300, 300, generator=torch.Generator().manual_seed(seed))
    return (x @ x @ x).sum(0).numpy().tobytes()


def test_one_worker_and_two_give_the_same_bits() -> None:
    one = {index: value for index, value, _ in Local(workers=1).map(spectrum, range(4))}
    two = {index: value for index, value, _ in Local(workers=2).map(spectrum, range(4))}
    assert one == two


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_has_the_threads_it_was_promised(workers: int) -> None:
    before = torch.get_num_threads()
    got = [value for _, value, _ in Local(workers=workers, threads=1).map(lambda _: torch.get_num_threads(), [0, 1])]
    assert got == [1, 1]
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_of_a_task_come_through_as_they_are(workers: int) -> None:
    def fail(x: int) -> int:
        raise DivergedError(f"item {x} left the finite numbers")

    with pytest.raises(DivergedError, match="left the finite numbers"):
        list(Local(workers=workers).map(fail, [1, 2]))


def test_a_killed_worker_is_one_sentence() -> None:
    def die(x: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return x

    with pytest.raises(WinnowError, match="worker process was killed"):
        list(Local(workers=2).map(die, [1, 2]))
    assert sorted(value for _, value, _ in Local(workers=2).map(abs, [-1, -2])) == [1, 2]


def test_large_arrays_reach_workers_unharmed() -> None:
    big = np.arange(400_000, dtype=np.float64)
    sums = [
        value for _, value, _ in Local(workers=2).map(lambda pair: float(pair[0].sum()) + pair[1], [(big, 0), (big, 1)])
    ]
    assert sorted(sums) == [big.sum(), big.sum() + 1]


@pytest.mark.parametrize(("name", "value"), [("workers", 0), ("workers", 1.5), ("threads", 0), ("threads", "two")])
def test_refuses(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"{name} of Local"):
        Local(**{name: value})  # type: ignore[arg-type]


def test_provenance_names_threads_and_not_workers() -> None:
    assert describe(Local(workers=7, threads=2)) == {"threads": 2}


def test_jobs_come_back_in_order_and_are_kept(tmp_path: Path) -> None:
    engine = Counting([])
    with Run(tmp_path / "run", {}) as run:
        got = run_jobs(run, engine, square, jobs_for([3, 1, 2]), Number, "squares")
        assert run.seconds("square/") == 4.5
    assert [number.value for number in got] == [9, 1, 4]
    assert (tmp_path / "run/numbers/3.json").exists()


def test_finished_jobs_are_loaded_and_only_missing_ones_are_done(tmp_path: Path) -> None:
    with Run(tmp_path / "run", {}) as run:
        run_jobs(run, Counting([]), square, jobs_for([1, 2]), Number, "squares")
    again = Counting([])
    with Run(tmp_path / "run", {}) as run:
        got = run_jobs(run, again, square, jobs_for([1, 5, 2]), Number, "squares")
        assert run.seconds("square/") == 4.5
    assert again.done == [5]
    assert [number.value for number in got] == [1, 25, 4]


def test_an_interrupted_batch_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Run(tmp_path / "run", {}) as run:
        run_jobs(run, Counting([], fail_after=2), square, jobs_for([1, 2, 3, 4]), Number, "squares")
    rest = Counting([])
    with Run(tmp_path / "run", {}) as run:
        run_jobs(run, rest, square, jobs_for([1, 2, 3, 4]), Number, "squares")
    assert rest.done == [3, 4]


def test_another_key_does_the_job_again(tmp_path: Path) -> None:
    again = Counting([])
    with Run(tmp_path / "run", {}) as run:
        run_jobs(run, Counting([]), square, jobs_for([1, 2]), Number, "squares")
        run_jobs(run, again, square, jobs_for([1, 2], key="other"), Number, "squares")
    assert again.done == [1, 2]


def test_without_a_directory_nothing_is_kept() -> None:
    engine = Counting([])
    with Run(None, {}) as run:
        for _ in range(2):
            run_jobs(run, engine, square, jobs_for([1]), Number, "squares")
    assert engine.done == [1, 1]


ORPHANS = """
import os, time
import winnow as wn


def work(place):
    print(os.getpid(), flush=True)
    time.sleep(120)

list(wn.Local(workers=2).map(work, [0, 1]))
"""


def test_workers_end_with_a_parent_that_is_killed() -> None:
    driver = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    workers = [int(driver.stdout.readline()) for _ in range(2)]
    driver.kill()
    driver.wait()
    driver.stdout.close()
    until = time.monotonic() + 60
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < until, "a worker goes on"
        time.sleep(0.1)
