"""Checks of every engine: the second contract.

Results do not depend on the engine: each item once, in any order, the same bits; shared arguments before the item; a
user's error as it is; and files of a run that are the same, byte for byte, as those that one process writes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core.errors import InputError
from ..core.run import Run
from ..core.seeds import stream
from ..engines import Engine, Job, Local, Needs, run_jobs
from .expect import refused

__all__ = ["checks_of_engine"]


def _square(number: int) -> int:
    return number * number


def _drawn(number: int) -> bytes:
    return stream(number, "engine").normal(size=500).tobytes()


def _never(number: int) -> int:
    raise InputError(f"number of the check must not be {number}.")


def _summed(values: NDArray[np.float64], add: float, place: int) -> float:
    values[place] += add  # a worker's own copy
    return float(values.sum())


def _signals(values: NDArray[np.float32], seed: int) -> Signals:
    noise = stream(seed, "engine").normal(size=values.shape).astype(np.float32)
    return Signals(np.arange(len(values)), {"embeddings": values + noise}, "unlabelled")


def _every_item_once(engine: Engine) -> None:
    found = sorted(engine.map(_square, [3, 1, 2, 5]))
    assert [(index, value) for index, value, _ in found] == [(0, 9), (1, 1), (2, 4), (3, 25)]
    assert all(seconds >= 0 for _, _, seconds in found)
    assert list(engine.map(_square, [])) == []


def _same_bits_everywhere(engine: Engine) -> None:
    assert {index: value for index, value, _ in engine.map(_drawn, range(4))} == {k: _drawn(k) for k in range(4)}


def _errors_come_back(engine: Engine) -> None:
    refused(lambda: list(engine.map(_never, [7, 8])), InputError, "must not be")


def _shared_comes_first(engine: Engine) -> None:
    found = engine.map(pow, [3, 4], shared=(2,), needs=Needs(numbers=1.0))
    assert {index: value for index, value, _ in found} == {0: 8, 1: 16}
    local = engine.map(lambda offset, item: offset + item, [1, 2], shared=(10,))
    assert {index: value for index, value, _ in local} == {0: 11, 1: 12}


def _shared_arrays_may_be_written_to(engine: Engine) -> None:
    values = np.arange(300_000, dtype=np.float64)
    total = float(values.sum())
    found = engine.map(_summed, [0, 1], shared=(values.copy(), 0.0))
    assert {value for _, value, _ in found} == {total}


def _run(engine: Engine, path: Path | None, seeds: Sequence[int]) -> list[Signals]:
    """Run a few jobs in a run directory."""
    values = np.linspace(0, 1, 4000, dtype=np.float32).reshape(500, 8)
    jobs = [Job(f"made/{seed}", seed, [seed], f"made/{seed}.safetensors") for seed in seeds]
    with Run(path, {}) as run:
        return run_jobs(run, engine, _signals, jobs, Signals, "checking", shared=(values,))


def _files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*.safetensors"))}


def _files_are_the_same(engine: Engine) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder) / "one", Path(folder) / "two"
        kept = [signals.fingerprint for signals in _run(Local(workers=1), one, range(4))]
        _run(engine, two, range(2))
        again = _run(engine, two, range(4))
        assert [signals.fingerprint for signals in again] == kept
        assert _files(two) == _files(one), "the files of a run must not depend on the engine"
        assert len(_run(engine, None, range(2))) == 2, "an engine must work without a run directory"


ENGINE_CHECKS = (
    _every_item_once,
    _same_bits_everywhere,
    _errors_come_back,
    _shared_comes_first,
    _shared_arrays_may_be_written_to,
    _files_are_the_same,
)


def checks_of_engine(engine: Engine) -> dict[str, Callable[[], None]]:
    """Return every check of an engine by name."""
    return {check.__name__[1:]: partial(check, engine) for check in ENGINE_CHECKS}
